"""Describe a text for numbers.json, in the build and in the verification."""

from __future__ import annotations

import hashlib
import re
from typing import Any

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")


def describe_text(text: str) -> dict[str, Any]:
    """A text, the numbers in it, and its hash."""
    return {
        "text": text,
        "values": [float(number) for number in NUMBER.findall(text)],
        "sha256": hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest(),
    }
