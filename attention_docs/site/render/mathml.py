"""Temml's MathML as a page wants it: few elements, no style sheet of its own, TeX's spaces.

What stands in MathML Core (https://www.w3.org/TR/mathml-core/) browsers draw themselves. Temml
serves older ones too, with classes and styles that are not needed here, and leaves to the browser
what TeX does otherwise: no space around operators in scripts, a script at a bracket no higher than
at a letter, a thin space around the name of a function.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from attention_docs.site.render.intents import add_intents

ROWS = {"math", "mrow", "mtd", "msqrt", "mstyle"}  # their children stand side by side
FRACTIONS = {"mfrac": 2, "mroot": 2}
ATTACHED = {"mover": 2, "msub": 2, "msubsup": 3, "msup": 2, "munder": 2, "munderover": 3}
PARTS = FRACTIONS | ATTACHED
CORE = ROWS | {*PARTS} | {"mi", "mn", "mo", "mspace", "mtable", "mtext", "mtr"}
ALLOWED_ATTRIBUTES = {
    "math": {"display"},
    "mi": {"class", "mathvariant"},
    "mo": {"class", "form", "lspace", "movablelimits", "rspace", "stretchy"},
    "mover": {"accent"},
    "mrow": {"style"},
    "mspace": {"depth", "height", "width"},
    "mstyle": {"displaystyle", "scriptlevel"},
    "mtable": {"class", "displaystyle"},
    "mtr": {"style"},
    "munder": {"accentunder"},
}
APPLIED = "\u2061"  # after a function's name; Firefox sets a space there even before a bracket
LARGE = {*"∑∏∫⋃⋂⨁⨂"}
DOTS = {*"…⋯"}
TIMES = {*"⋅×⊙"}
SIGNS = {*"−+±"}
OPENING = {*"([{⌊⌈⟨"}
BREAKS = {*"=≠≈≤≥<>∈→←⇒+−"}
QUAD = 1.0  # em: a space as wide parts two statements
PART, LONG = 4, 16  # characters: of what a line may end with, of a formula that may be broken
SIZES = {"1.2em": "big", "1.8em": "Big", "2.4em": "bigg", "3em": "Bigg"}
# How far a letter leans over what stands to the right of it, in steps of 0.07 em.
LEANING = {1: "CEHIKSXZfζνχΞΠ", 2: "FJMNPTUWτΓΥΨ", 3: "VY"}
LEANS = {letter: step for step, letters in LEANING.items() for letter in letters}
THIN, MEDIUM = 0.1667, 0.2222  # em
OWN_SPACE = "0.1667em"  # one that Temml sets by itself; what `\,` stands for is in formulas.py
ACCENTS = {"~": "\u02dc", "‾": "\u00af"}  # Temml takes signs that are as wide as a letter
# Symbols of one role: letters with an index, and matrices. Letters alone, or as scripts, have
# other meanings too.
INDEXED = {"x": "input", "q": "query", "k": "key", "v": "value", "s": "score", "a": "weight"}
INDEXED |= {"o": "output"}
MATRICES = {"Q": "query", "K": "key", "V": "value"}
LENGTH = re.compile(r"(-?[\d.]+)(pt|em)")


def adapt_mathml(rendered: str, tex: str, gaps: Iterable[list[float | None]]) -> str:
    """What Temml rendered from `tex`, for a page.

    `gaps` has, for each table, the space that TeX asks for below its rows, in points: Temml forgets
    it. Raises ValueError for what MathML Core cannot say.
    """
    root = ElementTree.fromstring(rendered)
    for element in root.iter():
        if element.tag not in CORE or len(element) != PARTS.get(element.tag, len(element)):
            raise ValueError(f"<{element.tag}> of {len(element)} parts is not in MathML Core")
    for table, below in zip(root.iter("mtable"), gaps, strict=True):
        _simplify_table(table, below)
    _adapt_element(root, in_script=False)
    for element in root.iter():
        if element.tag in ROWS:
            element[:] = _add_spaces([*element])
    _add_role_classes(root)
    add_intents(root)
    root.set("data-tex", tex)
    return ElementTree.tostring(root, encoding="unicode")


def number_values(rendered: str, other: str, numbers: dict[str, int]) -> str:
    """Number the inline values of a formula, by `other`, the same formula with stand-ins."""
    root, twin = ElementTree.fromstring(rendered), ElementTree.fromstring(other)
    pairs = list(zip(root.iter(), twin.iter(), strict=False))
    if any(one.tag != same.tag for one, same in pairs):
        return rendered
    for element, same in pairs:
        if element.tag == "mn" and (same.text or "") in numbers:
            element.set("data-value", str(numbers[same.text or ""]))
    return ElementTree.tostring(root, encoding="unicode")


def _add_role_classes(element: Element) -> None:
    """Classes for the roles of symbols; `attention_docs.colours` gives each its colour."""
    known = MATRICES | INDEXED if element.tag in {"msub", "msubsup"} else MATRICES
    for child in element[:1] if element.tag in ATTACHED else element:
        role = known.get(child.text or "") if child.tag == "mi" else None
        if role and "mathvariant" not in child.attrib:
            child.set("class", f"{child.get('class', '')} of-{role}".strip())
        _add_role_classes(child)


def make_breakable(rendered: str, tail: str = "") -> str:
    """A formula of a sentence, which may go on in the next line after `=` or `+`, as in TeX.

    A browser breaks no formula: a long one becomes several, in a box that keeps the TeX. `tail` is
    the punctuation that follows: it does not begin a line.
    """
    root = ElementTree.fromstring(rendered)
    parts = split_parts(list(root))
    if len(parts) == 1:
        return f'<span class="held">{rendered}{tail}</span>' if tail else rendered
    box = Element("span", {"data-tex": root.attrib["data-tex"]})
    for number, part in enumerate(parts):
        if number:
            ElementTree.SubElement(box, "wbr")
        ElementTree.SubElement(box, "math").extend(part)
    if tail:
        box.set("data-tail", tail)
        held = Element("span", {"class": "held"})
        held.append(box[-1])
        box[-1].tail = tail
        box[-1:] = [held]
    return ElementTree.tostring(box, encoding="unicode").replace("<wbr />", "<wbr>")


def split_parts(children: Sequence[Element], *, before: bool = False) -> list[list[Element]]:
    """A formula in parts, each of which may begin a line; one part where it is short.

    A line ends with the sign of a relation or a sum, as in a sentence, or begins with it, as in a
    displayed formula.
    """
    parts: list[list[Element]] = [[]]
    depth = 0
    for child in children:
        core = _find_core(child)
        bracket = core.tag == "mo" and core.text not in SIGNS
        depth += bracket * ((_get_form(core) == "prefix") - (_get_form(core) == "postfix"))
        breaks = depth == 0 and child.tag == "mo" and child.text in BREAKS and not _get_form(child)
        if before and breaks and _count_characters(parts[-1]) >= PART:
            parts.append([])
        parts[-1].append(child)
        if not before and breaks and _count_characters(parts[-1]) >= PART:
            parts.append([])
    if len(parts) > 1 and _count_characters(parts[-1]) < PART:
        last = parts.pop()
        parts[-1] += last
    if len(parts) == 1 or _count_characters(children) < LONG:
        return [list(children)]
    for part, following in pairwise(parts):  # though nothing stands on its other side
        (following[0] if before else part[-1]).set("form", "infix")
    return parts


def split_statements(children: Sequence[Element]) -> list[list[Element]]:
    """A formula at its wide spaces, which part one statement from the next; these are dropped."""
    found: list[list[Element]] = [[]]
    depth = 0
    for child in children:
        core = _find_core(child)
        if core.tag == "mo":
            depth += (_get_form(core) == "prefix") - (_get_form(core) == "postfix")
        if depth == 0 and _is_space(child) and _parse_em(child.get("width", "0em")) >= QUAD:
            found.append([])
        else:
            found[-1].append(child)
    return [part for part in found if part]


def _count_characters(elements: Iterable[Element]) -> int:
    return sum(len(text) for element in elements for text in element.itertext())


def _simplify_table(table: Element, gaps: list[float | None]) -> None:
    """Say for a table and its rows what Temml says for each cell."""
    cells = {cell.get("class") for cell in table.iter("mtd")}
    if table.get("class") == "tml-jot":
        table.set("class", "aligned")
    elif cells == {"tml-left"}:
        table.set("class", "cases")
    elif cells == {None}:
        table.attrib.pop("class", None)
    else:
        got = ", ".join(sorted(map(str, cells)))
        raise ValueError(f"wanted a table of aligned, cases or a matrix, got cells of {got}")
    for row, gap in zip(table, [*gaps, None], strict=False):
        if gap:
            row.set("style", f"--gap:{gap / 10:g}em")  # TeX's points are those of 10 pt type
        if table.get("class") != "aligned":  # Chromium has a row no higher than its ink
            row[0].insert(0, Element("mspace", height="0.84em", depth="0.36em"))


def _adapt_element(element: Element, *, in_script: bool) -> None:
    attached = element.tag in ATTACHED
    if attached and "math-depth" in element[1].get("style", ""):  # an accent, or a brace
        element.set("accent" if element.tag == "mover" else "accentunder", "true")
        element[1].text = ACCENTS.get(element[1].text or "", element[1].text)
    for place, child in enumerate(element):
        _adapt_element(child, in_script=in_script or (attached and place > 0))
    if element.tag in ROWS:
        element[:] = _flatten_row(element)
    elif element.tag in PARTS:
        element[:] = map(_unwrap_row, element)
    elif element.tag == "mo":
        _adapt_operator(element, in_script=in_script)
    if element.tag == "mspace" and "height" in element.attrib:
        element.attrib |= {key: f"{_parse_em(value):g}em" for key, value in element.attrib.items()}
    allowed = ALLOWED_ATTRIBUTES.get(element.tag, set())
    element.attrib = {name: value for name, value in element.attrib.items() if name in allowed}
    if element.tag == "mi":
        element.attrib.pop("class", None)
        if element.text in LEANS and "mathvariant" not in element.attrib:
            element.set("class", f"leans-{LEANS[element.text]}")
    elif attached and element[0].tag == "mi":  # below it stands a script, and one above is moved
        step = element[0].attrib.pop("class", "")
        if step and element.tag in {"msup", "msubsup"}:
            own = element[-1].get("class", "")
            element[-1].set("class", f"{own} {step.replace('leans', 'lean')}".strip())


def _adapt_operator(operator: Element, *, in_script: bool) -> None:
    """Size and space as TeX has them, where a browser has others."""
    operator.attrib.pop("class", None)
    if "minsize" in operator.attrib:  # \bigl( and \bigr) stand between other things
        operator.attrib |= {"class": SIZES[operator.attrib["minsize"]], "stretchy": "false"}
        operator.set("form", "prefix" if operator.text in OPENING else "postfix")
    elif (
        in_script and operator.text not in LARGE and not operator.attrib.keys() & {"form", "lspace"}
    ):
        operator.attrib |= {"lspace": "0em", "rspace": "0em"}


def _unwrap_row(part: Element) -> Element:
    """A part of a fraction, or a script: a row only where it is more than one thing."""
    if part.tag == "mrow" and len(part) and part[-1].text == APPLIED:
        part.remove(part[-1])
    return part[0] if part.tag == "mrow" and len(part) == 1 else part


def _flatten_row(row: Element) -> Iterator[Element]:
    """The children of a row, and those of each row inside it that looks the same without it."""
    for child in row:
        if child.get("width") == OWN_SPACE or (child.tag == "mo" and not child.text):
            continue  # the second stands where \\left or \\right has no bracket
        if child.tag == "mrow" and "style" in child.attrib:  # a space of less than nothing
            yield Element("mspace", width=child.attrib["style"].split(":")[1].rstrip(";"))
        elif child.tag == "mrow" and (len(row) == 1 or _can_dissolve(child)):
            yield from child
        elif child.tag in ATTACHED and _is_closing(child[0][-1:]):
            yield from child[0][:-1]  # TeX sets a script at the bracket alone
            child[0] = child[0][-1]
            yield child
        else:
            yield child


def _can_dissolve(row: Element) -> bool:
    """Whether no bracket grows with this row, and no sign at its ends depends on being there."""
    ends = [_find_core(one) for one in (*row[:1], *row[-1:])]
    return len(row) == 1 or not (
        any(one.get("stretchy") == "true" for one in row)
        or any(one.tag == "mo" and one.text != APPLIED and not _get_form(one) for one in ends)
    )


def _find_core(element: Element) -> Element:
    """What decides on the spaces around an element: of a sum with limits, the sum."""
    return _find_core(element[0]) if element.tag in ATTACHED else element


def _get_form(operator: Element) -> str:
    return operator.get("form", "")


def _is_closing(last: Iterable[Element]) -> bool:
    """Whether a row ends in a bracket of fixed size."""
    return any(_get_form(one) == "postfix" and one.get("stretchy") == "false" for one in last)


def _add_spaces(row: list[Element]) -> list[Element]:
    out: list[Element] = []
    space = 0.0
    before: Element | None = None
    for place, one in enumerate(row):
        if _is_space(one):
            space += _parse_em(one.get("width", "0em"))
            continue
        after = next((other for other in row[place + 1 :] if not _is_space(other)), None)
        if one.text == APPLIED:
            space += THIN if _begins_plain(after) or _has_sign(after, LARGE) else 0
            before = one
            continue
        apart = (
            _has_sign(after, {APPLIED})
            or _is_stretchy(one)
            or (before is not None and _is_stretchy(before))
        )
        if apart and _ends_plain(before) and _begins_plain(one):
            space += THIN
        _adapt_spaces(_find_core(one), before, after)
        out += [*_make_space(space), one]
        space, before = 0.0, one
    return [*out, *_make_space(space)]


def _adapt_spaces(operator: Element, before: Element | None, after: Element | None) -> None:
    """The spaces of a sum, of three dots and of a product, which are not the browsers'."""
    if operator.tag != "mo" or "lspace" in operator.attrib:
        return
    left, right = _ends_plain(before), _begins_plain(after)
    if operator.text in LARGE:
        right = right or _has_sign(after, LARGE)
    elif operator.text in DOTS:
        right = right or _has_sign(after, {","})
    elif operator.text in TIMES:  # between two things; else it stands for itself
        left = right = left and (right or _has_sign(after, LARGE | OPENING | DOTS))
    else:
        return
    size = MEDIUM if operator.text in TIMES else THIN
    operator.set("lspace", f"{size if left else 0}em")
    operator.set("rspace", f"{size if right else 0}em")


def _has_sign(element: Element | None, signs: set[str]) -> bool:
    return element is not None and _find_core(element).text in signs


def _is_space(one: Element) -> bool:
    return one.tag == "mspace" and "height" not in one.attrib


def _make_space(width: float) -> Iterator[Element]:
    if width >= 0.001:
        yield Element("mspace", width=f"{width:.4g}em")
    elif width <= -0.001:  # a width is never negative
        yield Element("mrow", style=f"margin-left:{width:.4g}em")


def _is_stretchy(one: Element) -> bool:
    """Whether this is a row in brackets of its height, or such a row with a script."""
    row = _find_core(one)
    return row.tag == "mrow" and any(first.get("stretchy") == "true" for first in row[:1])


def _ends_plain(element: Element | None) -> bool:
    """Whether what stands to the left leaves no space, where TeX may want one."""
    if element is None or element.tag == "mspace":
        return False
    core = _find_core(element)
    if core.tag == "mtext" and (core.text or "").endswith(("(", "（")):  # of a reason
        return False
    signed = _get_form(core) == "prefix" and core.text in SIGNS
    return core.tag != "mo" or _get_form(core) == "postfix" or signed


def _begins_plain(element: Element | None) -> bool:
    """The same for what stands to the right."""
    if element is None or element.tag == "mspace":
        return False
    core = _find_core(element)
    return core.tag != "mo" or (_get_form(core) == "prefix" and core.text in SIGNS)


def _parse_em(length: str) -> float:
    found = LENGTH.fullmatch(length)
    if not found:
        raise ValueError(f"a space of {length} is not in em or pt")
    return float(found[1]) / (10 if found[2] == "pt" else 1)
