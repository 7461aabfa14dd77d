"""Files of models that are broken, of another kind, or too short: what each reader says of them."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from typing import Any

import pytest

from attention_docs.gguf import read_gguf
from attention_docs.minilm import read_onnx
from attention_docs.real_models import read_safetensors


def safetensors(header: object, body: bytes = b"") -> bytes:
    """A file in this format, whatever its header says."""
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def gguf(kind: int = 0, version: int = 3, body: int = 128) -> bytes:
    """A file with one tensor w of 4 × 8 numbers."""
    header = b"GGUF" + struct.pack("<IQQ", version, 1, 0)
    header += struct.pack("<Q1sIQQIQ", 1, b"w", 2, 8, 4, kind, 0)
    return header + bytes(-len(header) % 32 + body)


def onnx(kind: int = 1, size: int = 2, body: int = 8) -> bytes:
    """A file with one tensor w of `size` numbers."""
    tensor = bytes([8, size, 16, kind, 8 << 3 | 2, 1]) + b"w" + bytes([9 << 3 | 2, body])
    tensor += bytes(body)
    graph = bytes([5 << 3 | 2, len(tensor)]) + tensor
    return bytes([7 << 3 | 2, len(graph)]) + graph


PAIR = {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]}
GOOD = [
    (read_safetensors, safetensors({"w": PAIR}, bytes(8))),
    (read_gguf, gguf()),
    (read_onnx, onnx()),
]
NO_HEADER = "content must begin with the length of a JSON object and the object, got "
BROKEN = [
    (read_safetensors, b"", NO_HEADER + "8 bytes of a file of 0 that are not"),
    (read_safetensors, b"\5" + bytes(8), NO_HEADER + "13 bytes of a file of 9 that are not"),
    (read_safetensors, safetensors([1]), NO_HEADER + "11 bytes of a file of 11 that are not"),
    (
        read_safetensors,
        safetensors({"w": PAIR | {"dtype": "BF16"}}, bytes(8)),
        "dtype of w must be in ['F16', 'F32', 'F64'], got BF16",
    ),
    (read_safetensors, safetensors({"w": PAIR}, bytes(7)), "w must have 8 bytes for [2, 1], got 7"),
    (
        read_safetensors,
        safetensors({"w": PAIR | {"shape": [3]}}, bytes(20)),
        "w must have 12 bytes for [3], got 8",
    ),
    (read_gguf, b"GGML and more", "content must begin with GGUF, got b'GGML'"),
    (read_gguf, gguf(version=2), "the version of the format must be 3, got 2"),
    (read_gguf, gguf()[:30], "content must hold a whole header, got 30 bytes"),
    (read_gguf, gguf(kind=2), "the kind of w must be in {0: 'F32', 3: 'Q4_1', 8: 'Q8_0'}, got 2"),
    (read_gguf, gguf(body=127), "w must end within 223 bytes, got 224"),
    (read_onnx, b"\x08\x0a", "content must hold a graph, got 2 bytes without field 7"),
    (read_onnx, onnx()[:-1], "a field must end within its message of 20 bytes, got 21"),
    (read_onnx, b"\x80", "a field must end within its message of 1 bytes, got none that does"),
    (
        read_onnx,
        onnx(kind=10),
        "dtype of w must be in {1: '<f4', 3: '<i1', 7: '<i8', 9: '<?'}, got 10",
    ),
    (read_onnx, onnx(size=3), "w must have 12 bytes for (3,), got 8"),
]


@pytest.mark.parametrize(("read", "content"), GOOD)
def test_a_whole_file_is_read(read: Callable[[bytes], Any], content: bytes) -> None:
    assert read(content)
    with pytest.raises(TypeError, match="content must be bytes, got str"):
        read("content")  # type: ignore[arg-type]


@pytest.mark.parametrize(("read", "content", "message"), BROKEN)
def test_a_broken_file_is_refused(
    read: Callable[[bytes], Any], content: bytes, message: str
) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
        read(content)
