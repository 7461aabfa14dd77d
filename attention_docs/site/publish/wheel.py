"""The package as a wheel among the files of the site, so that a notebook needs no repository.

    python -m attention_docs.site.publish.wheel FOLDER

writes it into a folder. The same sources make the same wheel, byte by byte.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from attention_docs.site.addresses import PROJECT, name_wheel
from attention_docs.site.store import Store, make_key

SOURCES = (PROJECT, "README.md", "LICENSE")
PACKAGE = "attention_docs"
BUILD = "from setuptools import build_meta; build_meta.build_wheel('.')"
EPOCH = "315532800"  # 1980: the first day that a zip can hold


def write_wheel(root: Path, folder: Path, store: Store) -> None:
    """Write the wheel into a folder, as it was built while its sources are the same."""
    if not (name := name_wheel(root)):
        return
    files = _list_sources(root)
    texts = [part for path in files for part in (str(path), (root / path).read_bytes().hex())]
    key = make_key("wheel", sys.version, *texts)
    kept = store.folder / "wheel" / f"{key}.whl"
    store.used.add(key)
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        build_wheel(root, kept)
    shutil.copyfile(kept, folder / name)


def build_wheel(root: Path, target: Path) -> None:
    """Build the wheel from a copy, since a build leaves files beside its sources."""
    with tempfile.TemporaryDirectory() as copy:
        for path in _list_sources(root):
            (Path(copy) / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / path, Path(copy) / path)
        done = subprocess.run(
            [sys.executable, "-c", BUILD],
            cwd=copy,
            env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"the wheel was not built: {done.stderr.strip()}")
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        shutil.copyfile(Path(copy) / name_wheel(root), part)
        part.replace(target)


def _list_sources(root: Path) -> list[Path]:
    """What the wheel is built from: all of the package but the engine."""
    package = (root / PACKAGE).rglob("*")
    inside = [
        path.relative_to(root)
        for path in package
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    ]
    chosen = [path for path in inside if path.parts[1] != "site"]
    return [*map(Path, SOURCES), *sorted(chosen)]


def main() -> int:
    """Write the wheel into the folder that is named."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    build_wheel(Path.cwd(), folder / name_wheel(Path.cwd()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
