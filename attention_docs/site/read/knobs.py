"""Knobs of a listing: numbers that are worth turning, marked by a comment at the end of their line.

    d_k = 64  # knob: log 2 … 512
    kind = "causal"  # knob: causal | full
    X = np.array([[1, 0], [0, 2]])  # knob
    letters = "horsehorse"  # knob
    question = "ann sings"  # knob: words WORDS → answer

The last takes words out of a tuple of the section, and shows what the block `answer` gives.
A live page makes a slider, a choice or fields of them. A reader of the code never sees the comment.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

KNOB = re.compile(r"\s*# knob\b(?P<rest>.*)$")
RANGE = re.compile(r":\s*(?P<log>log )?(?P<low>-?[\d.]+) … (?P<high>-?[\d.]+)\s*$")
WORDS = re.compile(r":\s*words (?P<words>\w+)(?: → (?P<answer>[\w-]+))?\s*$")
CHOICES = re.compile(r":\s*(?P<names>\w+(?: \| \w+)+)\s*$")


@dataclass(frozen=True)
class Knob:
    """A name that is set to a literal, and what it may be set to."""

    name: str
    kind: str  # "number", "choice", "text", or "fields"
    low: float | None = None
    high: float | None = None
    log: bool = False
    names: tuple[str, ...] = ()  # choices, or the words that a text is made of
    answer: str = ""  # the block whose output is shown beside the knob

    def as_dict(self) -> dict[str, Any]:
        """The knob as data for a live page."""
        return asdict(self)


def extract_knobs(code: str) -> tuple[str, tuple[Knob, ...]]:
    r"""Split code into the code without marks and its knobs; ValueError for an invalid mark.

    So is the mark of a knob on which nothing depends that the block shows.

    Examples:
        >>> code, (knob,) = extract_knobs("d_k = 64  # knob: log 2 … 512\nprint(d_k)")
        >>> code, knob.name, knob.low, knob.high, knob.log
        ('d_k = 64\nprint(d_k)', 'd_k', 2.0, 512.0, True)
        >>> extract_knobs("d_k = 64  # knob: log 2 … 512\nn = 3\nprint(n)")
        Traceback (most recent call last):
            ...
        ValueError: wanted an output that depends on the knob d_k, got one of n, print
    """
    if "# knob" not in code:
        return code, ()
    try:
        ast.parse(code)
    except SyntaxError:  # reported where the code runs
        return code, ()
    lines = code.split("\n")
    found = []
    for line, rest in _find_marks(code):
        lines[line - 1] = KNOB.sub("", lines[line - 1])
        found.append(_parse_knob(code, line, rest))
    shown = _find_names_shown(ast.parse(code))
    if idle := [knob.name for knob in found if knob.name not in shown]:
        wanted = f"wanted an output that depends on the knob {', '.join(idle)}"
        raise ValueError(f"{wanted}, got one of {', '.join(sorted(shown)) or 'no name'}")
    return "\n".join(lines), tuple(found)


def _find_names_shown(tree: ast.Module) -> set[str]:
    """The names that what a block shows depends on.

    They are those of its expressions, then those of the statements that set these.
    """
    needed = {name for one in tree.body if isinstance(one, ast.Expr) for name in _list_names(one)}
    for statement in reversed([*tree.body, *tree.body]):  # twice: a function may come first
        names = _list_names(statement)
        if needed & {name for name, stored in names.items() if stored}:
            needed.update(names)
    return needed


def _list_names(statement: ast.stmt) -> dict[str, bool]:
    """The names in a statement, and whether it sets them or changes what they hold."""
    names: dict[str, bool] = {}
    for node in ast.walk(statement):
        match node:
            case ast.Name(name, context):
                names[name] = names.get(name, False) or isinstance(context, ast.Store)
            case ast.FunctionDef(name) | ast.ClassDef(name):
                names[name] = True
            case ast.Subscript(ast.Name(name), _, ast.Store()) | ast.Attribute(ast.Name(name)):
                names[name] = True  # x[0] = …, x.append(…)
    return names


def _find_marks(code: str) -> Iterator[tuple[int, str]]:
    """The lines that carry a mark, with what stands after it."""
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT and (mark := KNOB.fullmatch(token.string)):
            yield token.start[0], mark["rest"]


def _parse_knob(code: str, line: int, rest: str) -> Knob:
    for node in ast.parse(code).body:
        match node:
            case ast.Assign([ast.Name(name)], value) if node.end_lineno == line:
                break
    else:
        raise ValueError("a knob stands at the end of `name = literal`")
    choices, span, words = (one.fullmatch(rest) for one in (CHOICES, RANGE, WORDS))
    if rest.strip() and not (choices or span or words):
        raise ValueError(
            "wanted `# knob: [log ]low … high`, `# knob: a | b` or `# knob: words NAME[ → block]`, "
            f"got {rest!r}"
        )
    if isinstance(value, ast.Call):  # np.array([...])
        value = value.args[0] if value.args else value
    try:
        literal = ast.literal_eval(value)
    except ValueError:
        raise ValueError(f"a knob is a literal, got {ast.unparse(value)}") from None
    if isinstance(literal, list):
        kind = "fields"
    elif isinstance(literal, str) and choices:
        return Knob(name, "choice", names=tuple(choices["names"].split(" | ")))
    elif isinstance(literal, str) and words:
        return Knob(
            name, "text", names=_find_words(code, words["words"]), answer=words["answer"] or ""
        )
    elif isinstance(literal, str) and not rest.strip():
        kind = "text"
    elif isinstance(literal, int | float):
        kind = "number"
    else:
        raise ValueError(
            f"a knob is a number, numbers in a list, a choice or a text, got {literal!r}"
        )
    if span is None:
        return Knob(name, kind)
    return Knob(name, kind, float(span["low"]), float(span["high"]), bool(span["log"]))


def _find_words(code: str, name: str) -> tuple[str, ...]:
    """The strings of a tuple, which may hold other tuples: `(*NAMES, "and")`."""
    for node in ast.parse(code).body:
        match node:
            case ast.Assign([ast.Name(id)], ast.Tuple(elements)) if id == name:
                break
    else:
        raise ValueError(f"wanted a tuple {name} of strings before the knob")
    words: list[str] = []
    for one in elements:
        match one:
            case ast.Starred(ast.Name(other)):
                words += _find_words(code, other)
            case ast.Constant(str(word)):
                words.append(word)
            case _:
                raise ValueError(f"{name} holds words alone, got {ast.unparse(one)}")
    return tuple(words)
