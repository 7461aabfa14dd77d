"""The colours of figures, formulas and prose, from one table: `colours.toml`.

What is drawn names a colour as a custom property of CSS, `var(--role-value)`, so a change of the
table runs no block again. The site's style sheet gives the properties their values; what is shown
outside of the site gets its light colours instead.
"""

from __future__ import annotations

import re
import tomllib
from itertools import groupby
from pathlib import Path
from typing import Any, Literal
from unicodedata import normalize

from attention_docs.locales import Locale

TABLE = Path(__file__).with_name("colours.toml")
ROLES = (
    "input",
    "key",
    "query",
    "value",
    "score",
    "weight",
    "weighted-value",
    "output",
    "neutral",
)
SERIES = 6
"""How many lines or bars without a role a chart can distinguish."""

NAMES = (
    *("figure-ink", "figure-page"),
    *(f"role-{role}{kind}" for role in ROLES for kind in ("", "-fill")),
    *(f"series-{number}" for number in range(1, SERIES + 1)),
)
"""The custom properties, without their dashes."""

VARIABLE = re.compile(r"var\(--([\w-]+)\)")
ROOT = re.compile(
    '<tspan class="root"[^>]*>.*?‾</tspan><tspan dx=[^>]*>(.*?)</tspan>(<tspan.*?</tspan>)?</tspan>'
)
ROLE = re.compile(r"var\(--role-([a-z-]+?)(?:-fill)?\)")


def read_palette(scheme: Literal["light", "dark"]) -> dict[str, str]:
    """Each of NAMES with its colour in a scheme; ValueError where the table holds others."""
    table = _read_table()
    pairs = {f"figure-{name}": pair for name, pair in table["figure"].items()}
    for role, colours in table["role"].items():
        pairs |= {f"role-{role}": colours["line"], f"role-{role}-fill": colours["fill"]}
    pairs |= {f"series-{number}": pair for number, pair in table["series"].items()}
    if tuple(pairs) != NAMES:
        raise ValueError(f"{TABLE.name} must hold {', '.join(NAMES)}, got {', '.join(pairs)}")
    return {name: pair[scheme == "dark"] for name, pair in pairs.items()}


def _read_table() -> dict[str, Any]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def make_style_sheet() -> str:
    """The custom properties in both schemes, and the class of a symbol or a word of each role."""
    light, dark = (
        "".join(f"  --{name}: {colour};\n" for name, colour in read_palette(scheme).items())
        for scheme in ("light", "dark")
    )
    # On paper the light colours hold in either scheme.
    slate = f'@media screen {{\n[data-md-color-scheme="slate"] {{\n{dark}}}\n}}\n'
    classes = "".join(
        f".of-{role} {{ --ink: var(--role-{role}); --fill: var(--role-{role}-fill); }}\n"
        for role in ROLES
    )
    return f":root {{\n{light}}}\n{slate}{classes}"


def resolve_colours(drawing: str) -> str:
    """A drawing with the light colours themselves, for a place without the site's style sheet.

    Examples:
        >>> resolve_colours('<path fill="var(--figure-page)" stroke="var(--other)"/>')
        '<path fill="#fbfaf5" stroke="var(--other)"/>'
    """
    light = read_palette("light")
    return VARIABLE.sub(lambda found: light.get(found[1], found[0]), drawing)


def write_plainly(drawing: str) -> str:
    """A drawing for a place without the site's style sheet: in its light colours, roots as text."""
    return ROOT.sub(_write_root, resolve_colours(drawing))


def _write_root(found: re.Match[str]) -> str:
    argument, below = (normalize("NFKC", one) for one in found.groups(default=""))
    slant = ' font-style="italic"' * argument.isalpha()
    return f"√<tspan{slant}>{argument}</tspan>{below}"


def list_roles(drawing: str) -> list[str]:
    """The roles whose colours each picture of a drawing has, in their order; equal ones once.

    Examples:
        >>> key, weight = ('<path fill="var(--role-%s-fill)"/>' % one for one in ("key", "weight"))
        >>> list_roles(f"<svg>{key}{weight}{key}</svg><svg>{weight}</svg><svg>{weight}</svg>")
        ['key, weight, key', 'weight']
    """
    pictures = (groupby(ROLE.findall(one)) for one in drawing.split("</svg>"))
    found = (", ".join(role for role, _ in runs) for runs in pictures)
    return list(dict.fromkeys(filter(None, found)))


def name_colour(role: str, locale: Locale) -> str:
    """What a language calls a role's colour; KeyError that names the file which lacks it.

    Examples:
        >>> from attention_docs.locales import read_locale
        >>> name_colour("output", read_locale("en"))
        'dark green'
    """
    name: str = _read_table()["role"][role]["name"]
    return name if locale.lang == "en" else str(locale["colours"][name])
