"""Tensors to figures: inline SVG with an alternative text, in any language that has words.

A kind of figure is a module, with its public function, its drawing and its text: `heatmaps`,
`products`, `flows`, `diagrams`, `line_charts`, `bar_charts`, `histograms`, `clocks`, `chips`,
`token_lines`, `planes`, `ribbons`, `steppers`, `search_film`, `tables`; `groups`: several side by
side; to take in hand `sentence_dial`, `softmax_bars`, `draggable_hull`, `word_clocks`, `machine`.
Below them:

- `instruments`: the base class of figures that a script moves
- `ties`: the drawing of one word of `ribbons`
- `tensors`, `steps`: the numbers of `search_film`, and what is said of each of its drawings
- `figure`: the base class; labels and sentences in a language (attention_docs/locales)
- `matrix`: a matrix as a box of cells
- `rows`: matrices and lines of text in rows
- `chart`: series, title, legend and axes
- `scale`: places and round numbers along an axis
- `numbers`: tensors as lists, numbers as text
- `svg`: colours, paths and text

`share_card` draws the picture for places where a page is shared, and is the one module that needs
more than NumPy.
"""

from attention_docs.figures.bar_charts import bar_chart
from attention_docs.figures.chips import chips
from attention_docs.figures.clocks import dials
from attention_docs.figures.diagrams import diagram
from attention_docs.figures.draggable_hull import draggable_hull
from attention_docs.figures.figure import Figure, numbered
from attention_docs.figures.flows import flow
from attention_docs.figures.groups import beside
from attention_docs.figures.heatmaps import heatmap
from attention_docs.figures.histograms import histogram
from attention_docs.figures.line_charts import line_chart
from attention_docs.figures.machine import machine
from attention_docs.figures.planes import plane
from attention_docs.figures.products import product
from attention_docs.figures.ribbons import ribbons
from attention_docs.figures.search_film import film_inputs, film_search
from attention_docs.figures.sentence_dial import sentence_dial
from attention_docs.figures.softmax_bars import softmax_bars
from attention_docs.figures.steppers import Frame, slider, stepper
from attention_docs.figures.tables import table
from attention_docs.figures.token_lines import token_lines
from attention_docs.figures.word_clocks import word_clocks

__all__ = [
    "Figure",
    "Frame",
    "bar_chart",
    "beside",
    "chips",
    "diagram",
    "dials",
    "draggable_hull",
    "film_inputs",
    "film_search",
    "flow",
    "heatmap",
    "histogram",
    "line_chart",
    "machine",
    "numbered",
    "plane",
    "product",
    "ribbons",
    "sentence_dial",
    "slider",
    "softmax_bars",
    "stepper",
    "table",
    "token_lines",
    "word_clocks",
]
