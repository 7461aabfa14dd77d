"""The picture shown where a page is shared: the formula and a map of weights.

It holds no words itself, so one serves all languages and no Chinese font is needed.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from attention_docs.site.run.imports import Modules
from attention_docs.site.store import Store, key_of
from attention_docs.words import words

NAME = "card.png"
SIZE = (1200, 630)


@dataclass(frozen=True)
class Card:
    """The picture, and what it shows in words."""

    png: bytes
    alt: dict[str, str]


def card(root: Path, languages: Iterable[str], store: Store) -> Card:
    """The card, drawn once as long as nothing that it depends on has changed."""
    code = Modules(root).digest(["attention_docs.site.publish.card"])
    key = key_of("card", code, version("numpy"))
    record = store.get(key)
    if record is None:
        record = {"png": base64.b64encode(_draw()).decode()}
        store.put(key, record)
    alt = {lang: _alt(lang) for lang in languages}
    return Card(base64.b64decode(record["png"]), alt)


def _alt(lang: str) -> str:
    from attention_docs.text import text

    site = words(lang)["site"]
    rows = [text(row, ".4f") for row in _weights()]
    alt: str = site["card"]["alt"].format(site["marks"]["comma"].join(rows))
    return alt


def _weights() -> Any:
    from attention_docs.attention_function import attention
    from attention_docs.eight_steps import INPUTS, W_KEY, W_QUERY, W_VALUE

    return attention(INPUTS @ W_QUERY, INPUTS @ W_KEY, INPUTS @ W_VALUE)[1]


def _draw() -> bytes:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    from attention_docs.figures.parts import COLOURS

    weights, drawn = _weights(), io.BytesIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams["mathtext.fontset"] = "cm"
        sheet = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100)
        FigureCanvasAgg(sheet)
        axes = sheet.add_axes((0, 0, 1, 1), xlim=(0, SIZE[0]), ylim=(SIZE[1], 0))
        axes.axis("off")
        ink = COLOURS["figure-ink"]
        formula = r"$\mathrm{softmax}\left(\dfrac{QK^\top}{\sqrt{d_k}}\right)V$"
        axes.text(310, 330, formula, size=44, ha="center", va="center", color=ink)
        cell, left, top = 150, 695, 115
        middle: dict[str, Any] = {"ha": "center", "va": "center", "color": ink}
        for i, row in enumerate(weights):
            along = (i + 0.5) * cell
            axes.text(left - 40, top + along, f"$q_{i + 1}$", size=32, **middle)
            axes.text(left + along, top - 35, f"$k_{i + 1}$", size=32, **middle)
            for j, weight in enumerate(row):
                place = (left + j * cell, top + i * cell)
                fill = (COLOURS["role-weight-fill"], 0.06 + 0.94 * weight)
                frame: dict[str, Any] = {"edgecolor": COLOURS["role-weight"], "linewidth": 2}
                axes.add_patch(Rectangle(place, cell, cell, facecolor=fill, **frame))
                centre = place[0] + cell / 2, place[1] + cell / 2
                axes.text(*centre, f"{weight:.4f}", size=24, **middle)
        sheet.savefig(drawn, format="png", metadata={"Software": None})
    return drawn.getvalue()
