"""The drawing of one word that asks: a ribbon from every word, as thick as the weight it gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from attention_docs.figures.figure import Drawing, DrawnFigure, Language, Wording
from attention_docs.figures.numbers import format_value
from attention_docs.figures.svg import (
    COLUMN,
    LARGE,
    css_colour,
    group,
    measure_text,
    measure_widest,
    outline,
    path,
    rectangle,
    text,
)

NARROWEST = 400  # a phone shows it as large as its text
MARGIN, GAP, BOX, CORNER = 24, 16, 42, 7  # at the sides, between boxes; a box and its corner
TOP, FALL = 26, 150  # above the upper row, between the rows
ROWS = TOP + 2 * BOX + FALL  # both rows of words
BAR, BELOW = 30, 22  # a row of the output, and what is above it
THINNEST = 1.5  # of a ribbon that is there


@dataclass(frozen=True)
class Sentence:
    """What all drawings share: the words, what they say, and what the output is made of."""

    words: tuple[Wording, ...]
    values: list[list[float]]
    names: tuple[Wording, ...]
    spec: str

    def name_word(self, lang: Language, i: int) -> str:
        """A word in a sentence, with its place."""
        word = lang.translate_label(self.words[i])
        return lang.format_phrase("ribbons", "word", word=word, i=i + 1)

    def say_value(self, lang: Language, j: int) -> str:
        """What a word speaks for, or nothing."""
        parts = [
            lang.translate_label(name) + ("" if value == 1 else f" {format_value(value, 'g')}")
            for value, name in zip(self.values[j], self.names, strict=True)
            if value
        ]
        said = lang.join_texts("list", parts)
        return said and lang.format_phrase("ribbons", "says", said=said)


@dataclass(frozen=True, repr=False)
class Tie(DrawnFigure):
    """The ribbons of one word, which asks."""

    sentence: Sentence
    asking: int
    scores: list[float]
    weights: list[float]
    output: list[float]

    @property
    def shown(self) -> str:
        """Its numbers, which are the same in all languages."""
        spec = self.sentence.spec
        return " ".join(format_value(one, spec) for one in (*self.weights, *self.scores))

    def draw(self, lang: Language) -> Drawing:
        """The words twice, the ribbons between them, and the output below."""
        labels = [lang.translate_label(word) for word in self.sentence.words]
        count = len(labels)
        says = [self.sentence.say_value(lang, j) for j in range(count)]
        room = max(measure_widest(labels, LARGE) + 20 + GAP, measure_widest(says) + 6)
        width = max(NARROWEST, count * room + 2 * MARGIN)
        pitch = (width - 2 * MARGIN) / count
        middles = [MARGIN + (j + 0.5) * pitch for j in range(count)]
        said = "".join(text(middles[j], TOP - 9, says[j], "middle") for j in range(count))
        body = [
            said and group(said, fill=css_colour("role-value")),
            self._draw_ribbons(middles, pitch - GAP),
            self._draw_boxes(middles, pitch - GAP, labels),
            self._draw_output(lang, width, ROWS + BELOW),
        ]
        height = ROWS + (BELOW + BAR * len(self.output) if self.output else 2)  # of the boxes
        return Drawing(width, height, "".join(body), max(COLUMN, width))

    def _draw_ribbons(self, middles: list[float], wide: float) -> str:
        """Side by side they fill the width of the word that asks, since the weights sum to 1."""
        end = middles[self.asking] - wide / 2
        shapes, lines, weights, scores = "", "", "", ""
        for x, weight, score in zip(
            middles, self.weights, self.scores or self.weights, strict=True
        ):
            share = weight * wide
            to, end = end + share / 2, end + share
            half = max(share, THINNEST) / 2 if weight else 0.0
            shapes += path(
                _draw_ribbon(x, to, half), stroke=None if weight else "none", **{"class": "ribbon"}
            )
            if score != -inf:
                lines += path(_draw_fall("M", x, to))
            weights += self._write_number(x, to, share, format_value(weight, self.sentence.spec))
            scores += self._write_number(x, to, 0, format_value(score, self.sentence.spec))
        fill, line = css_colour("role-weight-fill"), css_colour("role-weight")
        found = group(shapes, fill=fill, stroke=line, stroke_width=0.75)
        found += group(weights, **{"class": "weighted"})
        if self.scores:
            blue = css_colour("role-score")
            lines = group(lines, fill="none", stroke=blue, stroke_width=1.5)
            scored = lines + group(scores, fill=blue)
            found += group(scored, opacity="0", **{"class": "scored"})
        return found

    def _write_number(self, x: float, to: float, share: float, label: str) -> str:
        """A number where its ribbon leaves the word: on it, or beside it where it is thin."""
        y = TOP + BOX + 22
        if share > measure_text(label) + 4:
            return text(x, y, label, "middle", bold=True)
        side = -1 if to > x + 1 else 1  # the ribbon turns to the other side
        x += side * (share / 2 + 6)
        return text(x, y, label, "end" if side < 0 else "start")

    def _draw_boxes(self, middles: list[float], wide: float, labels: list[str]) -> str:
        """The words that are asked above, and below them those that can ask."""
        body = ""
        for row, y in enumerate((TOP, TOP + BOX + FALL)):
            for i, (x, label) in enumerate(zip(middles, labels, strict=True)):
                on = row == 1 and i == self.asking
                ink = "role-key" if row == 0 else "role-query" if on else "role-neutral"
                body += path(
                    _round_box(x - wide / 2, y, wide, BOX),
                    fill=css_colour("figure-page"),
                    stroke=css_colour(ink),
                    stroke_width=3 if on else 1.5,
                    stroke_opacity=None if on or row == 0 else 0.6,
                )
                word = text(x, y + BOX / 2 + 7.5, label, "middle", LARGE, bold=row == 0 or on)
                body += word if row == 0 or on else group(word, fill=css_colour("role-neutral"))
        return body

    def _draw_output(self, lang: Language, width: float, top: float) -> str:
        """A bar for each component of the output."""
        names = [lang.translate_label(name) for name in self.sentence.names]
        left = max(MARGIN + GAP / 2, measure_widest(names) + 16)
        most = max(1.0, *self.output) if self.output else 1.0
        body = ""
        for k, (name, value) in enumerate(zip(names, self.output, strict=bool(self.output))):
            y = top + k * BAR
            long = max((width - left - 56) * value / most, THINNEST)
            bold = value > 0.5 * sum(self.output) + 1e-9
            body += text(left - 8, y + BAR / 2 + 3, name, "end", bold=bold)
            body += path(
                rectangle(left, y + 2, long, BAR - 10),
                fill=css_colour("role-output-fill"),
                stroke=css_colour("role-output"),
                **{"class": "bar"},
            )
            label = format_value(value, self.sentence.spec)
            body += text(left + long + 7, y + BAR / 2 + 3, label, "start", bold=bold)
        return body and group(body, **{"class": "summed"})

    def describe(self, lang: Language) -> str:
        """Every weight, every score, what the words say, and the output."""
        sentence = self.sentence
        labels = [lang.translate_label(word) for word in sentence.words]

        def count_off(numbers: Sequence[float]) -> str:
            pairs = zip(labels, numbers, strict=True)
            return lang.join_texts(
                "list", [f"{label} {format_value(one, sentence.spec)}" for label, one in pairs]
            )

        asker = sentence.name_word(lang, self.asking)
        found = [
            lang.format_phrase("ribbons", "weights", asker=asker, weights=count_off(self.weights))
        ]
        if self.scores:
            scores = count_off(self.scores)
            found.append(lang.format_phrase("ribbons", "scores", scores=scores))
        said = [
            lang.format_phrase("ribbons", "speaks", word=label, says=sentence.say_value(lang, j))
            for j, label in enumerate(labels)
            if any(sentence.values[j])
        ]
        if said:
            clause = lang.join_texts("clauses", said)
            found.append(lang.format_phrase("sentences", "sentence", text=clause))
        return lang.join_texts("paragraph", [*found, self.sum_up(lang, "output")])

    def sum_up(self, lang: Language, key: str) -> str:
        """The output in a sentence, or nothing."""
        parts = tuple(
            lang.format_phrase(
                "ribbons",
                "part",
                name=lang.translate_label(name),
                value=format_value(value, self.sentence.spec),
            )
            for name, value in zip(self.sentence.names, self.output, strict=bool(self.output))
        )
        return lang.format_phrase("ribbons", key, parts=parts) if parts else ""

    def caption(self, lang: Language) -> str:
        """Where most of its attention goes, and what comes of it."""
        largest = max(self.weights)
        best = [j for j, one in enumerate(self.weights) if largest - one < 1e-9]
        weight = format_value(largest, self.sentence.spec)
        if len(best) == len(self.weights) > 1:
            most = lang.format_phrase("ribbons", "alike", weight=weight)
        else:
            words = tuple(self.sentence.name_word(lang, j) for j in best)
            most = lang.format_phrase("ribbons", "most", n=len(best), words=words, weight=weight)
        return lang.join_texts("paragraph", [most, self.sum_up(lang, "average")])


def _draw_fall(command: str, x: float, to: float) -> str:
    """The outline of a way from a word above to the word that asks."""
    start, middle = TOP + BOX, TOP + BOX + FALL / 2
    return outline(command, x, start, "C", x, middle, to, middle, to, start + FALL)


def _draw_ribbon(x: float, to: float, half: float) -> str:
    """Down on its left side, up on its right one."""
    start, middle = TOP + BOX, TOP + BOX + FALL / 2
    right, back = x + half, to + half
    up = outline("L", back, start + FALL, "C", back, middle, right, middle, right, start, "z")
    return _draw_fall("M", x - half, to - half) + up


def _round_box(x: float, y: float, width: float, height: float) -> str:
    """The outline of a box with round corners."""
    r, across, down = CORNER, width - 2 * CORNER, height - 2 * CORNER
    return outline(
        *("M", x + r, y, "h", across, "a", r, r, 0, 0, 1, r, r, "v", down),
        *("a", r, r, 0, 0, 1, -r, r, "h", -across, "a", r, r, 0, 0, 1, -r, -r),
        *("v", -down, "a", r, r, 0, 0, 1, r, -r, "z"),
    )
