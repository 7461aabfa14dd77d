"""What a formula means where its signs do not say it: MathML's `intent`, for those who listen.

A screen reader that knows intents (https://www.w3.org/TR/mathml4/#mixing_intent) then says "W sub K
transpose" and "the norm of q" in its own language: the names are those of the W3C's list where it
has one, and else the function's own. One that knows none hears signs in their usual groups. What
stands for what in this site's formulas is said here, and nowhere on a page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element

ROWS = {"math", "mrow", "mtd", "msqrt", "mstyle"}  # their children stand side by side
SCRIPTS = {"msub", "msup", "msubsup"}
# A bracket with a script is no higher than these, so the script stands as high at the whole.
LOW = {"mi", "mn", "mo", "mover", "mrow", "mspace", "msub", "mtext"}
BRACKETS = {"‖": "norm", "|": "absolute-value", "{": "set", "⌈": "ceiling", "⌊": "floor"}
DOUBLE_BARS, DIVERGENCE = {"‖", "∥"}, "K-L-divergence"  # "divergence" is that of a field
FUNCTIONS = {
    "E": "expectation",
    "FFN": "feed-forward-network",
    "LN": "layer-norm",
    "MHA": "multi-head-attention",
    "Pr": "probability",
    "Var": "variance",
    "fl": "rounded-value",
    "rowsum": "row-sum",
    "tr": "trace",
}
LETTERS = {*"fφπκP"}  # before a bracket they are always functions
KNOWN = {"arccos", "cos", "cosh", "exp", "ln", "log", "max", "min", "sin", "tanh"}  # to all readers
VECTORS = [{*"qkvwxuoz"}, {"p"}]  # letters whose product is one of vectors, both of one set
HEADS = {*"WQKVOAbqkv"}  # letters with the number of a head above, in place of a power
HEAD = re.compile(r"[rh1]′?")
SIGNS = {"⊙": "elementwise-product", "∗": "star"}


def add_intents(root: Element) -> None:
    """Say what scripts, brackets, functions and products of vectors stand for."""
    for element in root.iter():
        if element.tag in SCRIPTS:
            _name_script(element)
        elif element.tag == "mo" and element.text in SIGNS:
            element.set("intent", SIGNS[element.text])
    for element in list(root.iter()):
        if element.tag in ROWS:
            children = _group_brackets(_group_products([*element]))
            if element.tag == "mrow" and [one.tag for one in children] == ["mrow"]:
                element.attrib |= children[0].attrib
                children = [*children[0]]
            element[:] = children


def _name_script(element: Element) -> None:
    """A transpose is no power, and the number of a head neither."""
    base, *_, script = element
    if script.text == "⊤" and element.tag != "msub":
        # Where no intent is read, a T is heard as one; ⊤ is read as "down tack".
        script.text = "T"
        script.set("mathvariant", "normal")
        if base.tag != "mo":  # a bracket stands for what it closes: see below
            inner = "indexed-by:infix($x,$i)" if element.tag == "msubsup" else "$x"
            element.set("intent", f"transpose({inner})")
            base.set("arg", "x")
            if element.tag == "msubsup":
                element[1].set("arg", "i")
    elif (
        element.tag != "msub" and base.text in HEADS and HEAD.fullmatch("".join(script.itertext()))
    ):
        names = "xij" if element.tag == "msubsup" else "xj"
        element.set("intent", f"indexed-by:infix({','.join(f'${name}' for name in names)})")
        for child, name in zip(element, names, strict=True):
            child.set("arg", name)


def _group_brackets(row: list[Element]) -> list[Element]:
    """A row in which a norm, a set, a function with its brackets is one element."""
    _pair_bars(row)
    out: list[Element] = []
    opened: list[int] = []
    for child in row:
        core = _find_core(child)
        form = core.get("form") if core.tag == "mo" else None
        out.append(child)
        if form == "prefix" and core.text in {*BRACKETS, "(", "["}:
            opened.append(len(out) - 1)
        elif form == "postfix" and opened and core.text in {*"‖|})]⌉⌋"}:
            start = opened.pop()
            left = _find_function(out[:start])
            out[left:] = _group(out[left:], start - left)
        elif core.text == "|" and not form:
            core.set("intent", "given")
        elif core.text in DOUBLE_BARS and not form and opened:
            _name_divergence(out[opened[-1] - 1 :][:1], core)
        elif _is_stretched(child) and (left := _find_function(out[:-1])) < len(out) - 1:
            child.set("arg", "x")
            out[left:] = [_make_group(f"{_name_function(out[left])}($x)", out[left:])]
    return out


def _name_divergence(before: Sequence[Element], bar: Element) -> None:
    """The bar in D(p ‖ q), which is no norm's: how far p is from q."""
    bar.set("intent", "from")
    for function in before:
        if function.tag == "mi":
            function.set("intent", DIVERGENCE)


def _pair_bars(row: Sequence[Element]) -> None:
    """Two bars at one depth of brackets are those of an absolute value; one alone means "given"."""
    opened: list[list[Element]] = [[]]
    closed: list[list[Element]] = []
    for core in map(_find_core, row):
        form = core.get("form") if core.tag == "mo" else None
        if form == "prefix":
            opened.append([])
        elif form == "postfix" and len(opened) > 1:
            closed.append(opened.pop())
        elif core.text == "|" and not form:
            opened[-1].append(core)
    for bars in (*opened, *closed):
        for n, bar in enumerate(bars if len(bars) % 2 == 0 else []):
            bar.tag = "mo"
            bar.attrib |= {"form": ("prefix", "postfix")[n % 2], "stretchy": "false"}


def _find_core(element: Element) -> Element:
    return element[0] if element.tag in SCRIPTS else element


def _group(row: Sequence[Element], start: int) -> list[Element]:
    """A function, if there is one, and what stands in the brackets that open at `start`."""
    opening, *inside, last = row[start:]
    name = _name_function(row[0]) if start else BRACKETS.get(opening.text or "", "")
    if (
        name == "absolute-value"
        and len(inside) == 1
        and re.fullmatch("[A-Z]", inside[0].text or "")
    ):
        name = "cardinality"
    if opening.text == "[" and any(one.text == "," for one in inside):
        name = name or "row"  # two numbers in square brackets would be heard as an interval
    is_scripted = last.tag in SCRIPTS
    is_transposed = is_scripted and last[-1].text == "T"
    if (
        not (name or is_transposed)
        or not inside
        or any(one.tag == "mo" and not one.get("form") for one in (inside[0], inside[-1]))
        or (is_scripted and any(part.tag not in LOW for one in inside for part in one.iter()))
    ):
        return list(row)
    closing = last[0] if is_scripted else last
    whole = [opening, *inside, closing]
    if start and len(inside) > 1:  # its brackets are heard, so that it is heard where it ends
        whole = [_make_group("", whole)]
    elif len(inside) > 1 and name:
        whole[1:-1] = [_make_group("", inside)]
    group = _make_group(f"{name}($x)" if name else "", [*row[:start], *whole])
    if name:
        (whole[0] if len(whole) == 1 else whole[1]).set("arg", "x")
    if not is_scripted:
        return [group]
    last[0] = group
    if is_transposed:
        last.set("intent", "transpose($x)")
        group.set("arg", "x")
    return [last]


def _make_group(intent: str, children: Sequence[Element]) -> Element:
    row = Element("mrow", {"intent": intent} if intent else {})
    row.extend(children)
    return row


def _find_function(before: Sequence[Element]) -> int:
    """Where the function begins that ends a row; the row's end where none does."""
    end = len(before)
    place = end - 2 if end > 1 and before[-1].tag == "mspace" else end - 1
    return place if place >= 0 and _name_function(before[place]) else end


def _name_function(element: Element) -> str:
    """What is heard of a function; nothing for what is none, or what every reader knows."""
    if element.tag != "mi":
        return ""
    text = element.text or ""
    if element.get("intent") == DIVERGENCE:
        return DIVERGENCE
    is_upright = element.get("mathvariant") == "normal" or len(text) > 1
    if text in KNOWN or not (is_upright or text in LETTERS):
        return ""
    if text in FUNCTIONS:
        return FUNCTIONS[text]
    return text.lower() if len(text) > 1 else text * (text in LETTERS)


def _is_stretched(element: Element) -> bool:
    """Whether this is a row in brackets of its height."""
    return element.tag == "mrow" and any(one.get("stretchy") == "true" for one in element[:1])


def _group_products(row: list[Element]) -> list[Element]:
    """A row in which the product of two vectors is one element."""
    out: list[Element] = []
    for child in row:
        out.append(child)
        if len(out) < 3 or out[-2].text != "⋅":
            continue
        letters = {_find_letter(out[-3]), _find_letter(child)}
        if any(letters <= kind for kind in VECTORS):
            out[-3].set("arg", "a")
            child.set("arg", "b")
            out[-3:] = [_make_group("dot-product:infix($a,$b)", out[-3:])]
    return out


def _find_letter(element: Element) -> str:
    """The letter below accents and left of scripts."""
    while element.tag in {*SCRIPTS, "mover"} and element.get("intent", "")[:1] != "t":
        element = element[0]
    return (element.text or "") if element.tag == "mi" else ""
