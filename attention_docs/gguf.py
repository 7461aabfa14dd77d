"""Quantised model files of llama.cpp: their metadata, and four or eight bits as numbers."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from attention_docs.checks import requires

BLOCK = 32
"""The numbers of one block: they share a scale and, in Q4_1, an offset."""

BYTES = {"F32": 4 * BLOCK, "Q4_1": 20, "Q8_0": 34}
"""The kinds of tensors that are read, and how many bytes 32 numbers take."""

_KINDS = {0: "F32", 3: "Q4_1", 8: "Q8_0"}
_NUMBERS = dict(zip(range(8), "BbHhIif?", strict=True)) | {10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9
_SIZE = struct.Struct("<Q")
_ALIGNMENT = 32


class Quantised(NamedTuple):
    """A tensor as it stands in the file.

    Attributes:
        shape: of the tensor, as NumPy counts axes: the last one is contiguous.
        kind: "F32", "Q4_1" or "Q8_0".
        content: its bytes, which may be a view of the file.
    """

    shape: tuple[int, ...]
    kind: str
    content: bytes | memoryview


class Model(NamedTuple):
    """A file that has been read.

    Attributes:
        metadata: sizes, constants and the tokenizer, by the names of the format.
        tensors: the tensors by their names, not dequantised yet.
    """

    metadata: Mapping[str, Any]
    tensors: Mapping[str, Quantised]


def _count_bytes(shape: tuple[int, ...], kind: str) -> int:
    return prod(shape) * BYTES[kind] // BLOCK


class _Cursor:
    """Reads one value after another, little-endian."""

    def __init__(self, content: bytes, at: int):
        self.content, self.at = content, at

    def numbers(self, letter: str, count: int = 1) -> list[Any]:
        form = f"<{count}{letter}"
        values = struct.unpack_from(form, self.content, self.at)
        self.at += struct.calcsize(form)
        return list(values)

    def number(self, letter: str) -> Any:
        return self.numbers(letter)[0]

    def text(self) -> str:
        (size,) = _SIZE.unpack_from(self.content, self.at)
        begin, self.at = self.at + 8, self.at + 8 + size
        return self.content[begin : self.at].decode()

    def value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self.text()
        if kind == _LIST:
            inner, count = self.number("I"), self.number("Q")
            if inner in _NUMBERS:  # at once: a tokenizer has 49,152
                return self.numbers(_NUMBERS[inner], count)
            return [self.text() if inner == _TEXT else self.value(inner) for _ in range(count)]
        return self.number(_NUMBERS[kind])


def read_gguf(content: bytes) -> Model:
    """The parts of a file in the format of llama.cpp.

    Such a file holds the letters GGUF, a version, how many tensors and values follow, the values
    with their names, a line for each tensor, and then the numbers. It lists the axes of a tensor
    from the contiguous one on; here they are turned round, to NumPy's order.

    Args:
        content: the bytes of the file.

    Returns:
        Its metadata and its tensors, not dequantised yet.

    Raises:
        TypeError: content is not bytes.
        ValueError: another format or version, a kind of tensor that is not in `BYTES`, a tensor
            that ends after the file, or a file that ends within its header.

    Source:
        The GGUF specification of the ggml project, version 3.

    Examples:
        A file without values, and one tensor of two numbers.

        >>> header = b"GGUF" + struct.pack("<IQQ", 3, 1, 0)
        >>> header += struct.pack("<Q1sIQIQ", 1, b"w", 1, 2, 0, 0)
        >>> model = read_gguf(header.ljust(64, b" ") + np.array([1.5, -2], dtype="<f4").tobytes())
        >>> dequantise(model.tensors["w"])
        array([ 1.5, -2. ], dtype=float32)
    """
    if not isinstance(content, bytes):
        raise TypeError(f"content must be bytes, got {type(content).__name__}")
    if content[:4] != b"GGUF":
        raise ValueError(f"content must begin with GGUF, got {content[:4]!r}")
    cursor = _Cursor(content, at=4)
    try:
        if (version := cursor.number("I")) != 3:
            raise ValueError(f"the version of the format must be 3, got {version}")
        count, values = cursor.number("Q"), cursor.number("Q")
        metadata = {cursor.text(): cursor.value(cursor.number("I")) for _ in range(values)}
        lines = [_read_line(cursor) for _ in range(count)]
    except struct.error:
        raise ValueError(f"content must hold a whole header, got {len(content)} bytes") from None
    start = cursor.at + -cursor.at % _ALIGNMENT
    tensors, whole = {}, memoryview(content)  # a copy of each tensor would be the file once more
    for name, shape, kind, offset in lines:
        low = start + offset
        high = low + _count_bytes(shape, kind)
        if high > len(content):
            raise ValueError(f"{name} must end within {len(content)} bytes, got {high}")
        tensors[name] = Quantised(shape, kind, whole[low:high])
    return Model(metadata, tensors)


def _read_line(cursor: _Cursor) -> tuple[str, tuple[int, ...], str, int]:
    """Name, shape, kind and place of a tensor."""
    name = cursor.text()
    axes = [cursor.number("Q") for _ in range(cursor.number("I"))]
    kind, offset = cursor.number("I"), cursor.number("Q")
    if kind not in _KINDS:
        raise ValueError(f"the kind of {name} must be in {_KINDS}, got {kind}")
    return name, tuple(axes[::-1]), _KINDS[kind], offset


@requires(
    lambda tensor: f"kind must be in {list(BYTES)}, got {tensor.kind!r}",
    lambda tensor: tensor.kind in BYTES,
)
@requires(
    lambda tensor: (
        f"{tensor.kind} needs {_count_bytes(tensor.shape, tensor.kind)} bytes for {tensor.shape}, "
        f"got {len(tensor.content)}"
    ),
    lambda tensor: len(tensor.content) == _count_bytes(tensor.shape, tensor.kind),
)
def dequantise(tensor: Quantised) -> Float[np.ndarray, "..."]:
    """The numbers of a tensor: whole numbers of four or eight bits, times the scale of their block.

    A block holds 32 numbers $w_j = s u_j + m$. In Q4_1 it begins with s and m in 16 bits each, and
    16 bytes hold $u_j$ from 0 to 15: their low halves those of j = 0 to 15, their high halves those
    of 16 to 31. In Q8_0 there is no m, and $u_j$ are whole numbers from -128 to 127.

    Args:
        tensor: as `read_gguf` gives it.

    Returns:
        Its numbers in float32, in its shape.

    Raises:
        ValueError: a kind that is not in `BYTES`, or another number of bytes than the shape needs.

    Source:
        The code of the ggml project: `dequantize_row_q4_1` and `dequantize_row_q8_0`.

    Examples:
        Scale 0.5, offset -1, and all bytes 0x31: 1 in the low half, 3 in the high half.

        >>> block = np.array([0.5, -1], dtype="<f2").tobytes() + bytes([0x31] * 16)
        >>> numbers = dequantise(Quantised((2, 16), "Q4_1", block))
        >>> numbers[0, 0].item(), numbers[1, 0].item()
        (-0.5, 0.5)
    """
    shape, kind, content = tensor
    if kind == "F32":
        return np.frombuffer(content, dtype="<f4").reshape(shape)
    blocks = np.frombuffer(content, dtype=np.uint8).reshape(-1, BYTES[kind])
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    if kind == "Q8_0":
        return (scale * blocks[:, 2:].view(np.int8)).reshape(shape)
    offset = blocks[:, 2:4].copy().view("<f2").astype(np.float32)
    halves = blocks[:, 4:]
    whole = np.concatenate([halves & 15, halves >> 4], axis=1)
    numbers: Float[np.ndarray, "..."] = scale * whole
    numbers += offset  # in place: the largest tensor has 113 MB
    return numbers.reshape(shape)
