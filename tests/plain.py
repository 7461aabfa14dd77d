"""Run listings as Python runs a script, without the site's own runner: `plain.py < jobs.json`.

A job is a listing: its sections in order, as (code, first line), and after each section the inline
values that pages ask for, as (expression, spec). What came out goes to standard output as JSON.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import multiprocessing
import sys
import types
from pathlib import Path
from typing import Any

from attention_docs.text import TextFile, text

Job = dict[str, Any]
LANGUAGES = ("en", "zh")


def run(job: Job) -> list[dict[str, Any]]:
    """Text, values, files and alternative text of every section, in a process of its own."""
    sys.path.insert(0, str(Path(job["listing"]).parent))
    script = types.ModuleType("__main__")
    sys.modules["__main__"] = script
    return [
        section(job["listing"], code, first_line, values, vars(script))
        for (code, first_line), values in zip(job["sections"], job["values"], strict=True)
    ]


def section(
    listing: str, code: str, first_line: int, values: list[tuple[str, str]], names: dict[str, Any]
) -> dict[str, Any]:
    tree = ast.parse("\n" * (first_line - 1) + code, listing)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    known = list(names.values())
    printed, shown = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, listing, "exec"), names)
        if last is not None:
            shown = eval(compile(ast.Expression(last.value), listing, "eval"), names)
    new = [one for one in names.values() if not any(one is old for old in known)]
    found = {}
    for expression, spec in values:
        value = eval(expression, names)
        found[f"{expression}:{spec}"] = text(value, spec) if spec else str(value)
    return {
        "text": printed.getvalue().rstrip("\n"),
        "values": found,
        "files": {one.name: one.text for one in new if isinstance(one, TextFile)},
        "alt": {lang: shown.alt(lang) for lang in LANGUAGES} if hasattr(shown, "alt") else {},
    }


if __name__ == "__main__":
    import numpy  # noqa: F401  once, before the processes part
    import torch  # noqa: F401

    context = multiprocessing.get_context("fork")
    with context.Pool(maxtasksperchild=1) as pool:
        json.dump(pool.map(run, json.load(sys.stdin), chunksize=1), sys.stdout)
