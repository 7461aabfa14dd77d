"""The lines, bars and markers of a chart: drawn by matplotlib, made small and id-free for a page.

Matplotlib draws with one stand-in colour for each CSS colour; here its SVG is reduced to bare paths
in the site's colours. It draws no text: the labels of a chart differ from language to language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from itertools import cycle
from typing import Any
from xml.etree import ElementTree

from attention_docs.figures.parts import COLOURS, colour

KEPT = (
    "opacity",
    "fill",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "stroke-opacity",
)
SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"


def stand_in(name: str) -> str:
    """The colour that matplotlib is given in place of a CSS colour."""
    return f"#fe01{list(COLOURS).index(name):02x}"


BY_STAND_IN = {stand_in(name): colour(name) for name in COLOURS} | {
    stand_in("figure-ink"): "currentColor"
}


class Canvas:
    """A matplotlib figure that is measured in SVG units, from the upper left corner."""

    def __init__(self, width: float, height: float) -> None:
        from matplotlib.figure import Figure

        self.size = width, height
        self.figure = Figure(figsize=(width / 72, height / 72), dpi=72)
        self.figure.patch.set_visible(False)

    def axes(self, left: float, top: float, width: float, height: float) -> Any:
        """Axes at a place, with a baseline and nothing else."""
        total, tall = self.size
        place = (left / total, 1 - (top + height) / tall, width / total, height / tall)
        axes = self.figure.add_axes(place)
        axes.patch.set_visible(False)
        axes.tick_params(which="both", left=False, bottom=False, labelleft=False, labelbottom=False)
        for side, spine in axes.spines.items():
            spine.set_visible(side == "bottom")
            spine.set_color(stand_in("figure-ink"))
        return axes

    def line(self, xs: list[float], ys: list[float], **style: Any) -> None:
        """A line in SVG units, outside any axes: for legends and ticks."""
        from matplotlib.lines import Line2D

        flipped = [self.size[1] - y for y in ys]
        self.figure.add_artist(Line2D(xs, flipped, transform=None, **style))

    def rule(self, xs: list[float], ys: list[float]) -> None:
        """A line to read values by."""
        self.line(xs, ys, color=stand_in("role-neutral"), linewidth=0.5, zorder=-1)

    def tick(self, x: float, y: float) -> None:
        """A tick below a horizontal axis."""
        self.line([x, x], [y, y + 5], color=stand_in("figure-ink"), linewidth=1)

    def rectangle(self, x: float, y: float, width: float, height: float, **style: Any) -> None:
        """A rectangle in SVG units, outside any axes: for legends."""
        from matplotlib.patches import Rectangle

        corner = (x, self.size[1] - y - height)
        self.figure.add_artist(Rectangle(corner, width, height, transform=None, **style))

    def place(self, axes: Any, x: float, y: float) -> tuple[float, float]:
        """Where a point of the data lies, in SVG units."""
        right, up = axes.transData.transform((x, y))
        return float(right), float(self.size[1] - up)

    def body(self) -> str:
        """What was drawn, as paths."""
        buffer = StringIO()
        self.figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        root = ElementTree.fromstring(buffer.getvalue())
        shapes = {one.get("id"): one for one in root.iterfind(f".//{SVG}defs/{SVG}path")}
        defined = set(shapes.values())
        paths: list[tuple[str, str]] = []  # attributes and outline
        for one in root.iter():
            if one.tag == f"{SVG}path" and one not in defined:
                paths.append((_attributes(one), _outline(one)))
            elif one.tag == f"{SVG}use":
                shape = shapes[one.get(f"{XLINK}href", "")[1:]]
                shift = float(one.get("x", 0)), float(one.get("y", 0))
                paths.append((_attributes(shape, one), _outline(shape, *shift)))
        return "".join(f'<path {attributes} d="{d}"/>' for attributes, d in _merged(paths))


@contextmanager
def canvas(width: float, height: float) -> Iterator[Canvas]:
    """A canvas under matplotlib's own defaults, whatever the reader's machine has set."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "attention-docs"})
        yield Canvas(width, height)


def _attributes(*elements: ElementTree.Element) -> str:
    """The styles that show, later elements over earlier ones, as SVG attributes."""
    found: dict[str, str] = {"fill": "none"}
    for element in elements:
        for pair in element.get("style", "").split(";"):
            name, _, value = pair.partition(":")
            found[name.strip()] = BY_STAND_IN.get(value.strip(), value.strip())
    return " ".join(f'{name}="{found[name]}"' for name in KEPT if name in found)


def _outline(element: ElementTree.Element, right: float = 0, down: float = 0) -> str:
    """The path, shifted and rounded to 1/100; matplotlib writes absolute points only."""
    shifts = cycle((right, down))
    parts = []
    for token in re.findall(r"[A-Za-z]|[-+.\de]+", element.get("d", "")):
        if token in "MLQCz":
            parts.append(token)
        else:
            parts.append(f"{round(float(token) + next(shifts), 2) + 0.0:.6g}")
    return re.sub(r" ?([A-Za-z]) ?", r"\1", " ".join(parts))


def _merged(paths: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Neighbours of one style, such as the markers of a line, as one path."""
    last, outlines = "", ""
    for attributes, outline in paths:
        # Shapes that are half transparent would show where they overlap: they stay apart.
        if attributes == last and "opacity" not in attributes:
            outlines += outline
            continue
        if outlines:
            yield last, outlines
        last, outlines = attributes, outline
    if outlines:
        yield last, outlines
