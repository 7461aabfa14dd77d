"""A test whose tool is missing is skipped with its reason, or fails where the tool is required."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests import conftest

REASON = "no telescope was found"


@pytest.fixture
def set_up(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Callable[[], None]:
    """Set up a test that needs a tool which is missing."""
    tool = conftest.Tool("REQUIRE_TELESCOPE", lambda: REASON)
    monkeypatch.setitem(conftest.TOOLS, "telescope", tool)
    monkeypatch.setattr(conftest, "list_tools", lambda item: ["telescope"])
    return lambda: conftest.pytest_runtest_setup(request.node)


def test_a_missing_tool_is_skipped(set_up: Callable[[], None]) -> None:
    with pytest.raises(pytest.skip.Exception, match=REASON):
        set_up()


def test_a_missing_tool_fails_where_it_is_required(
    set_up: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUIRE_TELESCOPE", "1")
    with pytest.raises(pytest.fail.Exception, match=f"REQUIRE_TELESCOPE is set, and {REASON}"):
        set_up()


def test_every_test_that_opens_a_browser_says_so(request: pytest.FixtureRequest) -> None:
    """So it can be skipped, and `make check` leaves it out."""
    for item in request.session.items:
        if "chromium" in getattr(item, "fixturenames", ()):
            assert "browser" in conftest.list_tools(item), item.nodeid
