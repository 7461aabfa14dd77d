"""A word's search as a film: eight drawings of one size, between which every number keeps its name.

A part carries a key (`data-key`); a new one may carry the keys of the parts that it comes from
(`data-from`) and its turn among the new ones (`data-turn`). docs/assets/film.js moves the parts
from drawing to drawing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

from attention_docs.figures.figure import (
    Drawing,
    DrawnFigure,
    Figure,
    Language,
    Wording,
    check_labels,
    make_phrase,
)
from attention_docs.figures.matrix import find_opacity
from attention_docs.figures.numbers import as_lists, format_fixed, format_value
from attention_docs.figures.steps import STEPS, tell_inputs, write_product
from attention_docs.figures.svg import HALO, INK, TEXT, css_colour, element, escape_label
from attention_docs.figures.tensors import DECIMALS, INTEGER, Numbers, Tensors
from attention_docs.text import number

WIDTH, HEIGHT = 376, 330
NAME, LEFT = 54, 62  # where the names of rows end; where their cells begin
PAST = 0.4  # opacity of what an earlier step has computed, or what does not count
APART = 17  # between the middles of two lines of text
PROJECTED = (("k", "key", "keys"), ("q", "query", "queries"), ("v", "value", "values"))
Box = tuple[float, float, float, float]  # left, top, width, height
MOST = (3, 4, 2)  # words, components of an input, components of a key or a value


@dataclass(frozen=True)
class Subject:
    """What the film is about: the words, what components mean, which word searches."""

    words: tuple[Wording, ...]
    components: tuple[Wording, ...]
    kinds: tuple[Wording, ...]
    asker: int


class Sheet:
    """Parts of a drawing in one language."""

    def __init__(self, lang: Language) -> None:
        self.lang = lang
        self.cells: list[str] = []
        self.texts: list[str] = []  # above all cells

    def cell(
        self,
        key: str,
        box: Box,
        role: str,
        share: float,
        label: str = "",
        *,
        origin: str = "",
        turn: int = 0,
        opacity: float | None = None,
        at: tuple[float, float] | None = None,
    ) -> None:
        """A cell with its number, which may stand at another place."""
        x, y, width, height = box
        self.cells.append(
            element(
                "rect",
                data_key=key,
                x=x,
                y=y,
                width=width,
                height=height,
                fill=css_colour(f"role-{role}-fill"),
                fill_opacity=find_opacity(min(1.0, abs(share))),
                stroke=css_colour(f"role-{role}"),
                opacity=opacity,
                **_list_moves(origin, turn),
            )
        )
        if label:
            across, down = at or (x + width / 2, y + height / 2)
            moves = _list_moves(" ".join(f"{one}t" for one in origin.split()), turn)
            halo = not (x < across < x + width and height > TEXT)  # it is larger than its cell
            self._add_text(f"{key}t", across, down, label, "middle", INK, opacity, halo, moves)

    def row(
        self,
        key: str,
        place: tuple[float, float],
        size: tuple[float, float],
        role: str,
        values: Sequence[float],
        most: float,
        *,
        spec: str = INTEGER,
        origin: str = "",
        turn: int = 0,
        opacity: float | None = None,
    ) -> None:
        """A vector in cells from left to right; in `origin`, {} is the place of a cell."""
        (x, y), (width, height) = place, size
        for d, one in enumerate(values):
            self.cell(
                f"{key}{d}",
                (x + d * width, y, width, height),
                role,
                one / most,
                format_value(one, spec),
                origin=origin.format(d),
                turn=turn,
                opacity=opacity,
            )

    def line(
        self,
        key: str,
        x: float,
        y: float,
        label: Wording,
        anchor: str = "start",
        *,
        ink: str | None = None,
        bold: bool = False,
        turn: int = 0,
        opacity: float | None = None,
    ) -> None:
        """A line of text around a height."""
        colour = css_colour(f"role-{ink}") if ink else INK
        shown = self.lang.translate_label(label)
        moves = _list_moves("", turn)
        self._add_text(key, x, y, shown, anchor, colour, opacity, False, moves, bold)

    def _add_text(
        self,
        key: str,
        x: float,
        y: float,
        label: str,
        anchor: str,
        colour: str,
        opacity: float | None,
        halo: bool,
        moves: dict[str, str | None],
        bold: bool = False,
    ) -> None:
        self.texts.append(
            element(
                "text",
                escape_label(label),
                data_key=key,
                x=x,
                y=y + 5.3,
                font_size=TEXT,
                text_anchor=anchor,
                font_weight="600" if bold else None,
                fill=colour if colour != INK else None,
                **({"fill_opacity": opacity, **HALO} if halo else {"opacity": opacity}),
                **moves,
            )
        )

    def name_rows(self, words: Sequence[Wording], middles: Sequence[float], asker: int) -> None:
        """The words, the one that searches in bold."""
        for i, (word, y) in enumerate(zip(words, middles, strict=True)):
            self.line(f"w{i}", NAME, y, word, "end", bold=i == asker)


def _list_moves(origin: str, turn: int) -> dict[str, str | None]:
    return {"data_from": origin or None, "data_turn": str(turn) if turn else None}


def _find_most(*matrices: Numbers) -> float:
    return max(abs(one) for matrix in matrices for row in matrix for one in row) or 1.0


def spread(middles: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """Places at least so far from each other, as near as can be to those that are wanted.

    Examples:
        >>> spread([10, 12, 90], 20, 0, 100)
        [10.0, 30.0, 90.0]
        >>> spread([80, 95, 99], 20, 0, 100)
        [60.0, 80.0, 100.0]
    """
    places, least = [], low
    for middle in middles:
        places.append(max(float(middle), least))
        least = places[-1] + apart
    most = high
    for i in reversed(range(len(places))):
        places[i] = min(places[i], float(most))
        most = places[i] - apart
    return places


# --- the scenes


def _show_inputs(sheet: Sheet, s: Subject, inputs: Numbers) -> None:
    across = (WIDTH - 8 - LEFT) / len(s.components)
    middles = [130.0 + 50 * i for i in range(len(inputs))]
    sheet.line("inputs", LEFT, 62, "inputs", ink="input", bold=True)
    for c, name in enumerate(s.components):
        sheet.line(f"n{c}", LEFT + (c + 0.5) * across, 94, name, "middle")
    sheet.name_rows(s.words, middles, s.asker)
    most = _find_most(inputs)
    for i, row in enumerate(inputs):
        sheet.row(f"x{i}", (LEFT, middles[i] - 20), (across, 40), "input", row, most)


def _show_parameters(sheet: Sheet, s: Subject, t: Tensors) -> None:
    row, projected = t.inputs[s.asker], (t.keys, t.queries, t.values)
    wide, high, factors, first = 33.0, 36.0, 66.0, 132.0
    most_x, most_w = _find_most(t.inputs), _find_most(*t.parameters)
    most = _find_most(*projected)
    sheet.line(f"w{s.asker}", factors + 18, 34, s.words[s.asker], "middle", bold=True)
    for c, one in enumerate(row):
        y, pale = 56 + c * high, None if one else PAST
        sheet.line(f"n{c}", factors - 4, y + high / 2, s.components[c], "end", opacity=pale)
        box, label = (factors, y, 36.0, high), format_value(one, INTEGER)
        sheet.cell(f"x{s.asker}{c}", box, "input", one / most_x, label, opacity=pale)
        sheet.line(f"times{c}", factors + 47, y + high / 2, "×", "middle", opacity=pale)
    sums = 56 + len(row) * high + 34
    sheet.line("equals", factors + 47, sums + 18, "=", "middle", turn=1)
    left = first
    for k, (letter, role, _) in enumerate(PROJECTED):
        matrix, result = t.parameters[k], projected[k][s.asker]
        across = wide * len(result)
        title = f"W_{letter.upper()}"
        sheet.line(f"{letter}w", left + across / 2, 34, title, "middle", bold=True)
        for c, weights in enumerate(matrix):
            place, pale = (left, 56.0 + c * high), None if row[c] else PAST
            key, size = f"{letter}w{c}", (wide, high)
            sheet.row(key, place, size, "neutral", weights, most_w, opacity=pale)
        origin = " ".join(f"{letter}w{c}{{0}}" for c, factor in enumerate(row) if factor)
        key, size = f"{letter}{s.asker}", (wide, 36)
        sheet.row(key, (left, sums), size, role, result, most, origin=origin, turn=k + 1)
        sheet.line(f"{letter}n", left + across / 2, sums + 54, role, "middle", ink=role, bold=True)
        left += across + 14


def _show_projections(sheet: Sheet, s: Subject, t: Tensors) -> None:
    middles = [130.0 + 50 * i for i in range(len(t.keys))]
    sheet.name_rows(s.words, middles, s.asker)
    wide, left = 44, float(LEFT)
    projected = (t.keys, t.queries, t.values)
    most = _find_most(*projected)
    for (letter, role, name), matrix in zip(PROJECTED, projected, strict=True):
        across = wide * len(matrix[0])
        sheet.line(f"{letter}n", left + across / 2, 86, name, "middle", ink=role, bold=True)
        for i, row in enumerate(matrix):
            turn = 0 if i == s.asker else 1 + i
            place = left, middles[i] - 20
            sheet.row(f"{letter}{i}", place, (wide, 40), role, row, most, turn=turn)
        left += across + 14


def _keep_values(sheet: Sheet, t: Tensors, middles: Sequence[float], title: float) -> None:
    """The values wait at the right."""
    most, wide = _find_most(t.keys, t.queries, t.values), 26
    left = WIDTH - 6 - wide * len(t.values[0])
    middle = (left + WIDTH - 6) / 2
    sheet.line("vn", middle, title, "values", "middle", ink="value", bold=True, opacity=PAST)
    for j, row in enumerate(t.values):
        place = left, middles[j] - 15
        sheet.row(f"v{j}", place, (wide, 30), "value", row, most, opacity=PAST)


def _show_scores(sheet: Sheet, s: Subject, t: Tensors) -> None:
    query, wide, high = t.queries[s.asker], 32.0, 28.0
    most = _find_most(t.keys, t.queries, t.values)
    middles = [144.0 + 72 * j for j in range(len(t.keys))]
    sheet.name_rows(s.words, middles, s.asker)
    size, asked = (wide, high), f"q{s.asker}"
    sheet.row(asked, (LEFT, 24), size, "query", query, most)
    beside = LEFT + wide * len(query) + 10
    sheet.line("qn", beside, 38, "query", ink="query", bold=True)
    sheet.line("kn", LEFT, 86, "keys", ink="key", bold=True)
    most_s = _find_most(t.scores)
    sheet.line("sn", 268, 86, "scores", "middle", ink="score", bold=True)
    for j, key in enumerate(t.keys):
        turn, place = 2 * j + 1, (LEFT, middles[j] - high)
        origin = f"{asked}{{}}"
        sheet.row(f"over{j}", place, size, "query", query, most, origin=origin, turn=turn)
        sheet.row(f"k{j}", (LEFT, middles[j]), size, "key", key, most)
        product = f"{write_product(query, key)} ="
        middle = (LEFT + wide * len(query) + 246) / 2
        sheet.line(f"product{j}", middle, middles[j], product, "middle", turn=turn)
        one, box = t.scores[s.asker][j], (248.0, middles[j] - 17, 40.0, 34.0)
        label, origin = format_value(one, INTEGER), " ".join(f"k{j}{d}" for d in range(len(key)))
        sheet.cell(f"s{j}", box, "score", one / most_s, label, origin=origin, turn=turn + 1)
    _keep_values(sheet, t, middles, 86)


def _show_softmax(sheet: Sheet, s: Subject, t: Tensors) -> None:
    scores, weights = t.scores[s.asker], t.weights[s.asker]
    powers = [exp(one) for one in scores]
    middles = [62.0 + 46 * j for j in range(len(scores))]
    sheet.name_rows(s.words, middles, s.asker)
    most, longest = _find_most(t.scores), 78
    sheet.line("sn", LEFT + 20, 24, "scores", "middle", ink="score", bold=True)
    sheet.line("pn", 124, 24, make_phrase("steps", "powers"), bold=True)
    for j, one in enumerate(scores):
        box, label = (float(LEFT), middles[j] - 17, 40.0, 34.0), format_value(one, INTEGER)
        sheet.cell(f"s{j}", box, "score", one / most, label)
        length = max(1.5, longest * powers[j] / max(powers))
        sheet.cell(
            f"p{j}", (124, middles[j] - 17, length, 34), "neutral", 0.35, origin=f"s{j}", turn=j + 1
        )
        shown = format_value(powers[j], DECIMALS)
        sheet.line(f"p{j}t", 124 + length + 6, middles[j], shown, turn=j + 1)
    _keep_values(sheet, t, middles, 24)
    total = number(sum(powers), DECIMALS)
    told = make_phrase("steps", "divided_told", total=total)
    last = 1 + len(scores)
    sheet.line("divided", 8, 206, told, turn=last)
    sheet.line("an", WIDTH - 8, 206, "weights", "end", ink="weight", bold=True, turn=last)
    left, whole = 8.0, WIDTH - 16
    spans = [whole * one for one in weights]
    starts = [left + sum(spans[:j]) for j in range(len(spans))]
    places = spread(
        [start + span / 2 for start, span in zip(starts, spans, strict=True)], 64, 40, WIDTH - 40
    )
    for j, (start, span) in enumerate(zip(starts, spans, strict=True)):
        sheet.cell(
            f"a{j}",
            (start, 226, span, 38),
            "weight",
            0.7,
            format_fixed(weights[j], 4),
            origin=f"p{j}",
            turn=last + j,
            at=(places[j], 280),
        )
        sheet.line(f"aw{j}", places[j], 299, s.words[j], "middle", turn=last + j)


def _draw_layers(
    sheet: Sheet, s: Subject, t: Tensors, top: float, whole: float, opacity: float | None = None
) -> None:
    """The weights as one bar that stands, and each value as thick as its weight."""
    weights, weighted = t.weights[s.asker], t.weighted[s.asker]
    most = _find_most(t.keys, t.queries, t.values)
    spans = [whole * one for one in weights]
    starts = [top + sum(spans[:j]) for j in range(len(spans))]
    middles = [start + span / 2 for start, span in zip(starts, spans, strict=True)]
    places = spread(middles, APART, top + 8, top + whole - 8)
    wide, first = 74, 152
    for j, (start, span) in enumerate(zip(starts, spans, strict=True)):
        sheet.line(f"w{j}", NAME, places[j], s.words[j], "end", bold=j == s.asker)
        box, at = (LEFT, start, 74, span), (LEFT + 37.0, places[j])
        label = format_fixed(weights[j], 4)
        sheet.cell(f"a{j}", box, "weight", 0.7, label, at=at, opacity=opacity)
        for c, one in enumerate(t.values[j]):
            x = first + c * wide
            sheet.cell(
                f"v{j}{c}",
                (x, start, wide, span),
                "value",
                one / most,
                format_value(weighted[j][c], DECIMALS),
                at=(x + wide / 2, places[j]),
                opacity=opacity,
            )


def _name_layers(sheet: Sheet, s: Subject, height: float) -> None:
    sheet.line("an", LEFT + 37, height, "weights", "middle", ink="weight", bold=True)
    for c, name in enumerate(s.kinds):
        sheet.line(f"o{c}n", 152 + 74 * (c + 0.5), height, name, "middle")


def _show_weighted_values(sheet: Sheet, s: Subject, t: Tensors) -> None:
    _name_layers(sheet, s, 52)
    sheet.line("vn", 152 + 74, 30, "weighted values", "middle", ink="value", bold=True)
    _draw_layers(sheet, s, t, 68, 230)


def _show_sum(sheet: Sheet, s: Subject, t: Tensors) -> None:
    _name_layers(sheet, s, 24)
    _draw_layers(sheet, s, t, 40, 170, PAST)
    output, most = t.outputs[s.asker], _find_most(t.outputs)
    told = make_phrase("steps", "sum_down")
    sheet.line("sum", 152 + 74, 232, told, "middle", turn=1)
    sheet.line("on", 142, 272, "output", "end", ink="output", bold=True, turn=1)
    sheet.row(
        "o",
        (152, 252),
        (74, 40),
        "output",
        output,
        most,
        spec=DECIMALS,
        origin=" ".join(f"v{j}{{0}}" for j in range(len(t.values))),
        turn=1,
    )


def _show_all(sheet: Sheet, s: Subject, t: Tensors) -> None:
    n, wide, high = len(t.weights), 60.0, 40.0
    middles = [134.0 + 50 * i for i in range(n)]
    sheet.name_rows(s.words, middles, s.asker)
    sheet.line("an", LEFT + wide * n / 2, 62, "weights", "middle", ink="weight", bold=True)
    first, across = LEFT + wide * n + 10, 60.0
    middle = first + across * len(s.kinds) / 2
    sheet.line("on", middle, 62, "outputs", "middle", ink="output", bold=True)
    for j, word in enumerate(s.words):
        sheet.line(f"aw{j}", LEFT + wide * (j + 0.5), 92, word, "middle")
    for c, name in enumerate(s.kinds):
        sheet.line(f"o{c}n", first + across * (c + 0.5), 92, name, "middle")
    most = _find_most(t.outputs)
    for i in range(n):
        asks, top = i == s.asker, middles[i] - high / 2
        turn, key = (0, "") if asks else (1 + i, str(i))
        for j, one in enumerate(t.weights[i]):
            box = LEFT + wide * j, top, wide, high
            sheet.cell(f"a{key}{j}", box, "weight", one, format_fixed(one, 4), turn=turn)
        place, size = (first, top), (across, high)
        outputs = t.outputs[i]
        sheet.row(f"o{key}", place, size, "output", outputs, most, spec=DECIMALS, turn=turn)


SCENES: dict[str, Callable[[Sheet, Subject, Tensors], None]] = {
    "parameters": _show_parameters,
    "projected": _show_projections,
    "scored": _show_scores,
    "softmax": _show_softmax,
    "weighted": _show_weighted_values,
    "summed": _show_sum,
    "repeated": _show_all,
}
"""What each step shows, after the first one; `steps.STEPS` says it."""


@dataclass(frozen=True, repr=False)
class Scene(DrawnFigure):
    """One drawing of the film: `show` draws the `parts`, and `description` says the same.

    No closure: a live page copies it.
    """

    show: Callable[..., None]
    parts: tuple[Any, ...]
    description: Figure

    def draw(self, lang: Language) -> Drawing:
        """Part by part."""
        sheet = Sheet(lang)
        self.show(sheet, *self.parts)
        return Drawing(WIDTH, HEIGHT, "".join(sheet.cells + sheet.texts))

    def describe(self, lang: Language) -> str:
        """What its description says."""
        return self.description.describe(lang)


def film_inputs(
    words: Sequence[Wording], components: Sequence[Wording], inputs: Any, asker: int
) -> Figure:
    """The first drawing of the film: the words and their vectors.

    Args:
        words: at most three.
        components: what each component of a vector means, at most four.
        inputs: (n, d_model), whole numbers.
        asker: the row of the word that searches.

    Raises:
        ValueError: more than there is room for, no such word, another number of names.
    """
    rows = as_lists(inputs)
    subject = _check_subject(words, components, (), asker, rows)
    return Scene(_show_inputs, (subject, rows), tell_inputs(rows, asker))


def film_search(
    words: Sequence[Wording],
    components: Sequence[Wording],
    kinds: Sequence[Wording],
    asker: int,
    *,
    inputs: Any,
    parameters: Sequence[Any],
    keys: Any,
    queries: Any,
    values: Any,
    scores: Any,
    weights: Any,
    weighted: Any,
    outputs: Any,
) -> list[Figure]:
    """The drawings after the first one, steps 2 to 8, for one word.

    Args:
        words: as in `film_inputs`.
        components: as in `film_inputs`.
        asker: as in `film_inputs`.
        kinds: what each component of a value means, at most two.
        inputs: (n, d_model), whole numbers.
        parameters: W_K, W_Q (d_model, d_k) and W_V (d_model, d_v), whole numbers.
        keys: (n, d_k), with d_k at most 2.
        queries: (n, d_k).
        values: (n, d_v).
        scores: (n, n), not divided by √d_k.
        weights: (n, n), softmax of each row of the scores.
        weighted: (n, n, d_v): output, key, component.
        outputs: (n, d_v).

    Raises:
        ValueError: a tensor that does not follow from those before it; what `film_inputs` raises.
    """
    w_key, w_query, w_value = map(as_lists, parameters)
    computed = (keys, queries, values, scores, weights, weighted, outputs)
    tensors = Tensors(as_lists(inputs), (w_key, w_query, w_value), *map(as_lists, computed))
    tensors.check()
    subject = _check_subject(words, components, kinds, asker, tensors.inputs)
    sizes = len(tensors.keys[0]), len(tensors.values[0])
    if max(sizes) > MOST[2] or sizes[1] != len(kinds):
        raise ValueError(
            f"keys and values must have at most {MOST[2]} components, and values the {len(kinds)} "
            f"that have names, got {sizes}"
        )
    return [
        Scene(show, (subject, tensors), STEPS[name](tensors, asker))
        for name, show in SCENES.items()
    ]


def _check_subject(
    words: Sequence[Wording],
    components: Sequence[Wording],
    kinds: Sequence[Wording],
    asker: int,
    inputs: Numbers,
) -> Subject:
    sizes = len(inputs), len(inputs[0])
    if sizes != (len(words), len(components)) or any(
        size > most for size, most in zip(sizes, MOST, strict=False)
    ):
        raise ValueError(
            f"inputs must be at most {MOST[:2]}, with a name for each row and column, got {sizes}"
        )
    if not 0 <= asker < len(words):
        raise ValueError(f"asker must be one of {len(words)} words, got {asker}")
    return Subject(check_labels(words), check_labels(components), check_labels(kinds), asker)
