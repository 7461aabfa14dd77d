"""What every figure has: a drawing and a text that says the same, in any language with words."""

from __future__ import annotations

import locale
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from attention_docs import words
from attention_docs.colours import resolve_colours
from attention_docs.figures.svg import document
from attention_docs.words.strings import Translator


@dataclass(frozen=True)
class Phrase:
    """A label of a figure itself, such as "share of the samples": a template and what fills it."""

    table: str
    key: str
    parts: Mapping[str, Any]


Wording = str | Phrase | None
"""A label. A string is English: a listing's own table translates it, or `[terms]` in
attention_docs/words, alone or with a number ("weights", "query 1"); anything else stays as it is.
None is the empty label."""

HAN = "[\u4e00-\u9fff]"
MINUS = re.compile(r"(?<![\w)\]])-(?=[\d.])(?!\d+e\d)")  # 1e9 is code


def phrase(table: str, key: str, /, **parts: Any) -> Phrase:
    """The template `key` of `[figures.table]`, filled in the language that is drawn."""
    return Phrase(table, key, parts)


def numbered(name: str, n: int) -> list[str]:
    """Labels for n rows or columns.

    Examples:
        >>> numbered("query", 3)
        ['query 1', 'query 2', 'query 3']
    """
    return [f"{name} {i}" for i in range(1, n + 1)]


def checked_label(label: Wording = None) -> Wording:
    """The label, or what is wrong with it."""
    if not isinstance(label, str | Phrase | None):
        raise TypeError(f"a label must be a string, got {label!r}")
    return label


def checked_labels(labels: Iterable[Wording] | None) -> tuple[Wording, ...]:
    """Labels, checked; None is no label at all."""
    return tuple(checked_label(label) for label in labels or ())


def english(label: Wording) -> str:
    """The English text: what errors and other arguments name a label by."""
    return Language("en").label(label)


class Language:
    """Everything that a figure says in one language.

    Examples:
        >>> french = Language("fr", {"hot": "chaud"}, words.words("en"))
        >>> french.label("hot"), french.label("d_k = 4")
        ('chaud', 'd_k = 4')
        >>> Language("en").say("matrix", "rows", n=1), Language("en").say("matrix", "rows", n=3)
        ('1 row', '3 rows')
        >>> Language("en").label("q·k = -2, -0.5")
        'q·k = −2, −0.5'
    """

    def __init__(
        self,
        name: str,
        strings: Mapping[str, str] | None = None,
        locale_strings: words.Words | None = None,
    ) -> None:
        """`strings` are those of a listing; a language without a file brings its own words."""
        self.name = name
        self.words = words.words(name) if locale_strings is None else locale_strings
        self.translator = Translator(self.words.get("terms", {}), strings)

    @classmethod
    def of(cls, lang: str | Language) -> Language:
        """The language of this name, or the language itself."""
        return lang if isinstance(lang, Language) else cls(lang)

    def label(self, label: Wording) -> str:
        """A label's text."""
        if label is None:
            return ""
        if isinstance(label, Phrase):
            return self.say(label.table, label.key, **label.parts)
        return MINUS.sub("−", self.translator.translate(label))

    def say(self, table: str, key: str, /, **parts: Any) -> str:
        """A template of `[figures.table]`, filled; one with a plural chooses its form by n."""
        template = self.words["figures"][table][key]
        if not isinstance(template, str):
            template = template["one" if parts["n"] == 1 and "one" in template else "other"]
        texts = {name: self._part(one) for name, one in parts.items()}
        try:
            return self._spaced(template.format(**texts))
        except KeyError as error:
            where = f"attention_docs/words/{self.name}.toml: [figures.{table}] {key}"
            raise ValueError(f"{where} must ask for {sorted(texts)}, got {error}") from None

    def _part(self, part: Any) -> Any:
        """What fills a place of a template: a tuple is enumerated, "1, 2 and 3"."""
        if isinstance(part, tuple):
            *others, last = (self._part(one) for one in part)
            if not others:
                return last
            first = self.join("list", others)
            return self.say("sentences", "and", first=first, last=last)
        return self.label(part) if isinstance(part, Phrase) else part

    def _spaced(self, text: str) -> str:
        """Chinese has a space next to Latin letters and digits, and none between characters."""
        if not self.words["figures"]["sentences"]["han_spacing"]:
            return text
        text = re.sub(f"(?<={HAN}) +(?={HAN})", "", text)
        return re.sub(f"(?<={HAN})(?=[0-9A-Za-z])|(?<=[0-9A-Za-z])(?={HAN})", " ", text)

    def join(self, how: str, texts: Iterable[str]) -> str:
        """Texts that are not empty, joined: as a "list", as "clauses", as a "paragraph"."""
        separator: str = self.words["figures"]["sentences"][how]
        return separator.join(text for text in texts if text)

    def quoted(self, name: str) -> str:
        """A name inside a sentence."""
        return name and self.say("sentences", "quoted", name=name)


class Drawing(NamedTuple):
    """A size and what is drawn in it; `largest` is how wide it may grow on a page."""

    width: float
    height: float
    body: str
    largest: float | None = None


class Figure(ABC):
    """Something to look at and a text that says the same, in any language that has words.

    As the last line of a block it is drawn on the page; in a terminal it shows its English text.
    What is wrong with its numbers and labels is found when it is made; it is drawn when asked for.
    """

    @abstractmethod
    def show(self, lang: Language) -> str:
        """What stands on a page."""

    @abstractmethod
    def tell(self, lang: Language) -> str:
        """The same in words."""

    def svg(self, lang: str | Language) -> str:
        """What stands on a page in a language: inline SVG, or HTML around several."""
        return self.show(Language.of(lang))

    def frame(self, lang: str | Language, at: str) -> str:
        """What stands at a place of a figure that has several, such as "1 3", else ""."""
        return ""

    def alt(self, lang: str | Language) -> str:
        """The alternative text in a language."""
        return self.tell(Language.of(lang))

    def __repr__(self) -> str:
        return self.alt("en")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What a notebook shows: the drawing, in the language of the reader's machine."""
        lang = _language_of((locale.getlocale()[0] or "").lower())
        drawn = resolve_colours(self.svg(lang))
        kind = "image/svg+xml" if drawn.startswith("<svg") else "text/html"
        return {kind: drawn, "text/plain": self.alt(lang)}


class Drawn(Figure):
    """A figure that is one drawing."""

    @abstractmethod
    def draw(self, lang: Language) -> Drawing:
        """The drawing in a language."""

    def show(self, lang: Language) -> str:
        """The drawing as inline SVG, the text in it."""
        return document(*self.draw(lang), self.tell(lang))


def _language_of(machine: str) -> str:
    """The language with words whose locales a machine's locale begins with, or English."""
    for file in sorted(words.FOLDER.glob("*.toml")):
        locales: Sequence[str] = words.words(file.stem)["figures"]["sentences"]["locales"]
        if machine.startswith(tuple(locales)):
            return file.stem
    return "en"
