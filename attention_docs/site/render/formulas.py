"""TeX to MathML at build time, by Temml in V8: no Node, no script in the reader's browser."""

from __future__ import annotations

import json
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
    return JSON.stringify(["", temml.renderToString(tex, options), found]);
  } catch (error) {
    const known = error instanceof temml.ParseError || error.message.startsWith("\\\\");
    return JSON.stringify([known ? error.message : "a part is missing", "", []]);
  }
}"""


@lru_cache(maxsize=1)
def _context() -> Any:
    from py_mini_racer import MiniRacer

    context = MiniRacer()
    context.eval(TEMML.read_text(encoding="utf-8"))
    context.eval(RENDER)
    return context


@lru_cache(maxsize=8192)
def render(tex: str, display: bool) -> str:
    """One formula as a <math> element, or ValueError with Temml's message."""
    error, rendered, gaps = json.loads(_context().call("render", tex, display))
    if error:
        raise ValueError(" ".join(error.split()))
    return mathml.mended(rendered, tex, gaps)
