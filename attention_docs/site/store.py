"""Results on disk. A record is whole or it is not there; a damaged one counts as not there."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def key_of(*parts: str) -> str:
    """A key of everything that a result depends on; no two lists of parts share one."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class Store:
    """A folder of records, one JSON file each, named by its key."""

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        self.folder = folder
        self.warn = warn

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"

    def get(self, key: str) -> Record | None:
        """The record, or None where there is none or its file is damaged."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        checksum, _, payload = content.partition(b"\n")
        if hashlib.sha256(payload).hexdigest().encode() != checksum:
            self.warn(f"{path} is damaged; the block runs again")
            return None
        record: Record = json.loads(payload)
        return record

    def put(self, key: str, record: Record) -> None:
        """Write the record beside its place and move it there: no reader sees half of it."""
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
