"""Models that other people trained: their files read, their symbols, their parameters."""

from __future__ import annotations

import hashlib
import json
import re
from math import prod
from pathlib import Path

import numpy as np
from jaxtyping import Float

from attention_docs.checks import requires

DATA = Path(__file__).with_name("data")
SYMBOLS = ("<pad>", "<s>", "</s>", "<unk>", *"0123456789+-*/=.()^% QR")
"""The 27 tokens of the four models that calculate, in the order of their ids."""
_SYMBOL = re.compile("|".join(map(re.escape, SYMBOLS)))

FILES = {
    "+": ("addformer", "5dc07a38ca3913d9907d291d64e2bbe94cc54bd4b66c6c52477feaf708eb243f"),
    "-": ("subformer", "c3de2101ddfe0d9a522544f9ef49e483a758b05361f26bda57ed115e5133d1eb"),
    "*": ("mulformer", "1bd8ed57140063006bea9b0fcc3f5823745d9c5d927323d9c60cf8885ecd58f2"),
    "/": ("divformer", "50903f0645efb7816874782592859e500bd06c6bcaa4fd6ab54f7907d43e50c4"),
}
"""For each operation the model that calculates it, and the SHA-256 of its file."""

DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}
"""The number formats that are read, as NumPy writes them: little-endian."""


def read_safetensors(content: bytes) -> dict[str, Float[np.ndarray, "..."]]:
    """The tensors of a file in the format of most published models.

    Such a file holds 8 bytes with the length of a header, the header as JSON, and then the numbers
    of all tensors. The header says for each tensor its dtype, its shape, and where it stands.

    Args:
        content: the bytes of the file.

    Returns:
        The tensors by their names, each in the shape and the dtype of the file.

    Raises:
        TypeError: content is not bytes.
        ValueError: the header is no JSON object or longer than the file, a dtype is neither F16,
            F32 nor F64, or a tensor does not have as many bytes as its shape needs.

    Source:
        The safetensors format, version 0.4, as its README describes it.

    Examples:
        One tensor of two numbers, 1.5 and -2, in 16 bits each.

        >>> header = b'{"w": {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]}}'
        >>> numbers = np.array([1.5, -2], dtype="<f2").tobytes()
        >>> read_safetensors(len(header).to_bytes(8, "little") + header + numbers)
        {'w': array([ 1.5, -2. ], dtype=float16)}
    """
    if not isinstance(content, bytes):
        raise TypeError(f"content must be bytes, got {type(content).__name__}")
    start = 8 + int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8:start])
        tensors = {name: one for name, one in header.items() if name != "__metadata__"}
    except (ValueError, AttributeError):
        raise ValueError(
            f"content must begin with the length of a JSON object and the object, got {start} "
            f"bytes of a file of {len(content)} that are not"
        ) from None
    found = {}
    for name, one in tensors.items():
        if one["dtype"] not in DTYPES:
            raise ValueError(f"dtype of {name} must be in {list(DTYPES)}, got {one['dtype']}")
        dtype = np.dtype(DTYPES[one["dtype"]])
        low, high = (start + offset for offset in one["data_offsets"])
        needed, got = prod(one["shape"]) * dtype.itemsize, len(content[low:high])
        if needed != got:
            raise ValueError(f"{name} must have {needed} bytes for {one['shape']}, got {got}")
        found[name] = np.frombuffer(content[low:high], dtype=dtype).reshape(one["shape"])
    return found


def read_known_file(path: Path, sha256: str) -> bytes:
    """The content of a file that must be the very one that was tested.

    Raises:
        OSError: no such file.
        ValueError: another SHA-256.
    """
    content = path.read_bytes()
    if (got := hashlib.sha256(content).hexdigest()) != sha256:
        raise ValueError(f"{path.name} must have the SHA-256 {sha256}, got {got}")
    return content


@requires(
    lambda operation: f"operation must be in {list(FILES)}, got {operation!r}",
    lambda operation: operation in FILES,
)
def load_arithmetic_model(operation: str) -> dict[str, Float[np.ndarray, "..."]]:
    """The parameters of one of the four models that calculate with digits.

    Args:
        operation: "+", "-", "*" or "/".

    Returns:
        The 12 tensors of the file, 1,480 numbers, in float64; their names end in the module that
        they belong to, such as `q_proj`. Matrices of linear maps are stored as PyTorch stores
        them, (d_out, d_in): this site's $W$ is the transpose.

    Raises:
        ValueError: another operation, or a file with another SHA-256 than that of `mathformer`.

    Source:
        The package mathformer 2.0.0, MIT licence; its architecture is that of Touvron et al. 2023,
        "LLaMA: Open and Efficient Foundation Language Models", §2.2.

    Examples:
        >>> model = load_arithmetic_model("-")
        >>> model["model.layers.0.self_attn.q_proj.weight"].shape
        (8, 8)
        >>> sum(tensor.size for tensor in model.values())
        1480
    """
    name, sha256 = FILES[operation]
    content = read_known_file(DATA / "mathformer" / f"{name}.safetensors", sha256)
    return {name: one.astype(np.float64) for name, one in read_safetensors(content).items()}


@requires(
    lambda text: f"text must be made of {' '.join(SYMBOLS)}, got {text!r}",
    lambda text: text != "" and _SYMBOL.sub("", text) == "",
)
def encode_symbols(text: str) -> list[int]:
    """The token ids of a calculation, one for each character; `<s>` and its like are one token.

    Args:
        text: made of `SYMBOLS`, not empty.

    Returns:
        Ids from 0 to 26.

    Raises:
        ValueError: no text, or a character that the models do not have.

    Source:
        The package mathformer 2.0.0, `MathTokenizer`.

    Examples:
        >>> encode_symbols("7-3="), encode_symbols("<s>7")
        ([11, 15, 7, 18], [1, 11])
    """
    return [SYMBOLS.index(symbol) for symbol in _SYMBOL.findall(text)]
