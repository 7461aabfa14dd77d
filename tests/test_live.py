"""Live pages: what a run with edits means, what comes from set-up, and the pages in a browser."""

from __future__ import annotations

import _imp
import contextlib
import hashlib
import http.server
import io
import json
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attention_docs import text as package_text
from attention_docs.locales import read_locale
from attention_docs.site.publish import bytecode, runtime
from attention_docs.site.publish.live import pack_package
from attention_docs.site.read.knobs import Knob, extract_knobs
from attention_docs.site.run import live, live_state
from attention_docs.site.run.live import Session
from tests.conftest import LANGUAGES, ROOT, scale_examples

# --- a run with edits is a run from the top ------------------------------------------------------

BLOCKS = [
    "import numpy as np\nfrom attention_docs.softmax import softmax\n"
    "from attention_docs.text import text\n"
    "x = np.arange(6.0).reshape(2, 3)\n"
    "row = x[0]\nflipped = x.T\nstep = 1\nnp.random.seed(1)",
    "def scaled(a, by=2.0):\n    return a * by * step\n\nprint(text(scaled(x), '.2f'))",
    "x[0] += step\nprint(text(row, '.2f'), text(flipped, '.2f'))",
    "rng = np.random.default_rng(0)\ndraw = rng.normal(size=2)\nprint(text(draw, '.4f'))",
    "names = {'a': [1], 'b': []}\nalias = names['a']",
    "alias.append(step)\nprint(names)",
    "draw = rng.normal(size=2)\nprint(text(draw, '.4f'))",
    "class Counter:\n    count = 0\n    last = []\n\n"
    "counter = Counter()\ncounter.count += step\nprint(counter.count)",
    "def closed():\n    total = []\n"
    "    def add(one):\n        total.append(one)\n        return total\n"
    "    return add\nadd = closed()",
    "print(add(step), add(2))",
    "def collect(one, into=alias):\n    into.append(one)\n    return into\n"
    "Counter.count += 1\nCounter.last.append(step)\nCounter.more = step\nprint(collect(0))",
    "Counter.count += step\nprint(collect(step), names, counter.last, vars(Counter)['more'])",
    "row[:] = 7\nprint(text(x, '.1f'), text(flipped.sum(), '.1f'))",
]
EDITS = [
    *((n, BLOCKS[n] + f"\nstep = {value}") for n in range(len(BLOCKS)) for value in (2, 3)),
    (0, BLOCKS[0].replace("step = 1\n", "step = 5\n")),
    (0, BLOCKS[0].replace("6.0", "8.0").replace("2, 3", "2, 4")),
    (2, "x[0] = np.nan"),
    (2, "1 / 0"),
    (3, "rng = np.random.default_rng(1)\ndraw = rng.normal()\n"),
    (4, "names = {'a': [1, 2]}\nalias = names"),
    (5, "print(alias is names['a'])"),
    (7, "def closed():\n    return print\nnumbers = iter(range(9))\nnext(numbers)"),
    (8, "add = lambda one: one"),
    (1, "import attention_docs.text\nattention_docs.text.unsigned_zero = lambda text: 'broken'"),
    (9, "class Sum:\n    parts = []\nSum.parts.append(step)\nprint(Sum.parts)"),
    (10, "Sum.parts.append(1)\nprint(Sum.parts)"),
    (2, BLOCKS[2] + "\nunused = 5"),
    (2, BLOCKS[2] + "\nunused = 6\nnp.random.seed(5)"),
    (6, BLOCKS[6] + "\nif step > 1:\n    unused = 7"),
    (7, BLOCKS[7] + "\nprint(globals().get('unused'), text(np.random.rand(), '.3f'))"),
    (10, BLOCKS[10] + "\nprint('unused' in dir(), text(np.random.rand(), '.3f'))"),
    (10, BLOCKS[10] + "\nprint(unused)"),
]


def make_page(
    blocks: list[str], values: list[list[Any]] | None = None, slow: Sequence[int] = ()
) -> str:
    cells = [
        {
            "id": f"b{n}",
            "code": code,
            "listing": "test.py",
            "line": 10 * n + 1,
            "torch": False,
            "slow": n in slow,
        }
        | {"values": values if values and n == len(blocks) - 1 else [], "text": "", "figure": ""}
        | {"files": []}
        for n, code in enumerate(blocks)
    ]
    return json.dumps({"lang": "en", "words": {}, "cells": cells})


class Reader:
    """What somebody sees who runs a page again and again."""

    def __init__(self, blocks: list[str]) -> None:
        values = [[1, "x[0, 0]", ".3f", ""], [2, "step", "", ""]]
        self.session = Session(make_page(blocks, values))
        self.seen: dict[str, Any] = {}
        self.ran: list[int] = []

    def run(self, codes: list[str]) -> dict[str, Any]:
        self.seen = {key: one for key, one in self.seen.items() if key != "error"}
        self.ran = []
        for number in range(self.session.begin(json.dumps(codes)), len(codes)):
            self.ran.append(number)
            result = json.loads(self.session.step(number))
            if "error" in result:
                self.seen["error"] = (result["id"], result["error"])
                break
            for key in ("text", "figure"):
                if key in result:
                    self.seen[result["id"], key] = result[key]
            self.seen[result["id"], "values"] = result["values"]
        return self.seen


PACKAGE = package_text.unsigned_zero  # the one thing of the package that an edit here changes


@contextlib.contextmanager
def untouched_package() -> Iterator[None]:
    """The package as it is without edits; what they have made of it comes back, or stays out."""
    left = package_text.unsigned_zero
    package_text.unsigned_zero = PACKAGE
    try:
        yield
    finally:
        package_text.unsigned_zero = left


DRAWING = """class Drawing:
    def __init__(self, n): self.n = n
    def svg(self, lang): return f"<svg>{'<rect/>' * self.n}</svg>"
    def alt(self, lang): return ""
Drawing({n})"""


@pytest.mark.parametrize(("n", "is_shown"), [(1000, True), (59_998, True), (59_999, False)])
def test_a_drawing_that_would_hold_up_the_page_is_not_shown(n: int, is_shown: bool) -> None:
    session = Session(make_page(["1"]))
    session.begin(json.dumps([DRAWING.replace("{n}", str(n), 1)]))
    (figure,) = (json.loads(session.step(0))["figure"],)
    assert figure.startswith("<svg>") == is_shown
    assert is_shown or "at most 60,000 tags, got 60,001" in figure
    session.begin(json.dumps([DRAWING.replace("{n}", "1").replace("<rect/>", "." * 3_000_000)]))
    assert "at most 3,000,000 characters" in json.loads(session.step(0))["figure"]


@pytest.mark.parametrize(("opened", "closed"), [("<g>", "</g>"), ("<g>", "")])
@pytest.mark.parametrize("n", [199, 200])
def test_a_drawing_too_deep_for_the_page_is_not_shown(opened: str, closed: str, n: int) -> None:
    tags = f"{opened * n}<rect/><input>{closed * n}<g></g>"
    code = DRAWING.replace("{n}", "1").replace("<rect/>", tags)
    session = Session(make_page(["1"]))
    session.begin(json.dumps([code]))
    figure = json.loads(session.step(0))["figure"]
    deepest = 1 + n + (not closed)
    assert figure.startswith("<svg>") == (deepest <= 200)
    assert deepest <= 200 or f"at most 200 tags in each other, got {deepest}" in figure


@pytest.mark.parametrize("code", ["raise ValueError('{}')", "raise ValueError, '{}'"])
def test_an_error_says_no_more_than_a_page_holds(code: str) -> None:
    session = Session(make_page(["1"]))
    session.begin(json.dumps([code.format("x" * 30_000)]))
    error = json.loads(session.step(0))["error"]
    for key in ("message", "code"):
        assert len(error[key]) <= 10_100
    assert "… (30," in error["code"]
    session.begin(json.dumps(["raise ValueError('x' * 30_000)"]))
    message = json.loads(session.step(0))["error"]["message"]
    assert message.startswith("ValueError: xxx")
    assert message.endswith("x … (30,012 characters)")
    assert len(message) <= 10_100


HALVES = [
    "print('\\ud800')",
    "'\\ud800'",
    "x = '\\ud800'\nprint(len(x))",
    DRAWING.replace("{n}", "1").replace("'<rect/>'", "chr(0xD800)"),
]


@pytest.mark.parametrize("code", HALVES)
def test_half_of_a_pair_is_a_text_like_any_other(code: str) -> None:
    session = Session(make_page(["1", "x = 1", "print(x)"]))
    session.begin(json.dumps(["x = 1", code, "print(len(str(x)))"]))
    results = [json.loads(session.step(number)) for number in range(3)]
    assert not [one["error"] for one in results if "error" in one]
    assert results[2]["text"] == "1"


BROKEN = """
const { Runs } = await import(process.argv[1]);
const bar = { run: {}, showStatus: console.log };
Runs.prototype.handleBroken.call({ end() {}, bar, words: { broken: "{}" } }, process.argv[2]);
"""


@pytest.mark.needs("node")
@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "PythonError: Traceback (last):\n  File x\nKeyError: 1\nTypeError: 2\n    at f (x.js)",
            "TypeError: 2",
        ),
        ("Error: no worker\n    at f (x.js)", "Error: no worker"),
        ("one\ntwo", "two"),
    ],
)
def test_what_has_ended_python_is_said(said: str, shown: str) -> None:
    script = (ROOT / "docs" / "assets" / "live" / "runs.js").as_uri()
    command = ["node", "--input-type=module", "-e", BROKEN, "--", script, said]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{shown}\n"


HOSTILE = """
class Meta(type):
    def __getattribute__(cls, name): raise SystemExit
class E(Exception, metaclass=Meta):
    def __str__(self): raise KeyboardInterrupt
"""


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (HOSTILE + "raise E", "SystemExit: "),
        (DRAWING.replace("return f", "return 5 or f").replace("{n}", "1"), "AttributeError: "),
    ],
)
def test_whatever_a_block_leaves_is_an_error_of_the_block(code: str, message: str) -> None:
    session = Session(make_page(["1", "2"]))
    session.begin(json.dumps(["1", code]))
    session.step(0)
    result = json.loads(session.step(1))
    assert result["id"] == "b1"
    assert result["error"]["message"].startswith(message)
    session.begin(json.dumps(["1", "print(3)"]))
    assert json.loads(session.step(1))["text"] == "3"


def test_a_module_that_would_end_python_is_an_error() -> None:
    """Python of a browser has not loaded it; here NumPy has."""
    code = (
        "import json, sys\nfrom attention_docs.site.run.live import Session\n"
        "for name in [one for one in sys.modules if 'ctypes' in one]: del sys.modules[name]\n"
        "page, codes = json.load(sys.stdin)\nsession = Session(page)\n"
        "session.begin(json.dumps(codes))\nprint(session.step(0))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps([make_page(["1"]), ["x = 1\nimport ctypes"]]),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    error = json.loads(done.stdout)["error"]
    assert error["message"].startswith("ModuleNotFoundError: ctypes calls libraries of the machine")
    assert error["line"] == 2


@pytest.mark.long
@scale_examples(30)
@given(
    st.lists(st.lists(st.sampled_from(EDITS), max_size=3), min_size=1, max_size=4),
)
@pytest.mark.parametrize("seconds", [0.0, 60.0])  # copies before all blocks, or before edited ones
def test_a_run_after_edits_is_a_run_from_the_top(
    seconds: float, turns: list[list[tuple[int, str]]]
) -> None:
    """Whatever was edited before, views, closures, generators and changed libraries included."""
    with pytest.MonkeyPatch.context() as patch, untouched_package():
        patch.setattr(live, "RERUN_SECONDS", seconds)
        reader = Reader(BLOCKS)
        reader.run(BLOCKS)
        for edits in turns:
            codes = list(BLOCKS)
            for number, code in edits:
                codes[number] = code
            seen = reader.run(codes)
            with untouched_package():
                wanted = Reader(BLOCKS).run(codes)
            stopped = wanted.get("error")
            assert seen.get("error") == stopped
            last = int(stopped[0][1:]) if stopped else len(codes)
            for key in wanted:
                if key != "error" and int(key[0][1:]) < last:
                    assert seen.get(key, "") == wanted[key], key


def test_a_block_with_torch_leaves_its_files() -> None:
    """What follows goes on from the file as it was published, after an edit too."""
    document = json.loads(make_page(["import torch\nfile = made()", "print(file.name, file.text)"]))
    document["cells"][0] |= {"torch": True, "files": [["file", "a.txt", "four"]]}
    session = Session(json.dumps(document))
    for end in ("", "\nprint(len(file.text))"):
        codes = [document["cells"][0]["code"], document["cells"][1]["code"] + end]
        for number in range(session.begin(json.dumps(codes)), 2):
            result = json.loads(session.step(number))
    assert result["text"].split() == ["a.txt", "four", "4"]


def test_what_comes_before_an_edit_does_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of seven blocks an edit of the last but one runs two; behind a closure, all from it on."""
    monkeypatch.setattr(live, "RERUN_SECONDS", 0.0)
    reader = Reader(BLOCKS[:7])
    codes = BLOCKS[:7]
    reader.run(codes)
    assert reader.ran == [0, 1, 2, 3, 4, 5, 6]
    reader.run(codes)
    assert reader.ran == []
    reader.run([*codes[:5], "print(1)", codes[6]])
    assert reader.ran == [5, 6]
    reader = Reader(BLOCKS)
    reader.run(BLOCKS)
    reader.run([*BLOCKS[:10], BLOCKS[10] + "\nprint(2)", *BLOCKS[11:]])
    assert reader.ran == [8, 9, 10, 11, 12]


def test_functions_of_the_package_hinder_no_copy() -> None:
    """They check their arguments, and are closures therefore."""
    blocks = ["from attention_docs.softmax import softmax", "import numpy as np"]
    blocks += ["x = softmax(np.ones(2))", "print(x.sum())"]
    reader = Reader(blocks)
    reader.session = Session(make_page(blocks))
    for end in ("", "\n1", "\n2"):
        reader.run([*blocks[:3], blocks[3] + end])
    assert reader.ran == [3]


@pytest.mark.parametrize("slug", ["eight-steps", "masking", "positions", "softmax"])
def test_a_page_can_be_copied_before_each_block(
    slug: str, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it cannot, an edit runs all of it again, and nobody is told."""
    monkeypatch.setattr(live, "RERUN_SECONDS", 0.0)
    session = Session((site / "live" / "en" / f"{slug}.json").read_text("utf-8"))
    codes = [cell.code for cell in session.cells]
    for number in range(session.begin(json.dumps(codes)), len(codes)):
        session.step(number, draws=False)
    assert None not in session.state.copies


def test_copies_that_take_too_much_make_room_for_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_state, "MAX_COPIED_BYTES", 300_000)
    monkeypatch.setattr(live, "RERUN_SECONDS", 0.0)
    blocks = [
        "import numpy as np",
        *(f"x{n} = np.ones(2_000)" for n in range(9)),
        "print(x8.sum())",
    ]
    reader = Reader(blocks)
    reader.session = Session(make_page(blocks))
    reader.run(blocks)
    assert None in reader.session.state.copies
    blocks[-1] = "print(int(x8.sum()))"
    assert reader.run(blocks)["b10", "text"] == "2000"
    assert reader.ran == [10]


def test_a_state_is_copied_at_an_edit_and_where_time_has_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blocks = [f"x{n} = x{n - 1} + 1" if n else "x0 = 1" for n in range(12)]
    reader = Reader(blocks)
    reader.session = Session(make_page(blocks))
    monkeypatch.setattr(live, "RERUN_SECONDS", 60.0)
    reader.run(blocks)
    for step in (2, 3):
        edited = [*blocks[:7], f"x7 = x6 + {step}", *blocks[8:]]
        reader.run(edited)
        copied = [number for number, state in enumerate(reader.session.state.copies) if state]
        assert copied == [0, 7]
    assert reader.ran == [7, 8, 9, 10, 11]
    reader.run([*edited[:11], "print(x10)"])
    assert reader.session.displayed[11][0] == "13"
    monkeypatch.setattr(live, "RERUN_SECONDS", 0.0)
    reader.run(["x0 = 5", *blocks[1:]])
    assert all(reader.session.state.copies)


def test_of_a_stepper_the_frame_that_shows_comes_first() -> None:
    """It is the one that stands among all of them, which can wait; other figures do not."""
    head = "from attention_docs.figures import Frame, bar_chart, slider\n"
    bars = 'bar_chart(["a", "b"], {"": [%s, 2]}, ylabel="y", spec="d")'
    frames = f'slider("n", [Frame((str(n),), f"n = {{n}}", ({bars % "n"},), "") for n in (0, 1)])'
    blocks = [head + bars % "1", head + frames]
    session = Session(make_page(blocks))
    session.begin(json.dumps(blocks))
    assert "frame" not in json.loads(session.step(0))
    first = json.loads(session.step(1, at="1"))
    assert first["frame"].startswith('<figure class="frame" data-at="1"')
    assert "figure" not in first
    assert session.waiting() == [1]
    whole = json.loads(session.draw(1))["figure"]
    assert first["frame"] in whole
    assert whole.count("<figure") == 2
    session.begin(json.dumps([blocks[0], blocks[1] + "  # again"]))
    assert json.loads(session.step(1, at="2"))["frame"] == ""


def test_a_slow_block_waits_until_it_is_needed_or_asked_for() -> None:
    """With what uses it; what a reader has edited needs it, and does not wait."""
    blocks = ["a = 1", "b = a + 1\nprint(b)", "c = a\nprint(c)", "print(b, c)", "print(c + 1)"]
    session = Session(make_page(blocks, slow=[1]))

    def run(asked: Sequence[str] = (), **edits: str) -> tuple[list[int], list[str]]:
        codes = [edits.get(f"b{n}", code) for n, code in enumerate(blocks)]
        for number in range(session.begin(json.dumps(codes), json.dumps(asked)), len(codes)):
            result = json.loads(session.step(number))
            assert "error" not in result
        return session.list_later(), [text for text, _ in session.displayed]

    assert run() == ([1, 3], ["", "", "1", "", "2"])
    assert run(b0="a = 2") == ([1, 3], ["", "", "2", "", "3"])
    assert run(["b1"], b0="a = 2") == ([], ["", "3", "2", "3 2", "3"])
    assert run(["b3"], b0="a = 2") == ([], ["", "3", "2", "3 2", "3"])
    assert run(b0="a = 5") == ([1, 3], ["", "", "5", "", "6"])
    assert run(b3="print(b)") == ([], ["", "2", "1", "2", "2"])
    assert run(b4="print(c)") == ([1, 3], ["", "", "1", "", "1"])
    assert run(b4="print(eval('b'))") == ([], ["", "2", "1", "2 1", "2"])


def test_what_is_drawn_at_random_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A generator that has no name is a part of what an edit finds."""
    monkeypatch.setattr(live, "RERUN_SECONDS", 0.0)
    blocks = ["import numpy as np\nnp.random.seed(1)", "print(f'{np.random.rand():.3f}')"]
    reader = Reader(blocks)
    reader.session = Session(make_page(blocks))
    first = dict(reader.run(blocks))["b1", "text"]
    blocks[1] += "\nprint(1)"
    assert reader.run(blocks)["b1", "text"] == f"{first}\n1"
    assert reader.ran == [1]


PATCHED = [
    """
import attention_docs.sequences as Q
windows = Q.windows
Q.windows = lambda x, k: 2 * windows(x, k)
""",
    "import attention_docs.softmax as S\nS.softmax = lambda s, axis=-1: s / s.sum(axis)",
    "np.exp = np.exp2",
    "import math\nmath.sqrt = math.exp",
    "from attention_docs.softmax import softmax\n"
    "softmax.__wrapped__.__code__ = (lambda s, axis: s).__code__",
    "np.median.__wrapped__.__code__ = (lambda *given: 9.0).__code__",
    "import statistics\nstatistics.NormalDist.cdf.__code__ = (lambda self, x: 9.0).__code__",
    "import attention_docs.figures.figure as F\nF.Figure.svg = lambda self, lang: 'broken'",
    "from fractions import Fraction\nFraction.__add__ = Fraction.__sub__",
    "import itertools\nitertools.pairwise = lambda row: []",
    "import decimal\ndecimal.getcontext().prec = 2",
    "import random\nrandom.Random.gauss = lambda self, mean, width: 0.0",
    "import builtins\nbuiltins.divmod = lambda a, b: (0, 0)",
    "import builtins\nbuiltins.round = lambda number, digits=0: 7",
    "from attention_docs.figures.numbers import SUPERSCRIPTS\nSUPERSCRIPTS[0] = 'zero'",
    "from attention_docs.figures.scale import STEPS\nSTEPS.clear()",
]
AS_PUBLISHED = """
import json, sys
from attention_docs.site.run.live import Session

page, edit = json.load(sys.stdin)
session = Session(page)
codes = [cell["code"] for cell in json.loads(page)["cells"]]
for run in (["\\n".join([codes[0], edit]), *codes[1:]], codes):
    shown = []
    for number in range(session.begin(json.dumps(run)), len(run)):
        shown.append(json.loads(session.step(number)))
        if "error" in shown[-1]:
            break
print(json.dumps([one.get("error") for one in shown] + session.displayed))
"""
"""Of a page whose first block comes with an edit, what it shows once the edit is undone."""


@pytest.mark.parametrize("edit", PATCHED)
def test_what_a_first_block_does_to_a_library_is_undone(edit: str) -> None:
    """In a Python that has loaded nothing of it before, as a reader's browser has not."""
    blocks = [
        "import numpy as np\nimport math\nfrom attention_docs.text import text\n"
        "from attention_docs.sequences import windows\nfrom attention_docs.softmax import softmax",
        "print(text(softmax(np.array([[0.0, 1.0]])), '.4f'), windows(np.ones((3, 2)), 1).shape)",
        "import statistics\n"
        "print(text(np.exp(2.0), '.4f'), text(math.sqrt(4.0), '.1f'))\n"
        "print(text(np.median([1.0, 2.0]), '.1f'), text(statistics.NormalDist().cdf(0.0), '.1f'))",
        "from attention_docs.figures import bar_chart\n"
        "bar_chart(['a'], {'': [1]}, ylabel='y', spec='d')",
        "import random\nfrom decimal import Decimal\nfrom fractions import Fraction\n"
        "from itertools import pairwise\n"
        "from attention_docs.figures.numbers import SUPERSCRIPTS\n"
        "from attention_docs.figures.scale import STEPS\n"
        "print(Fraction(1, 2) + Fraction(1, 3), [*pairwise('abc')], Decimal(1) / 3, divmod(7, 2))\n"
        "print(f'{random.Random(1).gauss(0, 1):.4f}', SUPERSCRIPTS, STEPS)",
    ]

    def run(edit: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-c", AS_PUBLISHED],
            input=json.dumps([make_page(blocks), edit]),
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
        )
        return json.loads(done.stdout)

    published = run("")
    assert not any(published[: len(blocks)])  # no error
    assert run(edit) == published


FIRST_LINES = [
    ("print(0.5)", "0.5000"),
    ("print([0.1, 0.2])", "[0.1000, 0.2000]"),
    ("2 + 2", "4"),
    ("1 / 3", "0.3333"),
    ("weights", "[[0.2500, 0.7500],\n [1.0000, 0.0000]]"),
    ("weights.shape", "(2, 2)"),
    ("print(weights, 2)", "[[0.2500, 0.7500],\n [1.0000, 0.0000]] 2"),
    ("weights > 0.5", "[[False,  True],\n [ True, False]]"),
    ("f'the sum is {weights.sum()}'", "'the sum is 2.0000'"),
    ("double?", "double(x)\nTwice x."),
    ("help(double)\n", "double(x)\nTwice x."),
    ("divide?", "divide(x)\nMay give inf or nan."),
    ("np.exp(-20)", "2.061e-09"),
    ("{'a': 0.5}", "{'a': 0.5000}"),
    ("x = 0.5", ""),
    ("print('seen')\nweights[0, 0]", "seen\n0.2500"),
]


@pytest.mark.parametrize(("code", "wanted"), FIRST_LINES)
def test_a_reader_may_print_as_in_python(code: str, wanted: str) -> None:
    """What a newcomer types first, in a cell of their own."""
    blocks = [
        "import numpy as np\nweights = np.array([[0.25, 0.75], [1.0, 0.0]])",
        "def double(x):\n    'Twice x.'\n    return 2 * x\n"
        "def divide(x):\n    'May give inf or nan.'\n    return 1 / x",
        "",
    ]
    seen = Reader.__new__(Reader)
    seen.session, seen.seen, seen.ran = Session(make_page(blocks)), {}, []
    found = seen.run([*blocks[:2], code])
    assert "error" not in found
    assert found.get(("b2", "text"), "") == wanted


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("print(x / 4)", "0.2500\n1"),
        ("print([x / 4])", "[0.2500]\n1"),
        ("note = f'{x / 4} of {x}'\n    print(note)", "0.2500 of 1\n1"),
        ("print(np.arange(3))", "[0 1 2]\n1"),  # as before: no block of the site says it otherwise
        ("print(f'{[x]} {x:.1f}')", "[1] 1.0\n1"),
    ],
)
def test_an_edited_function_prints_in_any_block(line: str, wanted: str) -> None:
    """A float too, where a block that nobody has edited calls it."""
    blocks = ["import numpy as np\ndef own(x):\n    return x", "print(own(1))"]
    reader = Reader.__new__(Reader)
    reader.session, reader.seen, reader.ran = Session(make_page(blocks)), {}, []
    edited = blocks[0].replace("    return x", f"    {line}\n    return x")
    seen = reader.run([edited, blocks[1]])
    assert "error" not in seen
    assert seen["b1", "text"] == wanted


def test_the_sites_own_lines_show_what_they_showed() -> None:
    """A block whose last line is a value prints as before where a knob turns another line."""
    blocks = ["a = 0.5\na + 1"]
    reader = Reader(blocks)
    reader.session = Session(make_page(blocks))
    assert "text" not in dict(reader.run(["a = 0.25\na + 1"]))
    assert reader.seen.get(("b0", "text"), "") == ""
    assert reader.run(["a = 0.25\na + 2"])["b0", "text"] == "2.2500"


@pytest.mark.parametrize(
    ("code", "line", "own", "message"),
    [
        ("a = 1\nb = a + missing", 2, "b = a + missing", "NameError: name 'missing' is not"),
        ("a = 1\nb = (a", 2, "b = (a", "SyntaxError: '(' was never closed"),
        ("def f():\n    return 1 / 0\n\nf()", 4, "f()", "ZeroDivisionError: division by zero"),
        ("f(0)", 1, "f(0)", "ZeroDivisionError"),
    ],
)
def test_an_error_is_the_readers_own_line(code: str, line: int, own: str, message: str) -> None:
    """A function of an earlier block, or of this one: the line that the reader has written."""
    blocks = ["def f(x):\n    return 1 / x", "print(1)"]
    session = Session(make_page(blocks))
    for number in range(session.begin(json.dumps([blocks[0], code])), 2):
        result = json.loads(session.step(number))
    if code.startswith("def"):
        line, own = 2, "return 1 / 0"
    assert (result["error"]["line"], result["error"]["code"]) == (line, own)
    assert result["error"]["message"].startswith(message)
    assert "site/run" not in result["error"]["message"]
    assert "running/" not in result["error"]["message"]


# --- Python for the browser ----------------------------------------------------------------------


def test_a_foreign_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has another hash is no part of the site, where it comes from and where it is cached."""
    good = b"the file"
    monkeypatch.setattr(runtime, "FILES", {"one": hashlib.sha256(good).hexdigest()})
    said: list[str] = []

    def foreign(names: Any, until: float) -> dict[str, bytes]:
        return dict.fromkeys(names, b"another file")

    def lost(names: Any, until: float) -> dict[str, bytes]:
        raise OSError("no network")

    def right(names: Any, until: float) -> dict[str, bytes]:
        return dict.fromkeys(names, good)

    assert not runtime.fetch_missing(tmp_path, [foreign, lost], said.append)
    assert "got " + hashlib.sha256(b"another file").hexdigest() in said[0]
    assert said[1] == "lost: no network"
    assert not list(runtime.find_folder(tmp_path).iterdir())
    assert runtime.fetch_missing(tmp_path, [lost, foreign, right], said.append)
    with monkeypatch.context() as unread:  # a build does not hash 135 MB again at its start
        unread.delattr(Path, "read_bytes")
        assert not runtime.find_missing(tmp_path)
    (runtime.find_folder(tmp_path) / "one").write_bytes(b"broken")
    assert runtime.find_missing(tmp_path) == ["one"]


def test_set_up_goes_on_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says so; with REQUIRE_LIVE it fails."""

    def nothing(names: Any, until: float) -> dict[str, bytes]:
        raise OSError("no network")

    for source in ("fetch_from_release", "fetch_from_wheel"):
        monkeypatch.setattr(runtime, source, nothing)
    monkeypatch.delenv("REQUIRE_LIVE", raising=False)
    assert runtime.main(tmp_path) == 0
    assert "No live pages" in capsys.readouterr().err
    monkeypatch.setenv("REQUIRE_LIVE", "1")
    assert runtime.main(tmp_path) == 1


class Slow(http.server.BaseHTTPRequestHandler):
    """Sends an answer in drops for ever."""

    def do_GET(self) -> None:
        """Drop by drop."""
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):  # until the other side has gone
            while self.wfile.write(b"."):
                time.sleep(0.01)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def list_files(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.needs("runtime")
@pytest.mark.parametrize(
    ("served", "name"),
    [(runtime.LIBRARY, runtime.LIBRARY), (runtime.SERVED_NUMPY, runtime.NUMPY)],
    ids=["library", "numpy"],
)
def test_modules_are_compiled_from_the_source_that_is_known(served: str, name: str) -> None:
    """File by file: bytecode names the hash of its source, and is not compared with any again."""
    cache = ROOT / ".cache"
    made = list_files(runtime.list_served_files(cache)[served])
    source = list_files(runtime.find_folder(cache) / name)
    for left_out in [one for one in source if one not in made and f"{one}c" not in made]:
        assert left_out.startswith("numpy/")
        assert "/test_" in left_out or "/data/" in left_out or Path(left_out).suffix != ".py"
        del source[left_out]
    assert [f"{name}c" if name.endswith(".py") else name for name in source] == [*made]
    heads = {content[:8] for name, content in made.items() if name.endswith(".pyc")}
    ((magic, flags),) = [(head[:4], head[4:]) for head in heads]
    assert flags == (1).to_bytes(4, "little")
    for name, content in source.items():
        if name.endswith(".py"):
            wanted = _imp.source_hash(int.from_bytes(magic, "little"), content)
            assert made[f"{name}c"][8:16] == wanted, name
        else:
            assert made[name] == content


def test_where_nothing_compiles_the_library_stays_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No Node, a Node that fails, and a file that was cut off: said, and nothing is left."""
    said: list[str] = []
    for no_node in (tmp_path / "nothing", Path(sys.executable)):
        monkeypatch.setattr(bytecode, "find_node", lambda found=no_node: found)
        bytecode.compile_archive(tmp_path, "library.zip", "source", "/lib", said.append)
    assert all(one.startswith("library.zip stays source: ") for one in said)
    assert len(said) == 2
    assert not list(tmp_path.iterdir())
    whole = hashlib.sha256(b"whole").hexdigest()
    kept = tmp_path / f"{bytecode._make_name('source')}-{whole}.zip"
    kept.write_bytes(b"who")
    assert bytecode.find_compiled(tmp_path, "source") is None
    kept.write_bytes(b"whole")
    assert bytecode.find_compiled(tmp_path, "source") == kept
    assert bytecode.find_compiled(tmp_path, "another source") is None


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_a_server_that_never_ends_does_not_hold_set_up_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    """A drop every hundredth of a second: no wait for a single answer sees that as silence."""
    monkeypatch.setattr(runtime, "FILES", {"drip": "0"})
    monkeypatch.setattr(runtime, "RELEASE", server)
    said: list[str] = []
    assert not runtime.fetch_missing(
        tmp_path, [runtime.fetch_from_release, runtime.fetch_from_release], said.append, limit=0.3
    )
    assert said[0].startswith("fetch_from_release: no time left after ")
    assert said[1] == "fetch_from_release: no time left"


# --- knobs ---------------------------------------------------------------------------------------


def test_a_knob_is_read_and_not_shown() -> None:
    """A range, a choice, fields, text; the code keeps its lines."""
    code = (
        "d_k = 64  # knob: log 2 … 512\n"
        "X = np.array([\n    [1, 0],\n    [0, 2],\n])  # knob\n"
        'kind = "causal"  # knob: causal | full\n'
        "t = 0.5  # knob: 0.1 … 4\n"
        "word = 'a = b # c'  # knob\n"
        'NAMES = ("ann", "bob")\nWORDS = (*NAMES, "sings")\n'
        'said = "ann sings"  # knob: words WORDS → answer\n'
        "print(X * d_k, kind, t, word)\nsaid"
    )
    shown, knobs = extract_knobs(code)
    assert shown.split("\n")[:5] == [
        "d_k = 64",
        "X = np.array([",
        "    [1, 0],",
        "    [0, 2],",
        "])",
    ]
    assert knobs == (
        Knob("d_k", "number", 2, 512, log=True),
        Knob("X", "fields"),
        Knob("kind", "choice", names=("causal", "full")),
        Knob("t", "number", 0.1, 4),
        Knob("word", "text"),
        Knob("said", "text", names=("ann", "bob", "sings"), answer="answer"),
    )


@pytest.mark.parametrize(
    "code",
    [
        *("x = y  # knob", "f(1)  # knob", "x = 1  # knob: few", "x = 'a'  # knob: 1 … 2"),
        *("x = 1  # knob\nprint(2)", "x = 1  # knob\ny = x\nprint(2)"),
        *("x = 'a'  # knob: words W", "W = (1, 'b')\nx = 'a'  # knob: words W → knobs"),
    ],
)
def test_a_wrong_knob_is_a_fault(code: str) -> None:
    with pytest.raises(ValueError, match=r"knob|W holds words alone"):
        extract_knobs(code)


# --- the package for the browser -----------------------------------------------------------------


def test_the_package_runs_by_itself(tmp_path: Path) -> None:
    """With NumPy alone beside it: every module but those that need torch, and what figures say."""
    locales = {"zh-hant": read_locale("en").table | {"terms": {"weights": "權重"}}}
    (tmp_path / "package.zip").write_bytes(pack_package(ROOT, locales))
    with zipfile.ZipFile(tmp_path / "package.zip") as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "lib")
    assert not [name for name in names if "torch" in name or "/nn/" in name]
    modules = [name.removesuffix(".py").replace("/", ".") for name in names if name[-3:] == ".py"]
    code = f"""
import importlib, sys
import numpy
sys.path.insert(0, {str(tmp_path / "lib")!r})
for name in {[one for one in modules if one.startswith("attention_docs.")]!r}:
    importlib.import_module(name)
from attention_docs.figures import heatmap
for lang in {list(LANGUAGES)!r}:
    assert heatmap([[0.5]], name="weights").svg(lang)
assert heatmap([[0.5]], name="weights").alt("zh-hant").startswith("Vector 權重")
assert not {{"torch", "jaxtyping._decorator"}} & set(sys.modules)
assert sys.modules["attention_docs"].__file__.startswith({str(tmp_path)!r})
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert pack_package(ROOT, locales) == pack_package(ROOT, locales)
    with zipfile.ZipFile(io.BytesIO(pack_package(ROOT, locales))) as package:
        compiled = [name for name in package.namelist() if name.endswith(".pyc")]
    assert compiled == []  # what this machine has compiled is none of a reader's
