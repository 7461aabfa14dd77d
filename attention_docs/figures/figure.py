"""The base class of figures: a drawing and a description, in any language with a locale file."""

from __future__ import annotations

import locale
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from attention_docs import locales
from attention_docs.colours import write_plainly
from attention_docs.figures.numbers import typeset_short
from attention_docs.figures.svg import svg_document
from attention_docs.locales.strings import Translator
from attention_docs.running.signs import set_minus


@dataclass(frozen=True)
class Phrase:
    """A label of the figure itself, such as "share of the samples": a template with arguments."""

    table: str
    key: str
    parts: Mapping[str, Any]


Wording = str | Phrase | None
"""A label. A string is English: a listing's own table translates it, or `[terms]` in
attention_docs/locales, alone or with a number ("weights", "query 1"); anything else stays as it is.
None is the empty label."""

HAN = "[\u4e00-\u9fff]"
POWER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?e[+-]\d+(?!\w)")


def make_phrase(table: str, key: str, /, **parts: Any) -> Phrase:
    """The template `key` of `[figures.table]`, filled in the language that is drawn."""
    return Phrase(table, key, parts)


def numbered(name: str, n: int) -> list[str]:
    """Labels for n rows or columns.

    Examples:
        >>> numbered("query", 3)
        ['query 1', 'query 2', 'query 3']
    """
    return [f"{name} {i}" for i in range(1, n + 1)]


def check_label(label: Wording = None) -> Wording:
    """Return the label; raise if it is invalid."""
    if not isinstance(label, str | Phrase | None):
        raise TypeError(f"a label must be a string, got {label!r}")
    return label


def check_labels(labels: Iterable[Wording] | None) -> tuple[Wording, ...]:
    """Check labels; None stands for no labels."""
    return tuple(check_label(label) for label in labels or ())


def get_english(label: Wording) -> str:
    """The English text, by which errors and other arguments refer to a label."""
    return Language("en").translate_label(label)


class Language:
    """All texts of a figure in one language.

    Examples:
        >>> french = Language("fr", {"hot": "chaud"}, locales.read_locale("en"))
        >>> french.translate_label("hot"), french.translate_label("d_k = 4")
        ('chaud', 'd_k = 4')
        >>> [Language("en").format_phrase("matrix", "rows", n=n) for n in (1, 3)]
        ['1 row', '3 rows']
        >>> Language("en").translate_label("q·k = -2, -0.5")
        'q·k = −2, −0.5'
        >>> Language("en").translate_label("D = -9e-01, ω_3 = 5.32e-05, mask -1e9")
        'D = −0.9, ω_3 = 5.32 × 10⁻⁵, mask -1e9'
    """

    def __init__(
        self,
        name: str,
        strings: Mapping[str, str] | None = None,
        locale: locales.Locale | None = None,
    ) -> None:
        """`strings` are those of a listing; a language without a file brings its own locale."""
        self.name = name
        self.locale = locales.read_locale(name) if locale is None else locale
        self.translator = Translator(self.locale.get("terms", {}), strings)

    @classmethod
    def get(cls, lang: str | Language) -> Language:
        """The language of this name, or the language itself."""
        return lang if isinstance(lang, Language) else cls(lang)

    def translate_label(self, label: Wording) -> str:
        """A label's text."""
        if label is None:
            return ""
        if isinstance(label, Phrase):
            return self.format_phrase(label.table, label.key, **label.parts)
        plain = POWER.sub(lambda found: typeset_short(found[0]), self.translator.translate(label))
        return set_minus(plain)

    def format_phrase(self, table: str, key: str, /, **parts: Any) -> str:
        """A template of `[figures.table]`, filled; one with a plural chooses its form by n."""
        template = self.locale["figures"][table][key]
        if not isinstance(template, str):
            template = template["one" if parts["n"] == 1 and "one" in template else "other"]
        texts = {name: self._format_part(one) for name, one in parts.items()}
        try:
            return self._fix_spaces(template.format(**texts))
        except KeyError as error:
            where = f"{locales.name_file(self.name)}: [figures.{table}] {key}"
            raise ValueError(f"{where} must ask for {sorted(texts)}, got {error}") from None

    def _format_part(self, part: Any) -> Any:
        """Format an argument of a template: a tuple is enumerated, "1, 2 and 3"."""
        if isinstance(part, tuple):
            *others, last = (self._format_part(one) for one in part)
            if not others:
                return last
            first = self.join_texts("list", others)
            return self.format_phrase("sentences", "and", first=first, last=last)
        return self.translate_label(part) if isinstance(part, Phrase) else part

    def _fix_spaces(self, text: str) -> str:
        """Chinese has a space next to Latin letters and digits, and none between characters."""
        if not self.locale["figures"]["sentences"]["han_spacing"]:
            return text
        text = re.sub(f"(?<={HAN}) +(?={HAN})", "", text)
        return re.sub(f"(?<={HAN})(?=[0-9A-Za-z])|(?<=[0-9A-Za-z])(?={HAN})", " ", text)

    def join_texts(self, how: str, texts: Iterable[str]) -> str:
        """Texts that are not empty, joined: as a "list", as "clauses", as a "paragraph"."""
        separator: str = self.locale["figures"]["sentences"][how]
        return separator.join(text for text in texts if text)

    def quote(self, name: str) -> str:
        """A name inside a sentence."""
        return name and self.format_phrase("sentences", "quoted", name=name)


class FrameText(NamedTuple):
    """What one setting of a figure with controls says.

    Attributes:
        at: the values of the controls, such as "2 5".
        caption: below the drawings.
        labels: what a screen reader says of each drawing.
    """

    at: str
    caption: str
    labels: tuple[str, ...]


class Drawing(NamedTuple):
    """A size and what is drawn in it; `largest` is how wide it may grow on a page."""

    width: float
    height: float
    body: str
    largest: float | None = None


class Figure(ABC):
    """A drawing and an equivalent description, in any language that has a locale file.

    As the last line of a block it is drawn on the page; in a terminal it shows its English text.
    Its numbers and labels are checked when it is created; it is drawn on request.
    """

    @abstractmethod
    def render(self, lang: Language) -> str:
        """The HTML that goes onto a page."""

    @abstractmethod
    def describe(self, lang: Language) -> str:
        """The description."""

    def svg(self, lang: str | Language) -> str:
        """The HTML for a page in one language: inline SVG, or HTML around several drawings."""
        return self.render(Language.get(lang))

    def list_matrices(self) -> list[Any]:
        """The matrices that it shades."""
        return []

    def rescale(self, scales: Mapping[str, tuple[float, float]]) -> Figure:
        """The figure with the scales of these roles; itself where it shades no matrix."""
        return self

    def frame(self, lang: str | Language, at: str) -> str:
        """What stands at a place of a figure that has several, such as "1 3", else ""."""
        return ""

    def alt(self, lang: str | Language) -> str:
        """The alternative text in a language."""
        return self.describe(Language.get(lang))

    def list_labels(self, lang: Language) -> tuple[str, ...]:
        """What a screen reader says of each of its drawings."""
        return tuple(label for frame in self.list_frames(lang) for label in frame.labels)

    def list_frames(self, lang: Language) -> tuple[FrameText, ...]:
        """What each setting of its controls says; empty for a figure without controls."""
        return ()

    def __repr__(self) -> str:
        return self.alt("en")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What a notebook shows: the drawing, in the language of the reader's machine."""
        lang = _detect_language((locale.getlocale()[0] or "").lower())
        svg = write_plainly(self.svg(lang))
        kind = "image/svg+xml" if svg.startswith("<svg") else "text/html"
        return {kind: svg, "text/plain": self.alt(lang)}


class DrawnFigure(Figure):
    """A figure that is one drawing."""

    @abstractmethod
    def draw(self, lang: Language) -> Drawing:
        """The drawing in a language."""

    def rescale(self, scales: Mapping[str, tuple[float, float]]) -> DrawnFigure:
        """The drawing with the scales of these roles."""
        return self

    def label(self, lang: Language) -> str:
        """What a screen reader says of the drawing: its description."""
        return self.describe(lang)

    def list_labels(self, lang: Language) -> tuple[str, ...]:
        """That of the one drawing."""
        return (self.label(lang),)

    def render(self, lang: Language) -> str:
        """The drawing as inline SVG, the text in it."""
        return svg_document(*self.draw(lang), self.label(lang))


def _detect_language(machine: str) -> str:
    """The language whose locale prefixes match the machine's locale, or English."""
    for file in sorted(locales.FOLDER.glob("*.toml")):
        prefixes: Sequence[str] = locales.read_locale(file.stem)["figures"]["sentences"]["locales"]
        if machine.startswith(tuple(prefixes)):
            return file.stem
    return "en"
