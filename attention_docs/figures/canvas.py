"""A canvas: matrices that keep their places while a reader goes from one drawing to the next.

A plan gives each matrix a slot that is the same in every drawing. A drawing fills some slots, row
by row; the others show an outline. Each row carries a key (`data-key`), and a row that has just
been computed the keys of what it comes from (`data-from`), so that docs/assets/stepper.js can let
them travel there.

The layout is that of a phone and of paper. In a wide window docs/assets/stepper.css moves some
slots aside, each beside another one: the drawing is wider and lower, and its text stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from attention_docs.figures.figure import Drawing, DrawnFigure, Figure, Language, Wording
from attention_docs.figures.matrix import Matrix, find_opacity
from attention_docs.figures.svg import (
    INK,
    LABEL,
    TEXT,
    css_colour,
    element,
    group,
    measure_text,
    measure_widest,
    outline,
    path,
    rectangle,
    set_type,
    svg_document,
    write,
)

ROW, TITLE, UNDER = 26, 20, 22  # height of a row of cells, of a name, of a line of text
EDGE, GAP, BETWEEN = 8, 12, 8  # around the drawing; between slots; between bands
NAMES = 30  # width of the names of rows
PAST = 0.5  # opacity of what an earlier step has computed
WIDE = 664  # just less than the column of a window of 1280 px, as in stepper.css


@dataclass(frozen=True)
class Slot:
    """The place of a matrix.

    Attributes:
        name: stands above it while it is empty.
        role: the colour of its outline.
        size: rows and columns.
        cell: width of a cell.
        band: from top to bottom; of two slots in one place, one is filled at a time.
        column: in its band, from left to right.
        grid: bands of one grid have common columns.
    """

    name: Wording
    role: str
    size: tuple[int, int]
    cell: float
    band: int
    column: int
    grid: int

    @property
    def width(self) -> float:
        """Of its cells."""
        return self.size[1] * self.cell

    @property
    def height(self) -> float:
        """Of its cells."""
        return float(self.size[0] * ROW)


@dataclass(frozen=True)
class Block:
    """What a drawing shows in a slot.

    Attributes:
        key: of its rows, with their number: "k" for k1, k2, …
        matrix: its numbers; the names of its rows stand beside them.
        lit: the rows that this drawing is about.
        past: rows that stay from an earlier step.
        marked: rows to outline.
        turns: of each lit row, when it appears after the reader has moved; empty: at once.
        routes: of each lit row, the keys that it comes from, and "a>b" for one that passes another.
    """

    key: str
    matrix: Matrix
    lit: Sequence[int] = ()
    past: Sequence[int] = ()
    marked: Sequence[int] = ()
    turns: Sequence[int] = ()
    routes: Sequence[str] = ()


@dataclass(frozen=True)
class Line:
    """A line of text beside a row of a slot, or below the slot where no row is given."""

    slot: str
    row: int | None
    label: Wording
    turn: int = 0
    before: bool = False  # left of the slot, and not right of it


class Layout(NamedTuple):
    """The upper left corner of the cells of every slot; width and height of the canvas."""

    corners: dict[str, tuple[float, float]]
    width: float
    height: float


class Wide(NamedTuple):
    """How far each slot moves aside in a wide window; width and height of the canvas there."""

    moves: dict[str, tuple[float, float]]
    width: float
    height: float


class Plan:
    """The places of all slots.

    `asides` names the slots that stand beside another one where a window is wide, below each other
    in one column, with room for a line of text between them.
    """

    def __init__(self, slots: Mapping[str, Slot], asides: Mapping[str, str] | None = None) -> None:
        self.slots = slots
        self.asides = asides or {}
        self.layouts: dict[str, Layout] = {}

    def place(self, lang: Language) -> Layout:
        """The layout in a language, made once."""
        if lang.name not in self.layouts:
            self.layouts[lang.name] = self._place(lang)
        return self.layouts[lang.name]

    def _place(self, lang: Language) -> Layout:
        widths: dict[tuple[int, int], float] = {}
        for slot in self.slots.values():
            where = slot.grid, slot.column
            wide = max(slot.width, measure_text(lang.translate_label(slot.name)))
            widths[where] = max(widths.get(where, 0.0), wide)
        corners, top = {}, float(EDGE)
        for band in range(1 + max(slot.band for slot in self.slots.values())):
            here = {key: slot for key, slot in self.slots.items() if slot.band == band}
            for key, slot in here.items():
                before = [widths.get((slot.grid, column), 0.0) for column in range(slot.column)]
                left = EDGE + NAMES + sum(before) + GAP * len(before)
                spare = widths[slot.grid, slot.column] - slot.width
                corners[key] = (left + spare / 2, top + TITLE)
            top += TITLE + max(slot.height for slot in here.values()) + BETWEEN
            top += UNDER * any(slot.grid for slot in here.values())
        right = max(
            EDGE + NAMES + sum(found) + GAP * (len(found) - 1)
            for grid in {slot.grid for slot in self.slots.values()}
            for found in [[wide for (one, _), wide in widths.items() if one == grid]]
        )
        return Layout(corners, right + EDGE, top)

    def widen(self, lang: Language) -> Wide | None:
        """Where slots stand in a wide window, or nothing where they do not fit into it."""
        if not self.asides:
            return None
        corners, _, _ = self.place(lang)
        stay = {key: slot for key, slot in self.slots.items() if key not in self.asides}
        left = NAMES + max(corners[one][0] + self.slots[one].width for one in self.asides.values())
        aside = [self.slots[key] for key in self.asides]
        names = [lang.translate_label(slot.name) for slot in aside]
        column = max(measure_widest(names), *(slot.width for slot in aside))
        tops = sorted({corners[one][1] for one in self.asides.values()})
        moves = {}
        for key, beside in self.asides.items():
            (x, y), top = corners[key], corners[beside][1]
            spare = (column - self.slots[key].width) / 2
            moves[key] = left + spare - x, top + UNDER * tops.index(top) - y
        bottoms = [corners[key][1] + slot.height for key, slot in stay.items()]
        bottoms += [corners[key][1] + moves[key][1] + self.slots[key].height for key in moves]
        wide = left + column + EDGE
        return Wide(moves, wide, max(bottoms) + UNDER + BETWEEN) if wide <= WIDE else None


@dataclass(frozen=True, repr=False)
class Canvas(DrawnFigure):
    """One drawing on a canvas; `description` is a figure that says the same."""

    plan: Plan
    blocks: Mapping[str, Block]
    lines: Sequence[Line]
    description: Figure

    def render(self, lang: Language) -> str:
        """The drawing, and its size in a wide window."""
        drawing, wide = self.draw(lang), self.plan.widen(lang)
        shown = svg_document(*drawing, self.describe(lang), "xMinYMin slice" if wide else None)
        if not wide:
            return shown
        ratio = f"--ratio:{drawing.width / drawing.height:.4f}"
        sizes = f"{ratio};--more:{wide.width - drawing.width:.0f}px;--tall:{wide.height:.0f}px"
        return f'<div class="canvas" style="{sizes}">{shown}</div>'

    def draw(self, lang: Language) -> Drawing:
        """Empty slots, then what fills the others."""
        corners, width, height = self.plan.place(lang)
        parts = self._draw_ghosts(lang, corners)
        for key, block in self.blocks.items():
            parts.append((key, _draw_block(lang, self.plan.slots[key], block, *corners[key])))
        parts += [
            (line.slot, self._draw_line(lang, line, *corners[line.slot])) for line in self.lines
        ]
        return Drawing(width, height, self._move_aside(lang, parts))

    def _move_aside(self, lang: Language, parts: list[tuple[str, str]]) -> str:
        """What is drawn, in the order of the slots; in groups what a wide window moves."""
        wide = self.plan.widen(lang)
        moves = wide.moves if wide else {}
        body = []
        for key in self.plan.slots:
            part = "".join(drawn for slot, drawn in parts if slot == key)
            if part and key in moves:
                x, y = moves[key]
                part = group(part, class_="aside", style=f"--x:{x:.2f}px;--y:{y:.2f}px")
            body.append(part)
        return "".join(body)

    def _draw_ghosts(
        self, lang: Language, corners: Mapping[str, tuple[float, float]]
    ) -> list[tuple[str, str]]:
        """The outlines of empty slots, and their names."""
        slots = self.plan.slots
        filled = {(slots[key].band, slots[key].column) for key in self.blocks}
        for slot in [
            slots[one.slot] for one in self.lines if one.row is not None and not one.before
        ]:
            # Text right of a slot takes the places behind it.
            filled |= {(slot.band, column) for column in range(slot.column + 1, len(slots))}
        empty = []
        for key, slot in slots.items():
            if (slot.band, slot.column) not in filled:
                filled.add((slot.band, slot.column))
                empty.append((key, _draw_ghost(lang, slot, *corners[key])))
        return empty

    def _draw_line(self, lang: Language, line: Line, x: float, y: float) -> str:
        slot, label = self.plan.slots[line.slot], lang.translate_label(line.label)
        if line.row is None:
            x, y, anchor = x, y + slot.height + 20, "start"
        else:
            y += (line.row + 0.5) * ROW + 5.3
            x, anchor = (x - 6, "end") if line.before else (x + slot.width + GAP, "start")
        written = set_type(write(x, y, label), anchor, TEXT)
        return _take_turn(written, line.turn) if line.turn else written

    def list_matrices(self) -> list[Matrix]:
        """Those of its blocks."""
        return [block.matrix for block in self.blocks.values()]

    def rescale(self, scales: Mapping[str, tuple[float, float]]) -> Canvas:
        """Its blocks on other scales."""
        blocks = {
            key: replace(block, matrix=block.matrix.rescale(scales))
            for key, block in self.blocks.items()
        }
        return replace(self, blocks=blocks)

    def describe(self, lang: Language) -> str:
        """What its description says."""
        return self.description.describe(lang)


def _draw_ghost(lang: Language, slot: Slot, x: float, y: float) -> str:
    """The outline of an empty slot, and its name."""
    frame = rectangle(x, y, slot.width, slot.height)
    edges = path(frame, fill="none", stroke=INK, stroke_width=0.75, stroke_dasharray="2 4")
    name = write(x + slot.width / 2, y - 6, lang.translate_label(slot.name))
    return group(edges + set_type(name, "middle", LABEL), opacity=0.55)


def _draw_block(lang: Language, slot: Slot, block: Block, x: float, y: float) -> str:
    """A name, the rows that are filled, the frame and the outlined rows."""
    matrix, (n, m) = block.matrix, slot.size
    colour = css_colour(f"role-{slot.role}")
    name = write(x + slot.width / 2, y - 6, lang.translate_label(matrix.name))
    rows = [
        _draw_row(lang, slot, block, i, x, y + i * ROW)
        for i in range(n)
        if i in block.lit or i in block.past
    ]
    inner = [outline("M", x + j * slot.cell, y, "v", slot.height) for j in range(1, m)]
    inner += [outline("M", x, y + i * ROW, "h", slot.width) for i in range(1, n)]
    edges = path("".join(inner), stroke_width=0.5)
    edges += path(rectangle(x, y, slot.width, slot.height), stroke_width=2)
    marks = "".join(
        element(
            "rect",
            x=x,
            y=y + i * ROW,
            width=slot.width,
            height=ROW,
            rx=3,
            stroke=INK,
            stroke_width=3,
            data_key=f"{block.key}-mark{number}",
        )
        for number, i in enumerate(block.marked)
    )
    faded = None if block.lit else PAST
    return (
        "".join(rows)
        + group(edges + marks, fill="none", stroke=colour, opacity=faded)
        + element(
            "g", name, font_size=LABEL, text_anchor="middle", font_weight="600", opacity=faded
        )
    )


def _draw_row(lang: Language, slot: Slot, block: Block, i: int, x: float, y: float) -> str:
    """A row with its name: shades and numbers."""
    matrix = block.matrix
    cells: dict[float, str] = {}
    for j in range(slot.size[1]):
        shade = matrix.find_shade(i, j)
        cells[shade] = cells.get(shade, "") + rectangle(x + j * slot.cell, y, slot.cell, ROW)
    shades = "".join(
        path(d, fill_opacity=find_opacity(abs(shade)), fill=_choose_fill(slot.role, shade))
        for shade, d in sorted(cells.items())
        if shade or not matrix.signed
    )
    numbers = "".join(
        write(x + (j + 0.5) * slot.cell, y + ROW / 2 + 5.3, one)
        for j, one in enumerate(matrix.texts[i])
    )
    label = lang.translate_label(matrix.rows[i]) if matrix.rows else ""
    named = set_type(write(x - 6, y + ROW / 2 + 5, label), "end", LABEL)
    body = named + shades + set_type(numbers, "middle", TEXT)
    key = f"{block.key}{i + 1}"
    if i in block.past:
        return element("g", body, data_key=key, opacity=PAST, class_="past")
    place = list(block.lit).index(i)
    turn = block.turns[place] if block.turns else 0
    return _take_turn(body, turn, key, (block.routes[place] if block.routes else None) or None)


def _choose_fill(role: str, shade: float) -> str:
    return css_colour(f"role-{'neutral' if shade < 0 else role}-fill")


def _take_turn(body: str, turn: int, key: str | None = None, route: str | None = None) -> str:
    """A group that appears at its turn, once the reader has moved."""
    style = f"--turn:{turn}" if turn else None
    return element(
        "g", body, data_key=key, data_from=route, class_="turn" if turn else None, style=style
    )
