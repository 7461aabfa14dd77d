"""A test whose tool is missing is skipped with its reason, or fails where the tool is required."""

from __future__ import annotations

import pytest

from tests import conftest


def test_every_test_that_opens_a_browser_says_so(request: pytest.FixtureRequest) -> None:
    """So it can be skipped, and `make check` leaves it out."""
    for item in request.session.items:
        if "chromium" in getattr(item, "fixturenames", ()):
            assert "browser" in conftest.list_tools(item), item.nodeid
