"""Tensors to figures: inline SVG with an alternative text, in every language of the site."""

from attention_docs.figures.bars import bar_chart, histogram
from attention_docs.figures.charts import line_chart
from attention_docs.figures.flows import flow
from attention_docs.figures.parts import Figure, numbered
from attention_docs.figures.tensors import heatmap, product

__all__ = [
    "Figure",
    "bar_chart",
    "flow",
    "heatmap",
    "histogram",
    "line_chart",
    "numbered",
    "product",
]
