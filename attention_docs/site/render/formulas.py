"""TeX to MathML at build time, by Temml in V8: no Node, no script in the reader's browser."""

from __future__ import annotations

import atexit
import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from attention_docs.site.render import mathml

TEMML = Path(__file__).parents[1] / "temml" / "temml.min.js"
# An error comes back as a value: its text is for the reader, not for a stack trace. Beside the
# MathML come the spaces that `\\[4pt]` asks for, a list for each table.
RENDER = r"""
function gaps(node, found) {
  if (node === null || typeof node !== "object") return found;
  if (node.type === "cr") throw new Error("\\\\ stands outside of an environment");
  if (node.type === "array") {
    found.push(node.rowGaps.map((gap) => gap && toPoints(gap)));
  }
  for (const [key, value] of Object.entries(node)) if (key !== "loc") gaps(value, found);
  return found;
}
function toPoints({ number, unit }) {
  const points = { pt: 1, em: 10, ex: 4.3 }[unit];
  if (!points) throw new Error(`\\\\[${number}${unit}] is not in pt, em or ex`);
  return number * points;
}
function render(tex, displayMode) {
  try {
    // Every space of 0.1667 em is one that Temml sets by itself: see mathml.py.
    const macros = { "\\,": "\\hskip 0.167em" };
    const options = { displayMode, throwOnError: true, strict: true, macros };
    const found = gaps(temml.__parse(tex, options), []);
    return ["", temml.renderToString(tex, options), found];
  } catch (error) {
    const known = error instanceof temml.ParseError || error.message.startsWith("\\\\");
    return [known ? error.message : "a part is missing", "", []];
  }
}
function renderAll(formulas) {
  return JSON.stringify(formulas.map(([tex, displayMode]) => render(tex, displayMode)));
}"""

Formula = tuple[str, bool]  # TeX, and whether it stands by itself


@lru_cache(maxsize=1)
def _load_temml() -> Any:
    from py_mini_racer import MiniRacer

    context = MiniRacer()
    atexit.register(context.close)  # later it would find its own module taken apart
    context.eval(TEMML.read_text(encoding="utf-8"))
    context.eval(RENDER)
    return context


class Renderer:
    """Renders formulas, and knows those that it has rendered: what is wrong, or their MathML."""

    def __init__(self) -> None:
        self.cached: dict[Formula, tuple[str, str]] = {}

    def render_all(self, formulas: Iterable[Formula]) -> None:
        """Render several formulas in one call: the call to V8 takes longer than the rendering."""
        new = list(dict.fromkeys(one for one in formulas if one not in self.cached))
        answers = json.loads(_load_temml().call("renderAll", new)) if new else []
        for (tex, display), (error, rendered, gaps) in zip(new, answers, strict=True):
            try:
                found = error, "" if error else mathml.adapt_mathml(rendered, tex, gaps)
            except ValueError as wrong:
                found = str(wrong), ""
            self.cached[tex, display] = found

    def render(self, tex: str, display: bool) -> str:
        """One formula as a <math> element, or ValueError with Temml's message."""
        self.render_all([(tex, display)])
        error, html = self.cached[tex, display]
        if error:
            raise ValueError(" ".join(error.split()))
        return html
