"""Inline values in the lines of a page: `{{ expression:spec }}`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from attention_docs.colours import ROLES
from attention_docs.running.names import find_names
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Value
from attention_docs.site.read.syntax import CHAPTER, CODE_SPAN, COLOUR, VALUE

FUNCTIONS = {"abs", "int", "len", "list", "max", "min", "round", "slice", "sum"}
"""What an inline value may use besides the names of its page."""
PACKAGE = "attention_docs"


def read_values(page: Page, number: int, line: str) -> None:
    if "{{" not in line:
        return
    masked = CODE_SPAN.sub(lambda span: " " * len(span[0]), line)
    if line.startswith("#") and VALUE.search(masked):
        message = "a heading holds no inline value: it is also a title, an address, a search result"
        page.failures.append(Failure(page.path, number, message))
    for match in VALUE.finditer(masked):
        if CHAPTER.fullmatch(match[0]):
            continue
        if colour := COLOUR.fullmatch(match[0]):
            if colour["role"] not in ROLES:
                message = f"site.colours has {', '.join(ROLES)}, got {colour['role']}"
                page.failures.append(Failure(page.path, number, message))
            continue
        try:
            expression, spec = split_spec(match["inner"])
        except ValueError as error:
            page.failures.append(Failure(page.path, number, str(error)))
            continue
        after = len(page.blocks)
        value = Value(number, match.start(), match.end(), expression, spec, after)
        if not value.is_site_count:
            for message in _faults(page, expression):
                where = f"{{{{ {expression} }}}} {message}"
                page.failures.append(Failure(page.path, number, where))
        page.values.append(value)
    if "{{ " in VALUE.sub("", masked):
        page.failures.append(Failure(page.path, number, "an inline value {{ … }} is not closed"))


def _faults(page: Page, expression: str) -> Iterator[str]:
    """What is wrong with an inline value that follows the blocks of a page so far."""
    if not page.blocks:
        yield "stands before any block: nothing has run yet"
    if page.failures:  # a block that could not be read may set the names
        return
    results, imports = set[str](), set[str]()
    for block in page.blocks:
        computed, imported = _names_set(block.code)
        results |= computed
        imports |= imported
    used, _ = find_names(expression)
    if unknown := used - results - imports - FUNCTIONS:
        may = ", ".join(sorted(FUNCTIONS))
        yield f"uses {', '.join(sorted(unknown))}: no block above sets it, and it is none of {may}"
    elif not used & results:
        yield "depends on nothing that a block above or the package has computed"


@lru_cache(maxsize=2048)  # the same code stands on the pages of all languages
def _names_set(code: str) -> tuple[set[str], set[str]]:
    """The names that the code of a block sets: what it or the package computes, and all imports."""
    _, bound = find_names(code)
    tree = ast.parse(code)
    imports = dict(one for node in ast.walk(tree) for one in _imported_names(node))
    others = {name for name, origin in imports.items() if origin.split(".")[0] != PACKAGE}
    return bound - others, set(imports)


def _imported_names(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.name if alias.asname else alias.name.split(".")[0]
            yield alias.asname or name, name
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def split_spec(inner: str) -> tuple[str, str]:
    """Split "weights[0, 0]:.4f" into expression and format spec.

    Examples:
        >>> split_spec("weights[0, 0]:.4f"), split_spec("x[0:2]"), split_spec("x[0:2]:.1f")
        (('weights[0, 0]', '.4f'), ('x[0:2]', ''), ('x[0:2]', '.1f'))
    """
    candidates = [(inner, "")]
    candidates += [(inner[:i], inner[i + 1 :]) for i, c in enumerate(inner) if c == ":"]
    for expression, spec in candidates:
        try:
            ast.parse(expression.strip(), mode="eval")
        except SyntaxError:
            continue
        return expression.strip(), spec.strip()
    raise ValueError(f"wanted {{{{ expression:spec }}}}, got {{{{ {inner} }}}}")
