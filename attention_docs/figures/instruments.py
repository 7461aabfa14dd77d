"""Figures that a reader takes in hand: a drawing of one state, and the numbers of all others.

The HTML holds the drawing of the published state, for a wide window and for a narrow one where
they differ, and in `data-numbers` what it is made of. docs/assets/instruments moves the parts of
the drawing, by their classes, to any state between; without scripts the drawing stands there.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from attention_docs.figures.figure import Drawing, Figure, Language
from attention_docs.figures.svg import svg_document

WIDTH, LABEL = 480, 17  # of most drawings, and their font size: a phone, too, shows more than TEXT


@dataclass(frozen=True)
class Layout:
    """A drawing, and by name the places in it from which a script goes on."""

    kind: str
    drawing: Drawing  # with its largest width
    places: Mapping[str, Any]


class Instrument(Figure):
    """A figure whose script is docs/assets/instruments/<name>.js."""

    name: str

    @abstractmethod
    def list_numbers(self) -> Mapping[str, Any]:
        """What every state is computed from."""

    @abstractmethod
    def list_words(self, lang: Language) -> Mapping[str, Any]:
        """Labels and templates that the script fills."""

    @abstractmethod
    def list_layouts(self, lang: Language) -> list[Layout]:
        """The published state, drawn once for each kind of window."""

    @abstractmethod
    def state(self, lang: Language) -> str:
        """The published state in a sentence."""

    def render(self, lang: Language) -> str:
        """The drawings, and below them what they show."""
        drawings = "".join(
            f'<div class="stage {one.kind}" style="max-width:{one.drawing.largest:.0f}px" '
            f'data-places="{_pack(one.places)}">'
            f"{svg_document(*one.drawing, self.label(lang))}</div>"
            for one in self.list_layouts(lang)
        )
        comma = lang.locale["figures"]["sentences"]["list"]
        shared = lang.locale["figures"]["instruments"]
        words = {"comma": comma, **shared, **self.list_words(lang)}
        return (
            f'<div class="instrument {self.name}" data-instrument="{self.name}" '
            f'data-numbers="{_pack(self.list_numbers())}" data-words="{_pack(words)}">{drawings}'
            f'<p class="state">{escape(self.state(lang), quote=False)}</p></div>'
        )

    def list_labels(self, lang: Language) -> tuple[str, ...]:
        """What a screen reader says of each of its drawings."""
        return tuple(self.label(lang) for _ in self.list_layouts(lang))

    def label(self, lang: Language) -> str:
        """That of one drawing: its description."""
        return self.describe(lang)


def _pack(data: Mapping[str, Any]) -> str:
    """As JSON in an attribute."""
    return escape(json.dumps(data, ensure_ascii=False, separators=(",", ":")))
