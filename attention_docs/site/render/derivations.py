"""Displayed formulas as a reader follows them: a derivation line by line, each with its reason.

TeX aligns the lines and the reasons of a derivation as columns of one table, and a table is cut
where it is wider than its page. Here every line is an element with its reason, so that the reason
can stand below its line, and a long line can go on in the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from attention_docs.site.render.mathml import split_parts, split_statements

OPENING, CLOSING = ("(", "（"), (")", "）")  # around a reason in TeX; on a page its type marks it
TAIL = re.compile(r"[.,;:!?)\]’”，。：；、！？）》」』]+")  # begins no line after a formula
SMALL = 0.7  # size of a script
BESIDE = 27.0  # em: a longer line leaves no room for a reason beside it


def lay_out_formula(rendered: str) -> str:
    """A displayed formula that may go on in the next line, or lines below each other.

    `rendered` is a <math> element; one with nothing to break at stays as it is.
    """
    root = ElementTree.fromstring(rendered)
    rows = _find_rows(root)
    if rows is None:
        statements = _split(list(root))
        if len(statements) == len(statements[0]) == 1:
            return rendered
        box = Element("div", {"class": "breakable", "data-tex": root.attrib["data-tex"]})
        _add_statements(box, statements)
        return _write(box)
    widest = max(_measure(left) for left, *_ in rows) + max(_measure(row[1]) for row in rows)
    beside = any(reason for _, _, reason, _ in rows) and widest <= BESIDE
    kind = "lines" if beside else "lines stacked"
    box = Element("div", {"class": kind, "data-tex": root.attrib["data-tex"]})
    for left, line, reason, gap in rows:
        step = SubElement(box, "div", {"class": "step"} | ({"style": gap} if gap else {}))
        _add_math(SubElement(step, "span", {"class": "left"}), left)
        right = SubElement(step, "span", {"class": "right"})
        _add_statements(right, _split(line))
        if not len(right):
            right.text = right.text or " "  # an empty element would be no HTML
        if reason:
            _add_reason(SubElement(step, "span", {"class": "reason"}), reason)
    return _write(box)


Row = tuple[list[Element], list[Element], list[Element], str]
"""What stands left of the sign, the sign and what follows it, the reason, the space below."""


def add_proof_lines(laid_out: str, proof: Sequence[str]) -> str:
    """A formula with what a proof assistant reads for each of its lines, below the line."""
    codes = [f'<code class="coq" lang="en">{escape(line)}</code>' for line in proof]
    parts = re.split(r'(?=<div class="step")', laid_out)
    steps = parts[1:] if len(parts) > 1 else parts
    if not laid_out or len(steps) != len(codes):
        message = f"the formula above has {len(steps)} lines, its proof has {len(codes)}"
        raise ValueError(message)
    if len(parts) == 1:
        return laid_out + codes[0]
    last = len("</div>")
    ends = [last] * (len(steps) - 1) + [2 * last]  # after the last one the formula ends, too
    completed = [
        one[:-end] + code + one[-end:] for one, code, end in zip(steps, codes, ends, strict=True)
    ]
    return parts[0] + "".join(completed)


def _find_rows(root: Element) -> list[Row] | None:
    """The rows of a derivation, or of other lines that are aligned; None for one formula."""
    if len(root) != 1 or root[0].get("class") != "aligned":
        return None
    rows: list[Row] = []
    for row in root[0]:
        cells = [list(cell) for cell in row]
        reason = cells.pop() if len(cells) > 3 and _is_reason(cells[-1]) else []
        left, *rest = cells
        line: list[Element] = []
        for place, cell in enumerate(rest):
            if cell and line and place % 2:  # another line beside this one
                line.append(Element("mspace", width="2em"))
            line += cell
        rows.append((left, line, reason, row.get("style", "")))
    return rows


def _is_reason(cell: Sequence[Element]) -> bool:
    first = cell[0] if cell else None
    return first is not None and first.tag == "mtext" and (first.text or "").startswith(OPENING)


def _split(formula: Sequence[Element]) -> list[list[list[Element]]]:
    """The statements of a formula, each in parts that may begin a line."""
    return [split_parts(one, before=True) for one in split_statements(formula)]


def _add_statements(parent: Element, statements: Sequence[list[list[Element]]]) -> None:
    """Statements beside each other: a line breaks between two of them before it breaks one."""
    for number, parts in enumerate(statements):
        if number:
            SubElement(parent, "span", {"class": "quad"}).text = " "
        alone = len(statements) == 1
        _add_parts(parent if alone else SubElement(parent, "span", {"class": "statement"}), parts)


def _add_parts(parent: Element, parts: Sequence[list[Element]]) -> None:
    """Formulas one after another, which may stand in several lines."""
    for number, part in enumerate(parts):
        if number:
            SubElement(parent, "wbr")
        _add_math(parent, part)


def _add_math(parent: Element, children: Iterable[Element]) -> None:
    if inside := list(children):
        SubElement(parent, "math").extend(inside)  # large, by math.css


def _add_reason(parent: Element, cell: list[Element]) -> None:
    """A reason as text, with the formulas in it, without the brackets around it."""
    first, last = cell[0], cell[-1]
    while len(last):  # \\textstyle holds all that follows
        last = last[-1]
    first.text = (first.text or "")[1:]
    if last.tag == "mtext" and (last.text or "").endswith(CLOSING):
        last.text = (last.text or "")[:-1]
    formula: list[Element] = []
    for one in [*cell, Element("mtext")]:
        if one.tag != "mtext":
            formula.append(one)
            continue
        text = (one.text or "").replace("\u00a0", " ")  # a reason has lines
        if formula:
            tail = TAIL.match(text)
            text = text[tail.end() if tail else 0 :]
            _add_held_formula(parent, formula, tail[0] if tail else "")
            formula = []
        if len(parent):
            parent[-1].tail = (parent[-1].tail or "") + text
        else:
            parent.text = (parent.text or "") + text


def _add_held_formula(parent: Element, formula: list[Element], tail: str) -> None:
    """A formula in a reason, and the punctuation that follows it."""
    *parts, last = split_parts(formula, before=True)
    _add_parts(parent, parts)
    if parts:
        SubElement(parent, "wbr")
    held = SubElement(parent, "span", {"class": "held"})
    SubElement(held, "math").extend(last)
    held[-1].tail = tail


def _measure(elements: Iterable[Element]) -> float:
    """About how many em a formula is wide."""
    return sum(map(_measure_element, elements))


def _measure_element(one: Element) -> float:
    if one.tag in {"mi", "mn", "mtext"}:
        return 0.5 * len(one.text or "")
    if one.tag == "mo":
        return 0.4 if one.get("stretchy") == "false" else 0.9
    if one.tag == "mspace":
        return float(one.get("width", "0em").removesuffix("em"))
    if one.tag == "mtable":
        rows = [[_measure(cell) for cell in row] for row in one]
        return sum((1 + max(column) for column in zip(*rows, strict=True)), 0.0)
    inside: list[float] = [_measure_element(child) for child in one]
    if one.tag == "mfrac":
        return max(inside) + 0.2
    if one.tag in {"msub", "msup", "mover", "munder"}:
        return inside[0] + SMALL * inside[1]
    if one.tag in {"msubsup", "munderover"}:
        return inside[0] + SMALL * max(inside[1:])
    return sum(inside) + (one.tag == "msqrt")


def _write(box: Element) -> str:
    text = ElementTree.tostring(box, encoding="unicode")
    return text.replace("<wbr />", "<wbr>").replace('"left" />', '"left"></span>')
