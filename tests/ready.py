"""A process that has imported what commands import from others, and forks for each command.

Half the time of a small build goes into libraries that are the same for all of them. A command gets
the folder, environment and arguments of `python -m`, and this package from where PYTHONPATH says:
nothing of it and no torch is imported before. What is about a process itself (its first imports,
its hash seed, what ends with it) takes a real one.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import json
import os
import runpy
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from multiprocessing import resource_tracker, util
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

# Each brings many more.
LIBRARIES = (
    "PIL.ImageDraw",
    "array_api_compat.numpy",
    "filelock",
    "jaxtyping",
    "lxml.html",
    "markdown_exec",
    "material.plugins.search.plugin",
    "mkdocs.commands.serve",
    "mkdocs_static_i18n.plugin",
    "mkdocstrings_handlers.python",
    "multiprocessing.forkserver",
    "nbformat.v4",
    "py_mini_racer",
    "pygments.styles.default",
    "pymdownx.arithmatex",
    "pymdownx.blocks.block",
    "watchdog.observers.polling",
)
ALONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # no thread survives a fork


@cache
def _process() -> subprocess.Popen[str]:
    """The one process that stands ready for this one; it ends when its orders do."""
    process = subprocess.Popen(
        [sys.executable, "-P", __file__],
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | ALONE,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    atexit.register(process.wait)
    atexit.register(process.stdin.close)  # the last that is registered is the first that happens
    return process


def _answer(**order: Any) -> str:
    """What the process says to an order."""
    process = _process()
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(order) + "\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


class Command:
    """What `python -m` with this module, folder and environment does; as much as is used here of
    the process that it would be."""

    def __init__(
        self,
        module: str,
        *arguments: str,
        cwd: Path,
        env: Mapping[str, str],
        out: str = os.devnull,
        err: str = os.devnull,
    ) -> None:
        order = {"module": module, "arguments": arguments, "cwd": str(cwd), "env": dict(env)}
        self.pid = int(_answer(begin=order | {"streams": [out, err]}))
        self.returncode: int | None = None

    def poll(self, how: str = "poll") -> int | None:
        """Its exit status once it has ended."""
        if self.returncode is None and (answer := _answer(**{how: self.pid})):
            self.returncode = int(answer)
        return self.returncode

    def wait(self) -> int:
        """The same as soon as it has."""
        code = self.poll("wait")
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it is known to have ended."""
        if self.returncode is None:
            os.kill(self.pid, number)


def run(
    module: str, *arguments: str, cwd: Path, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """What `python -m` with this module, folder and environment does and says."""
    with NamedTemporaryFile("r") as out, NamedTemporaryFile("r") as err:
        code = Command(module, *arguments, cwd=cwd, env=env, out=out.name, err=err.name).wait()
        return subprocess.CompletedProcess([module, *arguments], code, out.read(), err.read())


def _become(order: dict[str, Any]) -> None:
    """Be the process that was asked for."""
    for number, name in enumerate([os.devnull, *order["streams"]]):
        os.dup2(os.open(name, os.O_RDWR | os.O_APPEND), number)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    sys.dont_write_bytecode = bool(order["env"].get("PYTHONDONTWRITEBYTECODE"))
    named = order["env"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [order["cwd"], *filter(None, named)]
    util.spawnv_passfds = _spare(util.spawnv_passfds)
    sys.argv = [order["module"], *order["arguments"]]
    runpy.run_module(order["module"], run_name="__main__", alter_sys=True)


Spawn = Callable[[str, Sequence[str], Sequence[int]], int]


def _spare(usual: Spawn) -> Spawn:
    """How the command starts processes: the one that it forks others from is there already, as this
    one is now. What blocks import, NumPy above all, would take as long as the build itself."""
    near, far = socket.socketpair()
    if not (pid := os.fork()):
        near.close()
        _serve_processes(far)
        os._exit(0)
    far.close()
    waiting = [pid]

    def spawn(path: str, arguments: Sequence[str], files: Sequence[int]) -> int:
        if not waiting or "multiprocessing.forkserver" not in arguments[-1]:
            return usual(path, arguments, files)
        order = {"code": arguments[-1], "files": list(files), "env": dict(os.environ)}
        socket.send_fds(near, [json.dumps(order).encode()], list(files))
        return waiting.pop()

    return spawn


def _serve_processes(orders: socket.socket) -> None:
    """Wait until the command says what to run, with which files open; or until it has ended."""
    message, files, _, _ = socket.recv_fds(orders, 1 << 20, 8)
    orders.close()
    if not message:
        return
    order = json.loads(message)
    os.environ.clear()
    os.environ.update(order["env"])
    above = 1 + max(order["files"])  # so that none lies where another belongs
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD, above) for file in files]
    for file in files:
        os.close(file)
    for file, number in zip(moved, order["files"], strict=True):
        os.dup2(file, number)
        os.close(file)
    with contextlib.suppress(SystemExit):  # it says so when the command has ended
        exec(order["code"], {})


def _serve() -> None:
    """Follow the orders, one a line; a child comes back when it has done what it says."""
    for line in sys.stdin:
        ((what, order),) = json.loads(line).items()
        if what == "begin":
            if not (child := os.fork()):
                _become(order)
                return
            print(child, flush=True)
        else:
            ended, status = os.waitpid(order, os.WNOHANG if what == "poll" else 0)
            print(os.waitstatus_to_exitcode(status) if ended else "", flush=True)


def _prepare() -> None:
    """Import, and have made what libraries make when they are first used."""
    for library in LIBRARIES:
        import_module(library)
    import nbformat
    from pygments.lexers import get_lexer_by_name

    nbformat.validate(nbformat.v4.new_notebook())
    get_lexer_by_name("python")
    resource_tracker.ensure_running()  # one for all


if __name__ == "__main__":
    _prepare()
    _serve()
