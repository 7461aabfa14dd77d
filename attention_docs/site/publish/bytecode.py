"""The library of Python for the browser, and NumPy, compiled.

They come as source, and to compile what a start imports took two thirds of a reader's first press.
Pyodide compiles them once in set-up, under the Node that comes with playwright, and leaves out the
tests and the headers of NumPy. Where that cannot be done, the source is served: a press takes
longer, and everything else is the same.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

SCRIPT = Path(__file__).with_suffix(".mjs")
LIMIT = 300  # seconds
INFO = {
    "abi_version": "2026_0",
    "arch": "wasm32",
    "platform": "emscripten_5_0_3",
    "python": "3.14.0",
}
"""The description of Pyodide in its list of packages."""


def find_compiled(folder: Path, source: str) -> Path | None:
    """The compiled archive that belongs to a source with this SHA-256, if it is there and whole."""
    for path in sorted(folder.glob(f"{_make_name(source)}-*.zip")):
        if hashlib.sha256(path.read_bytes()).hexdigest() == path.stem.rpartition("-")[2]:
            return path
    return None


def compile_archive(
    folder: Path, archive: str, source: str, place: str, say: Callable[[str], None]
) -> None:
    """Compile an archive with this SHA-256, completely or not at all, for modules in `place`."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        here = Path(temporary)
        for file in folder.iterdir():
            if file.is_file():
                (here / file.name).symlink_to(file.resolve())
        (here / "pyodide-lock.json").write_text(json.dumps({"info": INFO, "packages": {}}))
        try:
            arguments = (find_node(), SCRIPT, here, archive, place, here / "out.zip")
            command = [str(one) for one in arguments]
            subprocess.run(command, check=True, timeout=LIMIT, capture_output=True)
        except (OSError, subprocess.SubprocessError) as error:
            output = getattr(error, "stderr", None) or str(error).encode()
            say(f"{archive} stays source: {output.decode(errors='replace').strip()[-300:]}")
            return
        digest = hashlib.sha256((here / "out.zip").read_bytes()).hexdigest()
        (here / "out.zip").replace(folder / f"{_make_name(source)}-{digest}.zip")


def find_node() -> Path:
    """The Node that playwright brings; FileNotFoundError where there is none."""
    found = importlib.util.find_spec("playwright")
    if not found or not found.origin:
        raise FileNotFoundError("playwright is not installed, whose Node would compile it")
    return Path(found.origin).parent / "driver" / "node"


def _make_name(source: str) -> str:
    """What a compiled archive hangs on: its source, and how it is compiled."""
    return hashlib.sha256(source.encode() + SCRIPT.read_bytes()).hexdigest()[:16]
