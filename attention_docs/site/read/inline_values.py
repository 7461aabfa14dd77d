"""Inline values in the lines of a page: `{{ expression:spec }}`."""

from __future__ import annotations

import ast

from attention_docs.colours import ROLES
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.honest import constant
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import (
    Value,
)
from attention_docs.site.read.syntax import (
    CHAPTER,
    CODE_SPAN,
    COLOUR,
    VALUE,
)


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
        if constant(expression):
            message = f"{{{{ {expression} }}}} computes nothing: type it, or name what a block has"
            page.failures.append(Failure(page.path, number, message))
        after = len(page.blocks)
        value = Value(number, match.start(), match.end(), expression, spec, after)
        if not after and not value.counted:
            message = f"{{{{ {expression} }}}} stands before any block: nothing has run yet"
            page.failures.append(Failure(page.path, number, message))
        page.values.append(value)
    if "{{ " in VALUE.sub("", masked):
        page.failures.append(Failure(page.path, number, "an inline value {{ … }} is not closed"))


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
