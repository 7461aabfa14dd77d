"""The site's own look: contrasts of the paper's colours; the logo, which is a map of weights."""

from __future__ import annotations

import re
from typing import Any

import mpmath
import pytest
from lxml import etree

from tests.conftest import ROOT
from tests.exact import KEYS, QUERIES, attention_weights
from tests.test_figures import contrast, palette, rgb

ASSETS = ROOT / "docs" / "assets"
SCHEMES = ("light", "dark")
INKS = ("input", "key", "query", "value", "score", "weight", "output")
TEXTS = ("graphite", "graphite-light", "link", "comment", "string", "keyword")
SVG = "{http://www.w3.org/2000/svg}"


def paper(scheme: str) -> dict[str, str]:
    """The colours that paper.css and the table of roles name in a scheme."""
    sheet = (ASSETS / "paper.css").read_text(encoding="utf-8")
    start = {"light": '[data-md-color-scheme="default"]', "dark": '[data-md-color-scheme="slate"]'}
    block = sheet.split(start[scheme] + " {")[1].split("}")[0]
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
    named = dict(re.findall(r"--([\w-]+): var\(--([\w-]+)\);", sheet.split("}")[0]))
    colours = palette(scheme)
    return colours | found | {name: colours[one] for name, one in named.items()}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", [*TEXTS, *(f"role-{role}" for role in INKS)])
def test_what_is_read_stands_out_from_paper_and_code(scheme: str, name: str) -> None:
    colours = paper(scheme)
    for ground in ("paper", "paper-shade"):
        assert contrast(rgb(colours[name]), rgb(colours[ground])) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
def test_frame_and_code_are_grey(scheme: str) -> None:
    """Green and red are roles of numbers: nothing else comes near them."""
    for name in ("paper", "paper-shade", "paper-line", *TEXTS):
        if name != "link":
            parts = rgb(paper(scheme)[name])
            assert max(parts) - min(parts) <= 48 / 255 * max(1, *parts), name


def test_the_logo_is_the_map_of_the_first_page() -> None:
    logo: Any = etree.parse(ASSETS / "map.svg").getroot()
    cells = logo.findall(f"{SVG}g/{SVG}path")
    weights = attention_weights(QUERIES, KEYS, mpmath.sqrt(3))
    shades = [float(cell.get("fill-opacity")) for cell in cells]
    wanted = [0.06 + 0.94 * float(weight) for row in weights for weight in row]
    assert shades == pytest.approx(wanted, abs=0.005)
    places = [re.match(r"M([\d.]+) ([\d.]+)", cell.get("d")) for cell in cells]
    corners = [(float(at[2]), float(at[1])) for at in places if at]
    assert corners == sorted(corners)  # row by row
    assert len(set(corners)) == 9
