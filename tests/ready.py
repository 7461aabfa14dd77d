"""A process that has imported what commands import from others, and forks for each command.

Half the time of a small build goes into libraries that are the same for all of them. A command gets
the folder, environment and arguments of `python -m`, and this package from where PYTHONPATH says:
nothing of it, no NumPy and no torch is imported before. What is about a process itself (its first
imports, its hash seed, that it is killed) takes a real one.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

# Each brings many more.
LIBRARIES = (
    "filelock",
    "lxml.html",
    "markdown_exec",
    "material.plugins.search.plugin",
    "mkdocs_static_i18n.plugin",
    "mkdocstrings_handlers.python",
    "multiprocessing.forkserver",
    "nbformat",
    "py_mini_racer",
    "pygments.lexers.python",
    "pymdownx.arithmatex",
)


@cache
def _process() -> subprocess.Popen[str]:
    """The one process that stands ready for this one; it ends when its orders do."""
    process = subprocess.Popen(
        [sys.executable, "-P", __file__],
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    atexit.register(process.wait)
    atexit.register(process.stdin.close)  # the last that is registered is the first that happens
    return process


def run(
    module: str, *arguments: str, cwd: Path, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """What `python -m` with this module, folder and environment does and says."""
    process = _process()
    assert process.stdin
    assert process.stdout
    with NamedTemporaryFile("r") as out, NamedTemporaryFile("r") as err:
        order = {"module": module, "arguments": arguments, "cwd": str(cwd), "env": dict(env)}
        process.stdin.write(json.dumps(order | {"streams": [out.name, err.name]}) + "\n")
        process.stdin.flush()
        code = int(process.stdout.readline())
        return subprocess.CompletedProcess([module, *arguments], code, out.read(), err.read())


def _become(order: dict[str, Any]) -> None:
    """Be the process that was asked for."""
    for number, name in enumerate([os.devnull, *order["streams"]]):
        os.dup2(os.open(name, os.O_RDWR), number)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    sys.dont_write_bytecode = bool(order["env"].get("PYTHONDONTWRITEBYTECODE"))
    named = order["env"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [order["cwd"], *filter(None, named)]
    sys.argv = [order["module"], *order["arguments"]]
    runpy.run_module(order["module"], run_name="__main__", alter_sys=True)


def _serve() -> None:
    """Fork for every line of orders; the child comes back when it has done what it says."""
    for line in sys.stdin:
        if not (child := os.fork()):
            _become(json.loads(line))
            return
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    for library in LIBRARIES:
        import_module(library)
    _serve()
