"""What numbers.json says of a text: where a site is built, and where it is verified."""

from __future__ import annotations

import hashlib
import re
from typing import Any

NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")


def content(text: str) -> dict[str, Any]:
    """A text, the numbers in it, and its hash."""
    return {
        "text": text,
        "values": [float(number) for number in NUMBER.findall(text)],
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }
