"""Scores as columns to pull, and the weights that softmax makes of them: parts of one full bar.

Its script is docs/assets/instruments/softmax-bars.js, which draws as this does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log2
from typing import Any

from attention_docs.figures.figure import Drawing, Figure, Language, numbered
from attention_docs.figures.instruments import LABEL, WIDTH, Instrument, Layout
from attention_docs.figures.numbers import as_lists, check_finite, format_value
from attention_docs.figures.svg import COLUMN, INK, css_colour, element, group, outline, path, text

HEIGHT = 302
LEFT, PITCH, WIDE = 62, 88, 44  # middle of the first column; from column to column
LOW, HIGH = -2.0, 8.0  # of the scores
TOP, BOTTOM = 40, 196  # where these stand
BAR = (18, 250, 444, 46)  # the one that is full: left, top, width, height
RULE = (420, 40, 182)  # of the temperature: across, its ends
HOTTEST = 4.0  # and its inverse is the coldest
NARROW = 34  # a part this wide holds its number


@dataclass(frozen=True, repr=False)
class SoftmaxBars(Instrument):
    """The scores, and the weights at temperature 1."""

    scores: list[float]
    weights: list[float]

    name = "softmax-bars"

    def list_numbers(self) -> Mapping[str, Any]:
        """The scores, and how far they and the temperature go."""
        return {"scores": self.scores, "low": LOW, "high": HIGH, "hottest": HOTTEST}

    def list_words(self, lang: Language) -> Mapping[str, Any]:
        """Templates and the names of the keys."""
        return {**lang.locale["figures"]["softmax_bars"], "keys": self._name_keys(lang)}

    def _name_keys(self, lang: Language) -> list[str]:
        return [lang.translate_label(one) for one in numbered("key", len(self.scores))]

    def list_layouts(self, lang: Language) -> list[Layout]:
        """One drawing for all windows."""
        places = {
            "columns": [LEFT + PITCH * i for i in range(len(self.scores))],
            "column": WIDE,
            "top": TOP,
            "bottom": BOTTOM,
            "bar": BAR,
            "rule": RULE,
            "narrow": NARROW,
        }
        return [Layout("single", Drawing(WIDTH, HEIGHT, self._draw(lang), COLUMN), places)]

    def _draw(self, lang: Language) -> str:
        tint, fill, edge = map(css_colour, ("role-score", "role-weight-fill", "role-weight"))
        left, top, width, height = BAR
        zero = _height_of(0)
        columns = flows = parts = labels = ""
        at = float(left)
        for i, (score, weight, name) in enumerate(
            zip(self.scores, self.weights, self._name_keys(lang), strict=True)
        ):
            x, y, share = LEFT + PITCH * i, _height_of(score), width * weight
            column = outline("M", x - WIDE / 2, zero, "V", y, "h", WIDE, "V", zero)
            columns += path(column + "z", **{"class": "column"})
            columns += element("circle", cx=x, cy=y, r=9, **{"class": "knob"})
            value = format_value(score, ".1f")
            number = element("text", value, x=x, y=y - 15, **{"class": "score"})
            labels += group(number, fill=tint, text_anchor="middle", font_size=LABEL)
            labels += text(x, BOTTOM + 20, name, "middle", LABEL)
            flow = outline("M", x - WIDE / 2, BOTTOM + 28, "h", WIDE, "L", at + share, top)
            flows += path(flow + outline("H", at) + "z", **{"class": "flow"})
            part = outline("M", at, top, "h", share, "v", height, "H", at)
            parts += path(part + "z", **{"class": "part"})
            shown = f"{100 * weight:.0f}%" if share > NARROW else ""
            labels += element(
                "text",
                shown,
                x=at + share / 2,
                y=top + height / 2 + 6,
                font_size=LABEL,
                text_anchor="middle",
                **{"class": "share"},
            )
            at += share
        body = group(flows, fill=fill, fill_opacity=0.35)
        body += group(parts, fill=fill, stroke=edge, stroke_width=1.5)
        body += path(outline("M", 20, zero, "H", 366), stroke=INK, stroke_opacity=0.4)
        body += path(outline("M", 20, BOTTOM, "H", 366), stroke=INK, stroke_opacity=0.15)
        for score in (0, LOW):
            body += text(18, _height_of(score) + 5, format_value(score, "g"), "end")
        style = {"fill": css_colour("role-score-fill"), "stroke": tint}
        body += group(columns, stroke_width=1.5, **style)
        return body + labels + self._draw_temperature(lang)

    def _draw_temperature(self, lang: Language) -> str:
        """A rule with a mark at 1, and a knob on it."""
        x, top, bottom = RULE
        middle = (top + bottom) / 2
        rule = outline("M", x, top, "V", bottom) + outline("M", x - 6, middle, "h", 12)
        body = path(rule, stroke=INK, stroke_opacity=0.5, stroke_width=2)
        body += element("circle", cx=x, cy=_height_of_tau(1.0), r=9, fill=INK, **{"class": "tau"})
        said = lang.format_phrase("softmax_bars", "tau", tau="1.00")
        shown = element("text", said, x=x, y=bottom + 26, text_anchor="middle", font_size=LABEL)
        body += group(shown, **{"class": "tau-text"})
        return body + text(
            x, top - 18, lang.format_phrase("softmax_bars", "temperature"), "middle", LABEL
        )

    def state(self, lang: Language) -> str:
        """Every weight."""
        return lang.format_phrase("softmax_bars", "state", weights=self._list_weights(lang))

    def _list_weights(self, lang: Language) -> str:
        pairs = zip(self._name_keys(lang), self.weights, strict=True)
        return lang.join_texts("list", [f"{k} {format_value(w, '.3f')}" for k, w in pairs])

    def describe(self, lang: Language) -> str:
        """The scores, the temperature and the weights."""
        scores = lang.join_texts("list", [format_value(one, ".1f") for one in self.scores])
        weights = self._list_weights(lang)
        return lang.format_phrase("softmax_bars", "alt", scores=scores, weights=weights)


def softmax_bars(scores: Any, weights: Any) -> Figure:
    """Scores as columns that a reader pulls, and the weights as parts of one bar.

    Args:
        scores: of up to four keys, from −2 to 8.
        weights: softmax of them.

    Raises:
        ValueError: other scores, or weights that do not sum to 1.

    Examples:
        >>> print(softmax_bars([0, 0], [0.5, 0.5]).alt("en"))
        Scores: 0.0, 0.0; temperature 1. Softmax makes of them the weights key 1 0.500, \
key 2 0.500, parts of one bar that is always full.
    """
    checked = check_finite("scores", as_lists(scores))
    shares = check_finite("weights", as_lists(weights))
    if not 1 <= len(checked) <= 4 or min(checked) < LOW or max(checked) > HIGH:
        raise ValueError(f"scores must be up to 4 from {LOW:g} to {HIGH:g}, got {checked}")
    if len(shares) != len(checked) or abs(sum(shares) - 1) > 1e-9:
        raise ValueError(f"weights must be {len(checked)} with sum 1, got {shares}")
    return SoftmaxBars(checked, shares)


def _height_of(score: float) -> float:
    return BOTTOM - (score - LOW) / (HIGH - LOW) * (BOTTOM - TOP)


def _height_of_tau(tau: float) -> float:
    """Hot is above; each doubling is as far as the one before it."""
    share = 0.5 + log2(tau) / (2 * log2(HOTTEST))
    return RULE[2] - share * (RULE[2] - RULE[1])
