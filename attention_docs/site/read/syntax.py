"""How the parts of a page are written: regular expressions, and the options of boxes."""

from __future__ import annotations

import re

FRONT_MATTER = re.compile(r"\A---\n(?P<yaml>.*?)^---\n", re.S | re.M)
FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<ticks>`{3,}|~{3,})(?P<info>.*)$")
HEADING = re.compile(r"^(?P<level>#{1,6}) (?P<title>.*?)(?:\s*\{[^}]*#(?P<id>[\w-]+)[^}]*\})?\s*$")
NOTE = re.compile(r'^(?P<indent> *)!!! +[\w -]+?(?: +"(?P<title>.*)")?\s*$')
BOX = re.compile(r"^(?P<slashes>/{3,}) *(?P<kind>[\w-]+) *(?:\| *(?P<title>.*?) *)?$")
END = re.compile(r"^(?P<slashes>/{3,}) *$")
SETTING = re.compile(r"^ {4,}(?P<name>\w+): *(?P<value>.*?) *$")
ATTRIBUTES = re.compile(r"^\s*\{:? ?[.#][^{}]*\}\s*$")
REFERENCE = re.compile(r"^::: (?P<name>[\w.]+)\s*$")
# Requests that need no other page's text.
NAVIGATED = frozenset({"builds-on", "coq", "model", "next", "next-token", "sentence"})
REQUESTED = (
    *("filter", "gallery", "works", "reports", "results", "notes", "cards", "review", "questions"),
    *("cite", "editions", "inventory", "proofs", "teaching", "trust"),
    *sorted(NAVIGATED),
)
REQUEST = re.compile(r"^<!-- (?P<kind>[\w-]+)(?P<named>: (?P<name>[\w-]+))? -->$")
COUNTS = (
    *("pages", "blocks", "outputs", "values", "steps", "results", "computed"),
    *("proved", "path_minutes"),
)
MINUTES = re.compile(r'site\.minutes\["(?P<slug>[\w-]+)"\]')
INCLUDE = re.compile(r'^\s*--8<-- "(?P<listing>[\w./-]+):(?P<section>[\w-]+)"\s*$')
OPTION = re.compile(r'(\w+)="([^"]*)"')
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")
VALUE = re.compile(r"\{\{ (?P<inner>(?:(?!\{\{).)+?) \}\}")
COLOUR = re.compile(r'\{\{ site\.colours\["(?P<role>[\w-]*)"\] \}\}')  # a word, no value
CHAPTER = re.compile(r'\{\{ site\.chapter\["(?P<slug>[\w-]*)"\] \}\}')  # a word, no value
EMPTY_LINK = re.compile(r"\[\]\((?P<slug>[\w-]+)\.md(?P<anchor>#[\w-]+)?\)")  # shows the title
CELL = re.compile(r"(?<!\\)\|")
DISPLAY = re.compile(r"\$\$(.+?)\$\$", re.S)
INLINE = re.compile(r"(?<![\\$])\$(?!\s)([^$\n]+?)(?<!\s)\$(?!\d)")
TEX_WORDS = re.compile(r"\\(?:text|textbf|textrm|operatorname|tag)\{[^{}]*\}")
SPOKEN = re.compile(r"\\(?:text|textbf|textrm|textit)\{([^{}]*)\}")
REASON = re.compile(r"(?:&&|\\qquad|\\quad|&)?\s*\\text\{\s*[(（].*")
ROW = re.compile(r"\\\\(?:\[\d+pt\])?")
SIDES = re.compile(r"[=,、](?![^(\[{]*[)\]}])")  # of an equation, or of a list without brackets
SPACING = re.compile(r"\\[,;! ]|\s|[.,，。]$")
LIST_MARKER = re.compile(r"^\s*\d+[.)]\s", re.M)
LINK_TARGET = re.compile(r"\]\([^)]*\)|<[^>]*>|\{[^}]*\}")
NUMERAL = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")
OPTIONS = {  # of each kind of box, all of them; `*` stands for anything
    "deeper": {"id": "*"},
    "fold": {"id": "*"},
    "result": {
        "id": "*",
        "relation": "= ≤ ≥ < > ≈ grows falls iff implies not",
        "proof": "*",
        "check": "*",
        "test": "*",
    },
    "exercise": {"id": "*", "stars": "1 2 3", "kind": "pencil predict proof bug write"},
    "asks": {},
    "recall": {"id": "*", "see": "*"},
    "guess": {"id": "*"},
    "item": {"id": "*", "chapter": "*"},
    "film": {"id": "*"},
    "hint": {},
    "answer": {},
}
OPTIONAL = {
    "result": {
        "uncomputed": "words random",  # why not all of its formulas are computed
        "proved": "*",  # the theorems that prove it, or why no kernel has checked it
        "unproved": "measured program normal theory approximate open",
    },
    "exercise": {
        "needs": "*",  # the blocks whose outputs it speaks of, for who sees it alone
        "measured": "yes",  # no reasoning gives the answer: a trained model was asked
    },
    "guess": {
        "premise": "none",  # it can be answered without what stands before it
        "measured": "yes",
    },
}
ALLOWED = {"exec": {"1"}, "source": {"above", "folded", "none"}, "text": {"above", "folded"}}
