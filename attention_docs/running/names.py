"""Find the names that a piece of code reads from outside, and those that it sets."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TypeGuard


def find_names(code: str, sure: bool = False) -> tuple[set[str], set[str]]:
    r"""The names that code uses before it sets them itself, and those that it sets.

    Of branches and loops all are taken; where it must be `sure`, none: what they set may be unset.

    Examples:
        >>> used, bound = find_names("for x in y:\n    z = x\nprint(z)")
        >>> sorted(used), sorted(bound)
        (['print', 'y'], ['x', 'z'])
        >>> used, bound = find_names("for x in y:\n    z = x\nprint(z)", sure=True)
        >>> sorted(used), sorted(bound)
        (['print', 'y', 'z'], [])
    """
    reading = NameReader(sure=sure)
    try:
        reading.read_all(ast.parse(code).body)
    except SyntaxError:  # reported where the code runs
        return set(), set()
    return reading.used, reading.bound


class NameReader(ast.NodeVisitor):
    """Follows code in the order in which it runs."""

    def __init__(self, bound: Iterable[str] = (), *, sure: bool = False) -> None:
        self.used: set[str] = set()
        self.bound = set(bound)
        self.sure = sure

    def read_all(self, nodes: Iterable[ast.AST | None]) -> None:
        """One after another."""
        for node in nodes:
            if node is not None:
                self.visit(node)

    def read_inner_scope(self, nodes: Iterable[ast.AST | None], names: Iterable[str] = ()) -> None:
        """What has names of its own: of the others it uses, those that are not set yet count."""
        reading = NameReader(self.bound | set(names), sure=self.sure)
        reading.read_all(nodes)
        self.used |= reading.used

    def visit_Name(self, node: ast.Name) -> None:
        """A name that is set, or used."""
        if isinstance(node.ctx, ast.Store):
            self.bound.add(node.id)
        elif node.id not in self.bound:
            self.used.add(node.id)

    def visit_alias(self, node: ast.alias) -> None:
        """A name that an import sets."""
        self.bound.add((node.asname or node.name).split(".")[0])

    def visit_Assign(self, node: ast.Assign) -> None:
        """The value is there before the name."""
        self.read_all([node.value, *node.targets])

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """It uses what it sets."""
        if isinstance(node.target, ast.Name) and node.target.id not in self.bound:
            self.used.add(node.target.id)
        self.read_all([node.value, node.target])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """As without the annotation."""
        self.read_all([node.value, node.target if node.value else None])

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        """The value is there before the name."""
        self.read_all([node.value, node.target])

    def visit_For(self, node: ast.For) -> None:
        """What is gone through, then each of it."""
        self.read_all([node.iter])
        self.read_optional([node.target, *node.body, *node.orelse])

    def visit_If(self, node: ast.If | ast.While) -> None:
        """The test, then what may not run."""
        self.read_all([node.test])
        self.read_optional(node.body)
        self.read_optional(node.orelse)

    def visit_While(self, node: ast.While) -> None:
        """As a branch."""
        self.visit_If(node)

    def visit_Try(self, node: ast.Try) -> None:
        """Any of it may not run."""
        for part in (node.body, node.handlers, node.orelse, node.finalbody):
            self.read_optional(part)

    def visit_Match(self, node: ast.Match) -> None:
        """As branches; the names of a pattern are set in its own."""
        self.read_all([node.subject])
        for case in node.cases:
            found = {getattr(one, "name", None) for one in ast.walk(case.pattern)}
            found |= {getattr(one, "rest", None) for one in ast.walk(case.pattern)}
            before = set(self.bound)
            self.bound |= {one for one in found if one}
            self.read_all([case.pattern, case.guard, *case.body])
            self.bound = before if self.sure else self.bound

    def read_optional(self, nodes: Iterable[ast.AST]) -> None:
        """What may not run."""
        before = set(self.bound)
        self.read_all(nodes)
        if self.sure:
            self.bound = before

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        """An error, under its name."""
        self.read_all([node.type])
        self.bound |= {node.name} - {None}  # type: ignore[arg-type]
        self.read_all(node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Names of its own; what it takes from outside counts, though it runs later."""
        own = {one.id for one in ast.walk(node) if _find_targets(one)}
        self.read_all([*node.decorator_list, *node.args.defaults, *node.args.kw_defaults])
        self.bound.add(node.name)
        self.read_inner_scope(node.body, own | _list_parameters(node))

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """A function in a line."""
        self.read_all([*node.args.defaults, *node.args.kw_defaults])
        self.read_inner_scope(
            [node.body], [arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)]
        )

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Its body has names of its own."""
        self.read_all([*node.decorator_list, *node.bases, *node.keywords])
        self.bound.add(node.name)
        self.read_inner_scope(node.body)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        """What is gone through, then each of it, under names of its own."""
        self._read_comprehension([node.elt], node.generators)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        """As a list."""
        self._read_comprehension([node.elt], node.generators)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        """As a list."""
        self._read_comprehension([node.elt], node.generators)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        """As a list."""
        self._read_comprehension([node.key, node.value], node.generators)

    def _read_comprehension(self, each: list[ast.expr], loops: list[ast.comprehension]) -> None:
        order = [part for one in loops for part in (one.iter, one.target, *one.ifs)]
        self.read_inner_scope([*order, *each])


def _find_targets(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _list_parameters(node: ast.FunctionDef | ast.Lambda) -> set[str]:
    return {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
