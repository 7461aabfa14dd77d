"""In place of jaxtyping in a reader's browser, which would load it for a second.

Tests check shapes where they are written, and readers read them; nothing runs by them.
"""

from __future__ import annotations

from typing import Any


class Float:
    """Any array: `Float[Array, "n d_k"]`."""

    def __class_getitem__(cls, shape: Any) -> Any:
        """Whatever has a shape."""
        return object


Bool = Int = Float64 = Shaped = Float
