"""A sentence whose words are hands of a dial: one query to turn, and weights as arcs.

Its script is docs/assets/instruments/sentence-dial.js, which draws as this does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import atan2, cos, degrees, hypot, radians, sin
from typing import Any, NamedTuple

from attention_docs.figures.figure import (
    Drawing,
    Figure,
    Language,
    Wording,
    check_label,
    check_labels,
)
from attention_docs.figures.instruments import Instrument, Layout
from attention_docs.figures.numbers import as_lists, check_finite, format_value
from attention_docs.figures.svg import (
    HALO,
    INK,
    css_colour,
    element,
    group,
    measure_text,
    outline,
    path,
    text,
)

LONGEST = 8.0  # a query that reaches the rim
DECIDED = 0.5  # from this share on the output is of one kind
WEIGHT, EDGE, SCORE = map(css_colour, ("role-weight-fill", "role-weight", "role-score"))
QUERY, KEY, PAGE = map(css_colour, ("role-query", "role-key", "figure-page"))
KINDS = css_colour("series-2"), css_colour("series-1")
FACE = "attention-words"
"""The class of what is set in the face of the sentence (docs/assets/instruments.css)."""

EYE = (
    "M-44 0C-24 -30 24 -30 44 0C24 30 -24 30 -44 0z"
    "M0 -14a14 14 0 0 1 0 28a14 14 0 0 1 0 -28zM0 -4a4 4 0 0 1 0 8a4 4 0 0 1 0 -8z"
)
SAW = (
    "M-18 -16H42L52 -6V6"
    "l-4 13l-6 -13l-4 13l-6 -13l-4 13l-6 -13l-4 13l-6 -13l-4 13l-6 -13l-4 13l-6 -13H-18z"
    "M-18 -16C-34 -28 -52 -18 -52 -2C-52 16 -34 22 -18 6"
    "M-26 -8C-34 -14 -42 -10 -42 -2C-42 6 -32 8 -26 0z"
)
BRUSH = (
    "M46 -40L4 2L14 12L52 -32C54 -38 50 -42 46 -40zM4 2L-4 8L8 20L14 12"
    "M-4 8C-18 8 -20 20 -24 26C-28 32 -36 34 -44 32C-32 46 0 46 8 20"
)
PICTURE = (
    "M-44 -22H44V36H-44zM-34 -12H34V26H-34zM-30 -22L0 -42L30 -22"
    "M-34 22L-12 2L4 16L14 8L34 24M16 -4a4 4 0 0 1 8 0a4 4 0 0 1 -8 0z"
)
PICTURES = {"eye": EYE, "handsaw": SAW, "brush": BRUSH, "picture": PICTURE}


class Frame(NamedTuple):
    """Where the parts stand: in a wide window, or in a narrow one."""

    width: float
    height: float
    size: float  # of the words
    span: float  # of the sentence
    base: float  # its line
    top: float  # where arcs stand
    rise: float  # of the flattest arc
    slope: float  # what each unit of distance adds
    thick: float  # an arc of weight 1
    weight: float  # font size of weights
    label: float  # of all other text
    centre: tuple[float, float]  # of the dial
    radius: float
    out: tuple[float, float, float]  # the word that comes out: place, size
    picture: tuple[float, float, float]  # place, scale
    bars: tuple[float, float, float, float]  # left, first line, line height, length of 1
    verdict: tuple[float, float]
    under: float = 0.1  # of the size: from the line of the words down to what marks one

    @property
    def is_narrow(self) -> bool:
        """Whether it is the one for a narrow window."""
        return self.width == NARROW.width


WIDE = Frame(
    *(1120, 524, 118, 980, 196, 108, 26, 0.06, 76, 27, 17),
    centre=(300, 390),
    radius=98,
    out=(700, 396, 112),
    picture=(912, 362, 1.4),
    bars=(880, 448, 27, 150),
    verdict=(700, 446),
)
NARROW = Frame(
    *(358, 396, 62, 334, 146, 92, 20, 0.1, 42, 18, 14),
    centre=(116, 294),
    radius=72,
    out=(298, 308, 48),
    picture=(298, 242, 0.62),
    bars=(266, 356, 22, 44),
    verdict=(292, 332),
)


@dataclass(frozen=True, repr=False)
class SentenceDial(Instrument):
    """The words, the directions of their keys, and the state that is published."""

    words: tuple[Wording, ...]
    keys: list[float]  # degrees, counted from the right as angles are
    values: list[list[float]]
    queries: list[tuple[float, float]]  # degrees and length, of each word
    weights: list[float]
    output: list[float]
    names: tuple[Wording, ...]
    kinds: tuple[Wording, ...]
    pictures: tuple[Wording, ...]  # names in PICTURES, which a language may replace by others
    unsure: Wording
    askers: tuple[int, ...]
    first: int

    name = "sentence-dial"

    def list_numbers(self) -> Mapping[str, Any]:
        """Keys and queries as hands; the vectors of the values."""
        return {
            "keys": self.keys,
            "values": self.values,
            "queries": self.queries,
            "askers": self.askers,
            "first": self.first,
            "longest": LONGEST,
            "decided": DECIDED,
        }

    def list_words(self, lang: Language) -> Mapping[str, Any]:
        """Words, kinds and templates."""
        return {
            **lang.locale["figures"]["sentence_dial"],
            "words": self._name_words(lang),
            "plain": [lang.translate_label(one) for one in self.words],
            "kinds": [lang.translate_label(one) for one in self.kinds],
            "cannot": lang.translate_label(self.unsure),
        }

    def list_layouts(self, lang: Language) -> list[Layout]:
        """For a wide window and for a narrow one."""
        return [
            Layout(
                kind, Drawing(f.width, f.height, self._draw(lang, f), most), self._places(lang, f)
            )
            for kind, f, most in (
                ("wide", self._fit(lang, WIDE), 1400),
                ("narrow", self._fit(lang, NARROW), 520),
            )
        ]

    def _fit(self, lang: Language, f: Frame) -> Frame:
        """With smaller words where they would reach into the arcs, as Chinese ones do."""
        letters = {c for word in self.words for c in lang.translate_label(word)}
        return f if letters <= LETTERS.keys() else f._replace(size=0.78 * f.size, under=0.18)

    def _places(self, lang: Language, f: Frame) -> Mapping[str, Any]:
        xs = [round(x, 2) for x in self._middles(lang, f)]
        return {**f._asdict(), "xs": xs}

    def _name_words(self, lang: Language) -> list[str]:
        """Words; one that comes twice with its position."""
        labels = [lang.translate_label(one) for one in self.words]
        return [
            f"{label} {position}" if labels.count(label) > 1 else label
            for position, label in enumerate(labels, 1)
        ]

    def _middles(self, lang: Language, f: Frame) -> list[float]:
        """Of the words, with equal gaps between them."""
        labels = [lang.translate_label(one) for one in self.words]
        wide = [f.size * sum(LETTERS.get(c, 1.88) for c in label) for label in labels]
        gap = (f.span - sum(wide)) / max(1, len(wide) - 1)
        x, found = (f.width - f.span) / 2, []
        for one in wide:
            found.append(x + one / 2)
            x += one + gap
        return found

    def _draw(self, lang: Language, f: Frame) -> str:
        xs = self._middles(lang, f)
        kind = self.output[0] / sum(self.output) if max(self.output) >= DECIDED else None
        body = "".join(self._draw_arc(f, xs, j) for j in reversed(range(len(xs))))
        body += self._draw_words(lang, f, xs)
        body += self._draw_dial(lang, f, *self.queries[self.first])
        return body + self._draw_output(lang, f, kind)

    def _draw_arc(self, f: Frame, xs: list[float], j: int) -> str:
        d = _trace_arc(f, xs, self.first, self.weights, j)
        return path(d, fill=WEIGHT, stroke=EDGE, stroke_width=1, **{"class": "arc"})

    def _draw_words(self, lang: Language, f: Frame, xs: list[float]) -> str:
        names = [lang.translate_label(one) for one in self.names]
        words = weights = says = ""
        for i, (x, word, weight) in enumerate(zip(xs, self.words, self.weights, strict=True)):
            words += element(
                "text",
                lang.translate_label(word),
                x=x,
                y=f.base,
                fill=QUERY if i == self.first else INK,
                **{"class": "word"},
            )
            below = f.base + 1.45 * f.weight
            weights += element("text", f"{100 * weight:.0f}%", x=x, y=below, **{"class": "weight"})
            for name, value, tint in zip(names, self.values[i], KINDS, strict=True):
                if value:
                    said = lang.format_phrase("ribbons", "says", said=name)
                    half = measure_text(said, f.label) / 2
                    at = min(max(x, half), f.width - half)
                    line = text(at, below + 1.5 * f.label, said, "middle", f.label)
                    says += group(line, fill=tint)
        style = {"text_anchor": "middle", "font_weight": "600"}
        found = group(words, font_size=f.size, text_anchor="middle", **{"class": FACE})
        return found + group(weights, font_size=f.weight, fill=EDGE, **style) + says

    def _draw_dial(self, lang: Language, f: Frame, turned: float, length: float) -> str:
        (cx, cy), radius = f.centre, f.radius
        tip, tip_radius = _place(f, turned, radius * length / LONGEST), 11 if f.is_narrow else 13
        body = element("circle", cx=cx, cy=cy, r=radius, fill="none", stroke=INK, opacity=0.3)
        shadows = labels = ""
        for word, key in zip(self._name_words(lang), self.keys, strict=True):
            end = _place(f, key, radius)
            body += path(outline("M", cx, cy, "L", *end), stroke=KEY, stroke_width=2)
            score = length * cos(radians(turned - key))
            foot = _place(f, key, radius * max(0.0, score) / LONGEST)
            shadows += path(
                outline("M", cx, cy, "L", *foot),
                stroke=SCORE,
                stroke_width=5,
                **{"class": "shadow"},
            ) + path(
                outline("M", *tip, "L", *foot),
                stroke=SCORE,
                stroke_width=1.25,
                stroke_dasharray="3 4",
                opacity=0 if score <= 0 else 0.8,
                **{"class": "drop"},
            )
            labels += _draw_label(f, key, word, format_value(score, ".1f"))
        hand = path(outline("M", cx, cy, "L", *tip), stroke_width=6, **{"class": "hand"})
        body += group(shadows, fill="none", stroke_linecap="round")
        body += group(hand, stroke=QUERY, stroke_linecap="round")
        body += element(
            "circle",
            cx=tip[0],
            cy=tip[1],
            r=tip_radius,
            fill=QUERY,
            stroke=PAGE,
            stroke_width=3,
            **{"class": "tip"},
        )
        shown = lang.format_phrase("sentence_dial", "length", length=f"{length:.1f}")
        below = text(cx, cy + radius + tip_radius + f.label, shown, "middle", f.label, bold=True)
        return group(below, fill=QUERY, **{"class": "length"}) + body + labels

    def _draw_output(self, lang: Language, f: Frame, kind: float | None) -> str:
        best = max(self.output)
        word = lang.translate_label(self.words[self.first])
        x, y, size = f.out
        body = element(
            "text",
            word,
            x=x,
            y=y,
            font_size=size,
            text_anchor="middle",
            fill=INK if kind is None else _mix_kinds(kind),
            fill_opacity=round(0.2 + 0.8 * best, 3),
            **{"class": f"out {FACE}"},
        )
        px, py, scale = f.picture
        pictures = ""
        drawn = [PICTURES[lang.translate_label(one)] for one in self.pictures]
        for d, value, tint in zip(drawn, self.output, KINDS, strict=True):
            shape = path(d, fill="none", stroke=tint, stroke_width=4, stroke_linejoin="round")
            pictures += group(shape, opacity=float(value >= DECIDED), **{"class": "picture"})
        style = {"text_anchor": "middle", "font_weight": "600", "fill": INK}
        mark = element("text", "?", font_size=60, x=0, y=20, **style)
        pictures += group(mark, opacity=float(best < DECIDED), **{"class": "doubt"})
        body += group(pictures, transform=f"translate({px:g} {py:g}) scale({scale:g})")
        left, top, line, long = f.bars
        for k, (name, value) in enumerate(zip(self.names, self.output, strict=True)):
            at = top + k * line
            body += text(left - 8, at, lang.translate_label(name), "end", f.label)
            bar = outline("M", left, at - 0.8 * f.label, "h", long * value, "v", f.label, "H", left)
            body += path(bar + "z", fill=KINDS[k], **{"class": "bar"})
            shown = element("text", format_value(value, ".2f"), x=left + long * value + 6, y=at)
            body += group(shown, font_size=f.label, text_anchor="start", **{"class": "amount"})
        ink = KINDS[self.output.index(best)] if best >= DECIDED else INK
        label = self._judge(lang)
        size = f.label + (0 if f.is_narrow else 7)
        verdict = element(
            "text", label, x=f.verdict[0], y=f.verdict[1], text_anchor="middle", font_size=size
        )
        return body + group(verdict, fill=ink, font_weight="600", **{"class": "verdict"})

    def _judge(self, lang: Language) -> str:
        best = max(self.output)
        kind = self.kinds[self.output.index(best)] if best >= DECIDED else self.unsure
        return lang.translate_label(kind)

    def state(self, lang: Language) -> str:
        """Where most goes, and what comes of it."""
        words, shown = self._name_words(lang), [f"{100 * one:.0f}%" for one in self.weights]
        weight = shown[self.weights.index(max(self.weights))]
        most = [word for word, one in zip(words, shown, strict=True) if one == weight]
        parts = {"asker": words[self.first], "kind": self._judge(lang)}
        if len(most) == 1:
            phrase = {"best": most[0], "weight": weight}
            return lang.format_phrase("sentence_dial", "state", **parts, **phrase)
        pairs = [lang.format_phrase("sentence_dial", "pair", word=w, number=weight) for w in most]
        parts["pairs"] = lang.join_texts("list", pairs)
        return lang.format_phrase("sentence_dial", "tied", **parts)

    def describe(self, lang: Language) -> str:
        """The scores and the weights of the published state, and the output."""
        words, (turned, length) = self._name_words(lang), self.queries[self.first]
        scores = [length * cos(radians(turned - key)) for key in self.keys]

        def say(word: str, number: str) -> str:
            return lang.format_phrase("sentence_dial", "pair", word=word, number=number)

        def count_off(numbers: Sequence[float], spec: str) -> str:
            pairs = zip(words, numbers, strict=True)
            return lang.join_texts("list", [say(w, format_value(n, spec)) for w, n in pairs])

        parts = [
            f"{lang.translate_label(name)} {format_value(one, '.2f')}"
            for name, one in zip(self.names, self.output, strict=True)
        ]
        return lang.format_phrase(
            "sentence_dial",
            "alt",
            asker=words[self.first],
            scores=count_off(scores, ".1f"),
            weights=count_off(self.weights, ".2f"),
            output=lang.join_texts("list", parts),
            kind=self._judge(lang),
        )


LETTERS = {"I": 0.39, "s": 0.475, "a": 0.554, "w": 0.85}
"""Widths in the face of the sentence. Any other, as of Chinese, has the room of "saw": beside the
last word ends its arc to itself."""


def sentence_dial(
    words: Sequence[str],
    keys: Any,
    queries: Any,
    values: Any,
    weights: Any,
    outputs: Any,
    *,
    names: Sequence[str],
    kinds: Sequence[str],
    pictures: Sequence[str],
    unsure: str,
    askers: Sequence[int],
    first: int,
) -> Figure:
    """A sentence with a dial: the query of one word is a hand to turn and to lengthen.

    Args:
        words: n of them.
        keys: (n, 2), unit vectors.
        queries: (n, 2); the script starts a word that is tapped with its own.
        values: (n, 2), what each word says of two kinds.
        weights: (n, n), softmax of the dot products, without a division.
        outputs: (n, 2), their averages of the values.
        names: of the two kinds.
        kinds: what a word of each kind is.
        pictures: what each kind looks like: an eye, a handsaw, a brush or a picture.
        unsure: the same where neither has half of the output.
        askers: the words that can ask, counted from 0.
        first: the one that asks at first.

    Raises:
        ValueError: other shapes, or keys that are no unit vectors.

    Examples:
        >>> figure = sentence_dial(
        ...     ["I", "saw"], [[1, 0], [0, 1]], [[0, 1], [1, 0]], [[1, 0], [0, 1]],
        ...     [[0.27, 0.73], [0.73, 0.27]], [[0.27, 0.73], [0.73, 0.27]],
        ...     names=["verb", "noun"], kinds=["a verb", "a noun"], pictures=["eye", "handsaw"],
        ...     unsure="?", askers=[1], first=1,
        ... )
        >>> print(figure.alt("en"))
        The query of “saw”. Its scores: “I” 1.0, “saw” 0.0. Weights: “I” 0.73, “saw” 0.27. \
Output: verb 0.73, noun 0.27: a verb.
    """
    checked = check_labels(words)
    count = len(checked)
    shapes = {"keys": keys, "queries": queries, "values": values, "outputs": outputs}
    rows = {
        name: [check_finite(name, row) for row in as_lists(one)] for name, one in shapes.items()
    }
    for name, found in rows.items():
        if [len(row) for row in found] != [2] * count:
            raise ValueError(f"{name} must be ({count}, 2), got {found}")
    shares = [check_finite("weights", row) for row in as_lists(weights)]
    if [len(row) for row in shares] != [count] * count:
        raise ValueError(f"weights must be ({count}, {count}), got {shares}")
    if any(abs(hypot(*key) - 1) > 1e-9 for key in rows["keys"]):
        raise ValueError(f"keys must be unit vectors, got {rows['keys']}")
    return SentenceDial(
        checked,
        [_measure_turn(key) for key in rows["keys"]],
        rows["values"],
        [(_measure_turn(one), round(hypot(*one), 9)) for one in rows["queries"]],
        shares[first],
        rows["outputs"][first],
        check_labels(names),
        check_labels(kinds),
        check_labels(pictures),
        check_label(unsure),
        tuple(askers),
        first,
    )


def _measure_turn(vector: Sequence[float]) -> float:
    """The direction of a vector in degrees, from 0 on; a billionth of one is rounding."""
    return round(degrees(atan2(vector[1], vector[0])), 9) % 360


def _place(f: Frame, turned: float, reach: float) -> tuple[float, float]:
    """A point of the dial."""
    angle = radians(turned)
    return f.centre[0] + reach * cos(angle), f.centre[1] - reach * sin(angle)


def _draw_label(f: Frame, key: float, word: str, score: str) -> str:
    """At the end of a key its word, and its score: beside it, or below where there is no room."""
    x, y = _place(f, key, f.radius + 11)
    side = cos(radians(key))
    anchor = "start" if side > 0.3 else "end" if side < -0.3 else "middle"
    is_flat = abs(side) > 0.9
    name = element("tspan", word, fill=KEY, font_weight="600")
    below = {"x": x, "dy": 1.1 * f.label} if is_flat else {"dx": 0.35 * f.label}
    number = element("tspan", score, fill=SCORE, **below, **{"class": "score"})
    at = y if is_flat else y - 2 + 0.35 * f.label * (1 - 2 * sin(radians(key)))
    whole = element("text", name + number, x=x, y=at, text_anchor=anchor, font_size=f.label)
    return group(whole, **HALO)


def _trace_arc(f: Frame, xs: Sequence[float], asking: int, weights: Sequence[float], j: int) -> str:
    """A band from a word to the one that asks; there they lie side by side, the nearest outside."""
    before = [*reversed(range(asking)), asking, *range(len(xs) - 1, asking, -1)]
    wide = f.thick * weights[j]
    to = xs[asking] - f.thick / 2 + f.thick * sum(weights[i] for i in before[: before.index(j)])
    x = xs[j] - wide / 2 + (0.8 * f.size if j == asking else 0)
    if x > to:  # from the right, the outer side is the other one
        inner, outer = (x, to + wide), (x + wide, to)
    else:
        inner, outer = (x + wide, to), (x, to + wide)
    high = f.top - f.rise - f.slope * abs(xs[asking] - xs[j])
    up = high - 0.9 * wide
    there = outline("M", outer[0], f.top, "C", outer[0], up, outer[1], up, outer[1], f.top)
    back = outline("L", inner[1], f.top, "C", inner[1], high, inner[0], high, inner[0], f.top)
    return there + back + "z"


def _mix_kinds(kind: float) -> str:
    """The colour of a word that is so much of the first kind."""
    return f"color-mix(in oklab,{KINDS[0]} {100 * kind:.0f}%,{KINDS[1]})"
