"""The state between two blocks of a live page: copied, restored and recognised."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attention_docs.running.block import PROVIDED
from attention_docs.site.run.snapshot import (
    Fixed,
    PackageState,
    copy_namespace,
    read_ambient_state,
    restore_ambient_state,
    restore_namespace,
)

PROVIDED_NAMES = {"__builtins__", "help", *PROVIDED}  # names that no block sets
MAX_COPIED_BYTES = 200_000_000  # bytes of copies that a page may keep


class LiveState:
    """What blocks leave in a namespace and around it, with copies of what was there before each.

    A copy is None where none was taken, or where it would not be whole.
    """

    def __init__(self, namespace: dict[str, Any], codes: Iterable[str] = ()) -> None:
        """`codes` are the blocks as published: what they import is loaded before any of them."""
        self.namespace = namespace
        self.fixed: Fixed = {}
        self.copies: list[bytes | None] = []
        self.package = PackageState(codes)
        self.start = read_ambient_state()
        self.restored: bytes | None = None  # the copy that was restored, if nothing has run since
        self.edited = 0  # the block that an edit has changed last: the next one comes there too

    def list_names(self) -> dict[str, Any]:
        return {k: v for k, v in self.namespace.items() if k not in PROVIDED_NAMES}

    def add_copy(self) -> None:
        self.copies.append(self._copy())

    def _copy(self) -> bytes | None:
        if self._count_bytes() > MAX_COPIED_BYTES:
            self._drop_copies()
        if self._count_bytes() > MAX_COPIED_BYTES and len(self.copies) != self.edited:
            return None
        if self.restored:
            return self.restored
        try:
            return copy_namespace((self.list_names(), read_ambient_state()), self.fixed)
        except Exception:  # a closure, a generator, an open file
            return None

    def _count_bytes(self) -> int:
        return sum(len(copy or b"") for copy in self.copies)

    def _drop_copies(self) -> None:
        """Drop every other copy, except at both ends and at the last edit: edits come close."""
        dropped = [n for n, copy in enumerate(self.copies) if copy and n != self.edited]
        for number in dropped[1:-1:2]:
            self.copies[number] = None

    def go_back(self, number: int) -> None:
        """Restore what was there before a block, and forget what came after it.

        Functions keep their namespace.
        """
        self.restored = self.copies[number]
        del self.copies[number:]
        self.package.restore()
        space, around = {"__name__": "listing"}, self.start
        if self.restored:
            space, around = restore_namespace(self.restored, self.fixed)
        restore_ambient_state(around)
        builtins = self.namespace.get("__builtins__")
        self.namespace.clear()
        self.namespace.update(space)
        if builtins is not None:
            self.namespace["__builtins__"] = builtins
