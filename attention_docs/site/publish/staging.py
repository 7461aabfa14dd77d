"""The staging folder of a site, and how the new site replaces the old one."""

from __future__ import annotations

import ctypes
import gzip
import hashlib
import os
import shutil
import sys
from collections.abc import Collection, Iterable
from pathlib import Path

from filelock import FileLock


class StagingFolder:
    """A folder beside the site, of this process alone, which becomes the site once it is whole."""

    def __init__(self, target: Path, cache: Path) -> None:
        self.target = target
        self.stage = target.with_name(f"{target.name}.{os.getpid()}.part")
        name = hashlib.sha256(str(target.resolve()).encode()).hexdigest()[:16]
        self.lock = FileLock(cache / "locks" / name)
        (cache / "locks").mkdir(parents=True, exist_ok=True)
        self.discard()
        with self.lock:
            self._clear()

    def publish(self) -> None:
        """Replace the old site by the new one, without a moment in which there is none."""
        with self.lock:
            if not self.target.is_dir():
                self.stage.rename(self.target)
            elif _exchange_folders(self.stage, self.target):
                self.discard()
            else:
                self._swap()

    def _swap(self) -> None:
        """In two steps, where the system has no single one; what goes wrong is undone."""
        old = self.stage.with_suffix(".old")
        self.target.rename(old)
        try:
            self.stage.rename(self.target)
        except OSError:
            old.rename(self.target)
            raise
        shutil.rmtree(old, ignore_errors=True)

    def _clear(self) -> None:
        """Remove what builds left that were killed; a site that was put aside comes back."""
        for left in sorted(self.target.parent.glob(f"{self.target.name}.*.*")):
            process, _, kind = left.name.removeprefix(f"{self.target.name}.").partition(".")
            if kind not in ("part", "old") or not process.isdigit() or _is_running(int(process)):
                continue
            if kind == "old" and not self.target.exists():
                left.rename(self.target)
            else:
                shutil.rmtree(left, ignore_errors=True)

    def find_missing(self, pages: Iterable[str]) -> list[str]:
        """Which of these files are missing from the staging folder."""
        return [page for page in pages if not (self.stage / page).is_file()]

    def refresh(self, unchanged: Collection[str]) -> None:
        """Put what is new into the site that is being served, and remove what is gone."""
        new = {path.relative_to(self.stage) for path in self.stage.rglob("*") if path.is_file()}
        for path in new:
            target = self.target / path
            target.parent.mkdir(parents=True, exist_ok=True)
            (self.stage / path).replace(target)
        for old in list(self.target.rglob("*")):
            name = old.relative_to(self.target)
            if old.is_file() and name not in new and name.as_posix() not in unchanged:
                old.unlink()
        self.discard()

    def discard(self) -> None:
        """Delete the staging folder."""
        shutil.rmtree(self.stage, ignore_errors=True)


def _exchange_folders(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; False where the system cannot."""
    if sys.platform != "linux":
        return False
    library = ctypes.CDLL(None)
    here = ctypes.c_int(-100)  # AT_FDCWD
    if not hasattr(library, "renameat2"):
        return False
    return bool(library.renameat2(here, os.fsencode(one), here, os.fsencode(other), 2) == 0)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        return True
    return True


def write_text(path: Path, text: str) -> None:
    """Write a file, with the folders that it lies in and the same line ends everywhere."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def compress_file(path: Path) -> None:
    """Beside a file its compressed form, the same on every day."""
    content = gzip.compress(path.read_bytes(), mtime=0)
    path.with_name(f"{path.name}.gz").write_bytes(content)
