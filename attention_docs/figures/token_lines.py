"""A text as a model reads it, token by token: its lines as bubbles, some of its tokens filled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attention_docs.figures.chips import ROUND, TALL, draw_chip
from attention_docs.figures.figure import (
    Drawing,
    DrawnFigure,
    Figure,
    Language,
    Wording,
    check_label,
)
from attention_docs.figures.svg import css_colour, element, measure_text, set_type, write

WIDTH = 440  # of the drawing: as that of a chart, so that letters on a phone are as large
STEP, GAP = 32, 4  # from row to row; between tokens
INSIDE, PAD, APART, MARGIN = 12, 8, 10, 10  # in a token; in a bubble; between bubbles; around
HEAD = 34  # height of the line that says what is filled


@dataclass(frozen=True, repr=False)
class TokenLines(DrawnFigure):
    """Lines of tokens, each token with whether it is filled, and what that means."""

    lines: tuple[tuple[tuple[Wording, bool], ...], ...]
    meaning: Wording  # of the filled tokens

    def draw(self, lang: Language) -> Drawing:
        """A bubble for each line, as wide as its longest row of tokens."""
        label = lang.translate_label(self.meaning)
        boxes = draw_chip(MARGIN, MARGIN, STEP, True)
        names = write(MARGIN + STEP + 8, MARGIN + TALL / 2 + 5, label)
        bubbles, texts, top = "", "", float(MARGIN + HEAD)
        for line in self.lines:
            tokens = [(lang.translate_label(token), filled) for token, filled in line]
            widths = [_measure_token(token) for token, _ in tokens]
            places = _place_tokens(widths)
            bubbles += _draw_bubble(top, widths, places)
            for (token, filled), wide, (x, row) in zip(tokens, widths, places, strict=True):
                y = top + PAD + row * STEP
                boxes += draw_chip(x, y, wide, filled)
                texts += write(x + wide / 2, y + TALL / 2 + 5, token)
            top += _measure_height(places) + APART
        body = bubbles + boxes + set_type(names, "start") + set_type(texts, "middle")
        return Drawing(WIDTH, top - APART + MARGIN, body)

    def describe(self, lang: Language) -> str:
        """The tokens of each line, and which of them are filled."""
        label, sentences = lang.translate_label(self.meaning), []
        for i, line in enumerate(self.lines):
            tokens = [(lang.translate_label(token), filled) for token, filled in line]
            filled = tuple(token for token, is_filled in tokens if is_filled)
            parts = {"label": label, "filled": filled} if filled else {}
            joined = " · ".join(token for token, _ in tokens)
            key = "filled" if filled else "line"
            sentences.append(
                lang.format_phrase("token_lines", key, i=i + 1, tokens=joined, **parts)
            )
        return lang.join_texts("paragraph", sentences)


def _measure_token(token: str) -> float:
    return max(TALL, measure_text(token) + INSIDE)


def _place_tokens(widths: Sequence[float]) -> list[tuple[float, int]]:
    """Where each token begins, and in which row of its bubble, from 0."""
    left, right = MARGIN + PAD, WIDTH - MARGIN - PAD
    places, x, row = [], float(left), 0
    for wide in widths:
        if x > left and x + wide > right:
            x, row = float(left), row + 1
        places.append((x, row))
        x += wide + GAP
    return places


def _measure_height(places: Sequence[tuple[float, int]]) -> float:
    """The height of a bubble: its rows, and the room above and below."""
    return 2 * PAD + TALL + STEP * places[-1][1]


def _draw_bubble(top: float, widths: Sequence[float], places: Sequence[tuple[float, int]]) -> str:
    right = max(x + wide for wide, (x, _) in zip(widths, places, strict=True))
    return element(
        "rect",
        x=MARGIN,
        y=top,
        width=right + PAD - MARGIN,
        height=_measure_height(places),
        rx=ROUND + PAD,
        fill=css_colour("role-neutral-fill"),
        fill_opacity=0.35,
    )


def token_lines(lines: Sequence[Sequence[tuple[str, bool]]], *, label: str) -> Figure:
    """A text in lines of tokens, each line in a bubble; a token may be filled.

    Args:
        lines: of each line its tokens, as (token, whether it is filled), in the order of reading.
        label: what the filled tokens are.

    Raises:
        ValueError: no line, a line without a token, an empty token.

    Examples:
        >>> token_lines([[("Hi", False), ("end", True)], [("Bye", False)]], label="marks")
        Line 1: Hi · end (marks: end). Line 2: Bye.
    """
    checked = tuple(tuple((check_label(token), filled) for token, filled in one) for one in lines)
    if not checked or not all(one and all(token for token, _ in one) for one in checked):
        raise ValueError(f"every line must have tokens, none of them empty, got {lines!r}")
    return TokenLines(checked, check_label(label))
