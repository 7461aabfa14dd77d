"""Number questions once more with other numbers, since the answers on the pages are public.

The code of an exercise runs again with them, after the blocks of the page that it uses. A mistake
that the page recognises comes along if every numeral of its sentence changes as well.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from attention_docs.site.read.failure import Failure
from attention_docs.site.read.page import Page
from attention_docs.site.read.variants import SOURCE, Variant, read_variants
from attention_docs.site.render.judged import Ask, Number
from attention_docs.site.run.dependencies import find_all_uses, find_block_uses
from attention_docs.site.store import Store, make_key

RUN = """import contextlib, io, json, sys
from attention_docs.running.exact import format_exact
tasks, found = json.load(sys.stdin), []
with contextlib.redirect_stdout(io.StringIO()):
    for before, code, expressions in tasks:
        space = {"__name__": "__variant__"}
        exec(before, space)
        exec(code, space)
        found.append([format_exact(eval(one, space)) for one in expressions])
json.dump(found, sys.stdout)
"""


def vary(
    page: Page, asks: Sequence[Ask], root: Path, store: Store
) -> list[tuple[Variant, list[Ask]]]:
    """The number questions of each variant of a page's exercises."""
    variants = [*read_variants(root, page.slug)]
    own = [[one for one in asks if one.wanted and variant.holds(one.name)] for variant in variants]
    for variant, found in zip(variants, own, strict=True):
        if not found:
            raise Failure(SOURCE, 1, f"{page.slug}#{variant.exercise} asks for no number")
    tasks = [_make_task(page, *one) for one in zip(variants, own, strict=True)]
    values = _run(tasks, root, store) if tasks else []
    return [
        (variant, [*_fill(variant, found, iter([json.loads(one) for one in exact]), page.slug)])
        for variant, found, exact in zip(variants, own, values, strict=True)
    ]


def _list_numbers(ask: Ask, variant: Variant) -> list[Number]:
    """What is wanted, and the mistakes whose sentences hold no numeral that stays."""
    assert ask.wanted
    traps = [replace(one, why=variant.rewrite(one.why)) for one in ask.traps]
    old = [re.findall(r"\d+", one.why) for one in ask.traps]
    return [
        ask.wanted,
        *(one for one, before in zip(traps, old, strict=True) if variant.changes_all(before)),
    ]


def _fill(variant: Variant, asks: Sequence[Ask], values: Iterator[Any], slug: str) -> Iterator[Ask]:
    for ask in asks:
        wanted, *traps = [_give(one, next(values)) for one in _list_numbers(ask, variant)]
        if ask.wanted is None or wanted.exact == ask.wanted.exact:
            raise Failure(SOURCE, 1, f"{slug}#{ask.name}: variant {variant.number} has its answer")
        traps = [one for one in traps if one.exact != wanted.exact]
        name = f"{ask.name}-variant-{variant.number}"
        yield replace(
            ask, name=name, prompt=variant.rewrite(ask.prompt), wanted=wanted, traps=traps
        )


def _give(number: Number, exact: Any) -> Number:
    return replace(number, exact=exact, printed=json.dumps(exact))


def _make_task(page: Page, variant: Variant, asks: Sequence[Ask]) -> list[Any]:
    """The code before, the code of the exercise with other numbers, and what is to be evaluated."""
    (box,) = (one for one in page.passages if one.id == variant.exercise)
    inside = [n for n, one in enumerate(page.blocks) if box.line < one.line < box.last_line]
    uses = find_block_uses([one.code for one in page.blocks])
    needed = find_all_uses(uses, inside)
    before = "\n".join(page.blocks[n].code for n in sorted(needed))
    code = "\n".join(_keep_statements(page.blocks[n].code) for n in inside)
    numbers = [one for ask in asks for one in _list_numbers(ask, variant)]
    return [before, variant.rewrite(code), [variant.rewrite(one.source) for one in numbers]]


def _keep_statements(code: str) -> str:
    """Code without what only shows something."""
    nodes = [one for one in ast.parse(code).body if not isinstance(one, ast.Expr)]
    return "\n".join(map(ast.unparse, nodes))


def _run(tasks: Sequence[Any], root: Path, store: Store) -> list[list[str]]:
    """What the expressions of each task are worth, as it was while its code is the same."""
    text = json.dumps(tasks)
    key = make_key("variants", RUN, text)
    if known := store.get(key):
        return list(known["values"])
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=text,
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Failure(SOURCE, 1, done.stderr.strip().rpartition("\n")[2])
    values: list[list[str]] = json.loads(done.stdout)
    store.put(key, {"values": values})
    return values
