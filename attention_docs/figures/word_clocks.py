"""Two words of a sentence to scrub, and the hands that say where they stand: their angle stays.

Its script is docs/assets/instruments/word-clocks.js, which draws as this does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import cos, pi, sin
from typing import Any

from attention_docs.figures.figure import Drawing, Figure, Language, Wording, check_labels
from attention_docs.figures.instruments import LABEL, WIDTH, Instrument, Layout
from attention_docs.figures.numbers import as_lists, check_finite, format_value
from attention_docs.figures.svg import COLUMN, INK, css_colour, element, group, outline, path, text

HEIGHT = 276
FIRST, PITCH = 32, 59  # of the words: middle of the first one; from word to word
WORDS, TRACK = 26, 56  # lines: of the words, of what is pulled
ROW, RADIUS = 154, 46  # of the dials
INKS = css_colour("role-query"), css_colour("role-key")
HANDS, KNOBS = (9, 4), (13, 8)  # widths, radii: the first of both shows below the second


@dataclass(frozen=True, repr=False)
class WordClocks(Instrument):
    """The words, the frequencies, and two places."""

    words: tuple[Wording, ...]
    omega: list[float]
    places: tuple[float, float]

    name = "word-clocks"

    def list_numbers(self) -> Mapping[str, Any]:
        """Frequencies and places."""
        return {"omega": self.omega, "places": self.places, "count": len(self.words)}

    def list_words(self, lang: Language) -> Mapping[str, Any]:
        """Templates and words."""
        named = [lang.translate_label(one) for one in self.words]
        return {**lang.locale["figures"]["word_clocks"], "words": named}

    def list_layouts(self, lang: Language) -> list[Layout]:
        """One drawing for all windows."""
        places = {
            "first": FIRST,
            "pitch": PITCH,
            "track": TRACK,
            "row": ROW,
            "radius": RADIUS,
            "middles": self._list_middles(),
        }
        return [Layout("single", Drawing(WIDTH, HEIGHT, self._draw(lang), COLUMN), places)]

    def _list_middles(self) -> list[float]:
        across = WIDTH / len(self.omega)
        return [across * (i + 0.5) for i in range(len(self.omega))]

    def _draw(self, lang: Language) -> str:
        last = FIRST + PITCH * (len(self.words) - 1)
        words = "".join(
            text(FIRST + PITCH * i, WORDS, lang.translate_label(one), "middle", LABEL, bold=True)
            for i, one in enumerate(self.words)
        )
        ticks = "".join(
            outline("M", FIRST + PITCH * i, TRACK - 5, "v", 10) for i in range(len(self.words))
        )
        track = path(outline("M", FIRST, TRACK, "H", last) + ticks, stroke=INK, stroke_opacity=0.35)
        ends = [FIRST + PITCH * at for at in self.places]
        between = outline("M", ends[0], TRACK, "H", ends[1])
        track += path(between, stroke=INK, stroke_width=5, **{"class": "between"})
        knobs = "".join(
            element("circle", cx=x, cy=TRACK, r=r, fill=ink, **{"class": "knob"})
            for x, r, ink in zip(ends, KNOBS, INKS, strict=True)
        )
        dials = "".join(
            self._draw_dial(lang, x, one)
            for x, one in zip(self._list_middles(), self.omega, strict=True)
        )
        total = element("text", self._say_sum(lang), x=WIDTH / 2, y=HEIGHT - 12, font_size=LABEL)
        sums = group(total, text_anchor="middle", font_weight="600", **{"class": "sum"})
        return words + track + knobs + dials + sums

    def _draw_dial(self, lang: Language, x: float, omega: float) -> str:
        """The face, the sector between both hands, the hands, and its cosine."""
        start, end = (omega * at for at in self.places)
        face = element("circle", cx=x, cy=ROW, r=RADIUS, fill="none", stroke=INK, opacity=0.3)
        sector = path(
            _outline_sector(x, start, end),
            fill=css_colour("role-score-fill"),
            fill_opacity=0.45,
            **{"class": "sector"},
        )
        hands = "".join(
            path(
                outline("M", x, ROW, "L", *_find_end(x, turned)),
                stroke=ink,
                stroke_width=wide,
                stroke_linecap="round",
                **{"class": "hand"},
            )
            for turned, wide, ink in zip((start, end), HANDS, INKS, strict=True)
        )
        shown = format_value(cos(end - start), ".2f")
        number = element("text", shown, x=x, y=ROW + RADIUS + 24, font_size=LABEL)
        style = {"fill": css_colour("role-score"), "text_anchor": "middle"}
        return face + sector + hands + group(number, **style, **{"class": "cosine"})

    def _sum(self) -> float:
        return sum(cos(one * (self.places[1] - self.places[0])) for one in self.omega)

    def _say_sum(self, lang: Language) -> str:
        return lang.format_phrase("word_clocks", "sum", sum=format_value(self._sum(), ".2f"))

    def state(self, lang: Language) -> str:
        """The places and the dot product."""
        names = [lang.translate_label(self.words[round(at)]) for at in self.places]
        spec = [format_value(at, ".1f") for at in self.places]
        apart = format_value(self.places[1] - self.places[0], ".1f")
        return lang.format_phrase(
            "word_clocks",
            "state",
            **dict(zip(("first", "second"), names, strict=True)),
            **dict(zip(("t", "u"), spec, strict=True)),
            apart=apart,
            sum=format_value(self._sum(), ".2f"),
        )

    def describe(self, lang: Language) -> str:
        """What turns, and the published state."""
        cosines = [cos(one * (self.places[1] - self.places[0])) for one in self.omega]
        listed = lang.join_texts("list", [format_value(one, ".2f") for one in cosines])
        said = self.state(lang)
        return lang.format_phrase(
            "word_clocks", "alt", n=len(self.omega), cosines=listed, state=said
        )


def word_clocks(words: Sequence[str], omega: Any, places: Sequence[float]) -> Figure:
    """Two words of a sentence that a reader scrubs, and a dial for each frequency.

    Args:
        words: at least two, at the positions 0, 1, 2 and so on.
        omega: how far a hand turns from one word to the next, in radians.
        places: the two positions, the first one before the second.

    Raises:
        ValueError: places that are no positions of words in order.

    Examples:
        >>> print(word_clocks(["a", "b", "c"], [1.0], (0, 2)).alt("en"))
        For each of 1 frequencies a dial with two hands, one for each word. Cosines of the angles \
between them: −0.42. “a” at 0.0 and “c” at 2.0, 2.0 apart: the dot product is −0.42.
    """
    checked = check_labels(words)
    turns = check_finite("omega", as_lists(omega))
    if len(places) != 2 or not 0 <= places[0] < places[1] <= len(checked) - 1:
        raise ValueError(f"places must be two of {len(checked)} in order, got {places}")
    return WordClocks(checked, turns, (float(places[0]), float(places[1])))


def _find_end(x: float, turned: float) -> tuple[float, float]:
    """Where a hand ends: clockwise from the top."""
    return x + RADIUS * sin(turned), ROW - RADIUS * cos(turned)


def _outline_sector(x: float, start: float, end: float) -> str:
    """From hand to hand the shorter way."""
    way = (end - start + pi) % (2 * pi) - pi
    sweep = "1" if way > 0 else "0"
    a, b = _find_end(x, start), _find_end(x, end)
    return outline("M", x, ROW, "L", *a, "A", RADIUS, RADIUS, 0, 0, sweep, *b) + "z"
