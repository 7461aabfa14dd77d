"""Run listings as Python runs a script, without the site's own runner: `plain.py < jobs.json`.

A job is a listing and its blocks in order: a block's sections, as (code, first line), and the
inline values that pages ask for after it, as (expression, spec). What came out goes to standard
output as JSON.
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
    """Text, values, files and alternative text of every block, in a process of its own."""
    sys.path.insert(0, str(Path(job["listing"]).parent))
    script = types.ModuleType("__main__")
    sys.modules["__main__"] = script
    return [
        block(job["listing"], sections, values, vars(script)) for sections, values in job["blocks"]
    ]


def block(
    listing: str,
    sections: list[tuple[str, int]],
    values: list[tuple[str, str]],
    names: dict[str, Any],
) -> dict[str, Any]:
    known = list(names.values())
    printed, shown = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        for code, first_line in sections:
            tree = ast.parse("\n" * (first_line - 1) + code, listing)
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
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
