"""A cache of records on disk. A record is complete or missing; a damaged one counts as missing."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

DAY = 86400.0


def make_key(*parts: str) -> str:
    """A key of everything that a record depends on; no two lists of parts share one."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def find_cache_folder(root: Path) -> Path:
    return Path(os.environ.get("ATTENTION_DOCS_CACHE", root / ".cache"))


def has_hash(path: Path, digest: str) -> bool:
    """Whether a file has this SHA-256; a note beside it spares asking until the file changes."""
    if not path.is_file():
        return False
    status, note = path.stat(), path.with_name(f"{path.name}.verified")
    seen = f"{digest} {status.st_size} {status.st_mtime_ns}"
    if note.is_file() and note.read_text("utf-8") == seen:
        return True
    if hashlib.sha256(path.read_bytes()).hexdigest() != digest:
        return False
    note.write_text(seen, "utf-8")
    return True


class Store:
    """A folder of records, one JSON file each, named by its key."""

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        self.folder = folder
        self.warn = warn
        self.used: set[str] = set()

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"

    def get(self, key: str) -> dict[str, Any] | None:
        """The record, or None if it is missing or damaged."""
        payload = self._is_whole(key)
        record: dict[str, Any] | None = json.loads(payload) if payload is not None else None
        return record

    def has(self, key: str) -> bool:
        """Whether there is a record that is whole."""
        return self._is_whole(key) is not None

    def _is_whole(self, key: str) -> bytes | None:
        self.used.add(key)
        path = self._path(key)
        try:
            content = path.read_bytes()
            os.utime(path)  # what is read is not old
        except FileNotFoundError:
            return None
        checksum, _, payload = content.partition(b"\n")
        if hashlib.sha256(payload).hexdigest().encode() != checksum:
            self.warn(f"{path} is damaged; it is made again")
            return None
        return payload

    def put(self, key: str, record: dict[str, Any]) -> None:
        """Write the record beside its place and move it there: no reader sees half of it."""
        self.used.add(key)
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        payload = json.dumps(record, ensure_ascii=False, sort_keys=True).encode()
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as part:
                part.write(hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def remove_unused(self) -> None:
        """Delete what this build has not used and what is older than a day."""
        for path in self.folder.glob("*/*"):
            try:
                if path.stem not in self.used and path.stat().st_mtime < time.time() - DAY:
                    path.unlink()
            except FileNotFoundError:  # another build was faster
                continue
