"""What the tests read out of a drawing."""

from __future__ import annotations

import re
from typing import Any

from lxml import etree

from attention_docs.figures import Figure
from attention_docs.figures.figure import Language
from attention_docs.figures.svg import measure_text

Point = tuple[float, float]
NUMBERS = {"M": 2, "m": 2, "L": 2, "l": 2, "H": 1, "h": 1, "V": 1, "v": 1, "C": 6, "a": 7}


def parse_drawing(figure: Figure, lang: str | Language) -> Any:
    """The elements of a figure that is one drawing."""
    return etree.fromstring(figure.svg(lang))


def find_texts(figure: Figure, lang: str | Language) -> list[str]:
    """The text elements of a drawing."""
    return ["".join(one.itertext()) for one in parse_drawing(figure, lang).iterfind(".//{*}text")]


def assert_text_fits(root: Any, smallest: float) -> None:
    """Every text lies inside the drawing and has at least a size."""
    width, height = (float(n) for n in root.get("viewBox").split()[2:])
    found = root.findall(".//{*}text")
    assert found
    for one in found:
        x, y, size = (float(inherit(one, name)) for name in ("x", "y", "font-size"))
        long = measure_text("".join(one.itertext()), size)
        left = x - {"start": 0, "middle": long / 2, "end": long}[inherit(one, "text-anchor")]
        assert left >= -1
        assert left + long <= width + 1
        assert size <= y <= height
        assert size >= smallest


def inherit(element: Any, name: str) -> str:
    """An attribute of an element, or of the nearest group around it that has it."""
    found = [one.get(name) for one in (element, *element.iterancestors()) if one.get(name)]
    assert found, name
    return str(found[0])


def parse_subpaths(d: str) -> list[list[Point]]:
    """The points of every part of an outline, in units of the drawing."""
    found: list[list[Point]] = []
    x = y = 0.0
    for command, arguments in re.findall(r"([A-Za-z])([^A-Za-z]*)", d):
        numbers = [float(number) for number in re.findall(r"-?\d*\.?\d+", arguments)]
        assert command == "z" or len(numbers) == NUMBERS[command], (command, arguments)
        shift = (x, y) if command.islower() else (0.0, 0.0)
        if command in "Hh":
            x = shift[0] + numbers[0]
        elif command in "Vv":
            y = shift[1] + numbers[0]
        elif command != "z":
            x, y = shift[0] + numbers[-2], shift[1] + numbers[-1]
        if command == "M" or (command == "m" and len(found[-1]) > 1):
            found.append([])
        elif command == "m":  # right after M: the part starts here
            found[-1].clear()
        if command == "z":
            x, y = found[-1][0]
        else:
            found[-1].append((x, y))
    return found


def find_middle(points: list[Point]) -> Point:
    """The middle of the box around some points."""
    xs, ys = zip(*points, strict=True)
    return (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2
