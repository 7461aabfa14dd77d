"""Run a listing as a page does: `python -m attention_docs.running softmax.py`.

Python itself drops what the last line of a section gives; here a table or a picture is printed, as
its description.
"""

from __future__ import annotations

import ast
import sys
import types
from pathlib import Path

from attention_docs.running.sections import split_sections


def run_listing(path: Path) -> None:
    """Run all sections in their order, and print what each of them shows."""
    sys.modules["listing"] = module = types.ModuleType("listing")  # where its dataclasses look
    for first, code in split_sections(path.read_text(encoding="utf-8")).values():
        tree = ast.parse("\n" * (first - 1) + code, str(path))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(path), "exec"), module.__dict__)
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), str(path), "eval"), module.__dict__)
            if shown is not None:
                print(shown)


if __name__ == "__main__":
    run_listing(Path(sys.argv[1]))
