"""Translate the strings of a listing: labels, printed words, words of examples.

A listing holds its strings in English. What they are called in another language stands in a table
beside it; a template such as "Sum: {}." stands for every text that its f-string gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

WORD = re.compile(r"(?<![\w.])(?!(?:nan|NaN|inf|None|True|False)\b)[A-Za-z]{3,}(?!\w|\.\w|\()")
TOKEN = re.compile(r"[^\W\d_]+('[^\W\d_]*)?")
PLACE = re.compile(r"\{\d*\}")


class FormattedString(str):
    """The text of an f-string, which remembers its template and parts: so it can be translated.

    Examples:
        >>> text = FormattedString("Sum: {}.", (1.5, ".2f"))
        >>> text, text.template
        ('Sum: 1.50.', 'Sum: {}.')
    """

    template: str
    parts: tuple[tuple[Any, str], ...]  # a value and its format spec, for each place

    def __new__(cls, template: str, *parts: tuple[Any, str]) -> FormattedString:
        """Fill the template."""
        text = super().__new__(cls, template.format(*(format(*part) for part in parts)))
        text.template, text.parts = template, parts
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies keep template and parts."""
        return FormattedString, (self.template, *self.parts)


FILE = re.compile(r"(?:[\w.-]*/)*[\w-]+(?:\.[a-z]{2,5})+|/[\w./-]+")


def has_words(text: str) -> bool:
    """Whether a text, or a template without its places, holds a word.

    Names of code and of files are not words.

    Examples:
        >>> has_words("d_k = 4"), has_words("q{} · k{}"), has_words("np.exp(nan)")
        (False, False, False)
        >>> has_words("[NaN, NaN]"), has_words("two-rows.csv"), has_words("/tmp/secret")
        (False, False, False)
        >>> has_words("Sum: {}.")
        True
    """
    if "\n" in text or FILE.fullmatch(text):
        return False
    return bool(WORD.search(PLACE.sub(" ", text)))


class Translator:
    """Translates the strings of a listing, and records those without a translation.

    A text is looked up in the listing's own `strings`, then among the `terms` that all figures
    share, alone or with a number ("query 1"), then token by token in `strings`. Without `strings`,
    what is not found stays as it is.

    Examples:
        >>> phrases = {"a hot pan": "一口 热 锅", "size of 2 pans": "2 口 锅 的大小"}
        >>> strings = {"Sum: {}.": "和：{}。", **phrases}
        >>> zh = Translator({"query": "查询"}, strings)
        >>> zh.translate(FormattedString("Sum: {}.", (1.5, ".2f"))), zh.translate("hot")
        ('和：1.50。', '热')
        >>> zh.translate("query 2"), zh.translate("2"), zh.translate("of")
        ('查询 2', '2', 'of')
        >>> zh.translate("a cold pan"), zh.untranslated
        ('a cold pan', ['a cold pan'])
    """

    def __init__(self, terms: Mapping[str, str], strings: Mapping[str, str] | None = None) -> None:
        self.terms = terms
        self.strings = None if strings is None else {**_pair_tokens(strings), **strings}
        self.untranslated: list[str] = []

    def translate(self, text: str) -> str:
        """The text in this language."""
        if isinstance(text, FormattedString):
            return self._fill_template(text)
        found = self.find(text)
        if found is None:
            self._note_untranslated(text)
        return text if found is None else found

    def find(self, text: str) -> str | None:
        """The translation of a string or a template; None where there is none."""
        if self.strings and text in self.strings:
            return self.strings[text]
        if text in self.terms:
            return self.terms[text]
        word, space, number = text.rpartition(" ")
        if space and word in self.terms and (number.isdecimal() or number == "{}"):
            return f"{self.terms[word]} {number}"
        return self._translate_by_tokens(text)

    def _translate_by_tokens(self, text: str) -> str | None:
        """A sentence of words that all have translations of their own."""
        tokens = text.split(" ")
        if len(tokens) == 1 or not self.strings:
            return None
        if not all(token in self.strings or not has_words(token) for token in tokens):
            return None
        return " ".join(self.strings.get(token, token) for token in tokens)

    def translate_value(self, value: Any) -> Any:
        """What a block prints: its strings, also inside of lists, tuples and dictionaries."""
        if isinstance(value, str):
            return self.translate(value)
        if isinstance(value, list | tuple | set) and type(value) in (list, tuple, set):
            return type(value)(map(self.translate_value, value))
        if type(value) is dict:
            pairs = value.items()
            return {self.translate_value(key): self.translate_value(inner) for key, inner in pairs}
        return value

    def _fill_template(self, text: FormattedString) -> str:
        template, whole = self.find(text.template), self.find(str(text))
        if template is None and whole is not None:
            return whole
        if template is None:
            template = text.template
            self._note_untranslated(template)
        parts = (
            format(self.translate(value) if isinstance(value, str) else value, spec)
            for value, spec in text.parts
        )
        return template.format(*parts)

    def _note_untranslated(self, text: str) -> None:
        if self.strings is not None and has_words(text) and text not in self.untranslated:
            self.untranslated.append(text)


def _pair_tokens(strings: Mapping[str, str]) -> dict[str, str]:
    """The words of phrases that have as many words in both languages; the first phrase decides."""
    found: dict[str, str] = {}
    for english, other in strings.items():
        for token, translation in _pair_words(english.split(" "), other.split(" ")):
            found.setdefault(token, translation)
    return found


def _pair_words(ours: list[str], theirs: list[str]) -> Iterable[tuple[str, str]]:
    """The tokens of a phrase of words alone: next to a number or a sign the order may differ."""
    alike = len(ours) == len(theirs) > 1 and all(map(TOKEN.fullmatch, ours))
    return zip(ours, theirs, strict=True) if alike else ()
