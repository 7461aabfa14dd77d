"""Where a site is put together, and how it takes the place of the old one."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
from collections.abc import Collection
from pathlib import Path

from filelock import FileLock


class Place:
    """A folder beside the site, of this process alone, which becomes the site once it is whole."""

    def __init__(self, target: Path, cache: Path) -> None:
        self.target = target
        self.stage = target.with_name(f"{target.name}.{os.getpid()}.part")
        name = hashlib.sha256(str(target.resolve()).encode()).hexdigest()[:16]
        self.lock = FileLock(cache / "locks" / name)
        (cache / "locks").mkdir(parents=True, exist_ok=True)
        self.discard()

    def publish(self) -> None:
        """Put the whole new site in place of the old one."""
        old = self.stage.with_suffix(".old")
        with self.lock:
            if self.target.is_dir():
                self.target.rename(old)
            try:
                self.stage.rename(self.target)
            except OSError:
                if old.is_dir():
                    old.rename(self.target)
                raise
        shutil.rmtree(old, ignore_errors=True)

    def refresh(self, kept: Collection[str]) -> None:
        """Put what is new into the site that is being served, and remove what is gone."""
        new = {path.relative_to(self.stage) for path in self.stage.rglob("*") if path.is_file()}
        for path in new:
            target = self.target / path
            target.parent.mkdir(parents=True, exist_ok=True)
            (self.stage / path).replace(target)
        for old in list(self.target.rglob("*")):
            name = old.relative_to(self.target)
            if old.is_file() and name not in new and name.as_posix() not in kept:
                old.unlink()
        self.discard()

    def discard(self) -> None:
        """Throw away what was put together."""
        shutil.rmtree(self.stage, ignore_errors=True)


def write(path: Path, text: str) -> None:
    """Write a file, with the folders that it lies in and the same line ends everywhere."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def compress(path: Path) -> None:
    """Beside a file its compressed form, the same on every day."""
    content = gzip.compress(path.read_bytes(), mtime=0)
    path.with_name(f"{path.name}.gz").write_bytes(content)
