"""Figures: what they show, what they say, and that they are the same wherever they are made."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from fontTools.pens.boundsPen import BoundsPen
from fontTools.ttLib import TTFont
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from attention_docs import text as text_module
from attention_docs.colours import NAMES, ROLES, make_style_sheet
from attention_docs.figures import (
    Figure,
    Frame,
    bar_chart,
    beside,
    chips,
    diagram,
    dials,
    flow,
    heatmap,
    histogram,
    line_chart,
    numbered,
    plane,
    product,
    slider,
    table,
    token_lines,
)
from attention_docs.figures.figure import Language
from attention_docs.figures.scale import choose_ticks
from attention_docs.figures.svg import escape_html_label, escape_label, measure_text
from tests.conftest import scale_examples
from tests.drawings import assert_text_fits, find_middle, find_texts, parse_drawing, parse_subpaths
from tests.refusals import read_refusals

ROOT = Path(__file__).parent.parent
HAN = re.compile(r"[\u4e00-\u9fff]")

EN = Language("en")
ZH = Language(
    "zh",
    {
        "middle": "中点",
        "key 1 and 2": "键 1 和键 2",
        "From inputs to output 1": "从输入到输出 1",
        "simulated": "模拟",
        "the last word": "最后一个词",
        "for verb": "支持动词",
        "for noun": "支持名词",
        "five later": "再过五个",
        "last": "最后",
        "keys and values": "键和值",
        "a layer with a long name": "名字很长的一层",
    },
)
LANGUAGES = pytest.mark.parametrize("lang", [EN, ZH], ids=lambda lang: lang.name)

A = [[0.0634, 0.4683, 0.4683], [0.25, 0.5, 0.25]]
B = [[1.0, 2.0, 3.0, 5.0], [2.0, 8.0, 0.0, 7.0], [2.0, 6.0, 3.0, -4.0]]
C = (np.array(A) @ np.array(B)).tolist()


def examples() -> dict[str, Figure]:
    """One of each kind, with sizes that differ and labels of both kinds."""
    rng = np.random.default_rng(7)
    x = [4, 16, 64, 256, 1024]
    return {
        "heatmap": heatmap(
            A,
            rows=numbered("query", 2),
            columns=numbered("key", 3),
            name="weights",
            spec=".4f",
            row_axis="queries",
            column_axis="keys",
            highlight=[(0, None), (1, 2)],
        ),
        "shades": heatmap(
            rng.normal(size=(7, 31)), numbers=False, role="neutral", name="positions", spec=".1f"
        ),
        "hatched": heatmap(
            A,
            rows=numbered("query", 2),
            name="weights",
            spec=".4f",
            allowed=[[True, True, False], [False, True, False]],
        ),
        "beside": beside(
            heatmap(A, rows=numbered("query", 2), name="weights", spec=".4f"),
            heatmap(B, name="values", role="value", allowed=np.tri(3, 4) > 0),
        ),
        "product": product(
            A,
            B,
            C,
            names=("weights", "values", "outputs"),
            roles=("weight", "value", "output"),
            row=0,
            column=3,
            spec=(".4f", ".0f", ".4f"),
            rows=numbered("query", 2),
        ),
        "plane": plane(
            [
                ("query", "query", [-1.25, 2.5]),
                ("key 1", "key", [2.0, 0.5]),
                ("middle", "neutral", [0.0, -0.75]),
            ],
            reach=3,
            onto=0,
        ),
        "flow": flow(
            [
                ("inputs", "input", [[1, 0, 1, 0], [0, 2, 0, 2]], "d"),
                [
                    ("key 1 and 2", "key", [[1, 2], [3, 4]], "d"),
                    ("values", "value", [[5.5, 6.5, 7.5], [8.5, 9.5, 0.5]], ".1f"),
                ],
                ("scores", "score", [11, 13], "d"),
                ("output 1", "output", [[0.125, 17, 19]], ".3f", ["query 1"]),
            ],
            arrows=[(0, 1, "× W_k"), (0, 2), (1, 3), (3, 4, "softmax"), (2, 4, "×")],
            title="From inputs to output 1",
        ),
        "diagram": diagram(
            ["inputs", "keys and values", "+", "output 1"],
            ["query 1", "a layer with a long name", "+", "scores", "last"],
            roles=[None, "key", None, None, None, "neutral", None, "score", None],
            skips=[1, 5],
            links=[(3, 5, "middle")],
            borders=[(5, 7, "× N")],
            title="From inputs to output 1",
        ),
        "lines": line_chart(
            x,
            [("simulated", [4.1, 15.7, 65.3, 251.9, 1031.2]), ("d_k", x)],
            band={"simulated": ([3.9, 15, 63, 245, 1010], [4.3, 16.4, 67.6, 259, 1052])},
            xlabel="d_k",
            ylabel="variance",
            log_x=True,
            log_y=True,
        ),
        "many points": line_chart(
            np.arange(41) / 10,
            {"weights": np.exp(-np.arange(41) / 7), "scores": np.cos(np.arange(41))},
            xlabel="score",
            ylabel="weight",
            roles=["weight", "score"],
        ),
        "bars": bar_chart(
            [*numbered("key", 3), "d_k = 64"],
            {"raw": [0.0174, 0.0174, 0.9479, -0.3], "/√d_k": [0.11, 0.12, 0.13, 0.14]},
            xlabel="key",
            ylabel="weight",
            spec=".4f",
        ),
        "histogram": histogram(
            {"raw": rng.normal(size=2000) * 8, "/√d_k": rng.normal(size=2000)},
            np.linspace(-20, 20, 41),
            xlabel="score",
        ),
        "dials": dials(
            [[0, 0, 0], [5, 0.5, 0.05]],
            [[2, 0.2, 0.02], [7, 0.7, 0.07]],
            columns=["ω_0 = 1", "ω_1 = 0.1", "ω_2 = 0.01"],
            rows=["t = 0", "five later"],
            below=["cos = −0.416", "cos = 0.980", "cos = 1.000"],
        ),
    }


FIGURES = examples()
EACH = pytest.mark.parametrize("kind", FIGURES)


def fingerprint() -> str:
    """A hash of every example."""
    drawn = [f"{f.svg(lang)}{f.alt(lang)}" for f in examples().values() for lang in (EN, ZH)]
    return hashlib.sha256("".join(drawn).encode()).hexdigest()


# The same input gives the same bytes, and needs little.


@pytest.mark.long
@pytest.mark.parametrize("seed", ["0", "4242"])
def test_same_bytes_in_another_process(seed):
    out = subprocess.run(
        [sys.executable, "-c", "from tests.test_figures import fingerprint; print(fingerprint())"],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stdout.strip() == fingerprint()


def test_drawing_needs_numpy_alone():
    code = """
import sys
before = set(sys.modules)
from attention_docs.figures import *
drawn = [
    heatmap([[1.0, 2.0]]),
    product([[2]], [[3, 4]], [[6, 8]]),
    plane([("a", "key", [1, 2])], reach=3),
    flow([("a", "key", [1], "d"), ("b", "key", [2], "d")]),
    line_chart([1, 2], {"a": [3, 4]}, xlabel="x", ylabel="y", log_y=True),
    bar_chart(["a"], {"b": [5]}, ylabel="y"),
    histogram({"a": [0.5, 2.5]}, [0, 1, 3], xlabel="x"),
]
slider("d", [Frame(("0",), "a", tuple(drawn), "b")]).svg("en")
tops = {name.split(".")[0] for name in set(sys.modules) - before}
print(*sorted(tops - sys.stdlib_module_names))
"""
    command = [sys.executable, "-W", "error", "-c", code]
    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["attention_docs", "numpy"]


def test_the_numbers_of_a_drawing_are_rounded():
    third = line_chart([0, 1 / 3, 2], {"a": [1 / 7, 2 / 3, 0.9]}, xlabel="x", ylabel="y")
    for figure in [third, *FIGURES.values()]:
        drawn = re.sub(r' (aria-label|viewBox|style)="[^"]*"|>[^<]*<', "", figure.svg("en"))
        numbers = re.findall(r"\d+\.\d+", drawn)
        assert all(len(one.partition(".")[2]) <= 2 for one in numbers)


# The SVG is fit for a page.


@EACH
@LANGUAGES
def test_svg_is_one_well_formed_element_with_its_alternative_text(kind, lang):
    svg = FIGURES[kind].svg(lang)
    root = etree.fromstring(svg)
    assert svg.startswith("<svg ")
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("role") == "img"
    assert root.get("aria-label") == FIGURES[kind].alt(lang) != ""
    assert root.get("width") is None
    assert root.get("height") is None
    assert len(root.get("viewBox").split()) == 4


@EACH
@LANGUAGES
def test_svg_needs_nothing_from_elsewhere_and_names_nothing_twice(kind, lang):
    svg = FIGURES[kind].svg(lang)
    root = etree.fromstring(svg)
    # Without ids two figures on a page cannot collide, not even the same one twice.
    assert root.xpath("//@id") == []
    assert re.findall(r"\w+://[^\"]*", svg) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"url\(|href|@import|<script|<style|<image", svg)
    assert {etree.QName(one).localname for one in root.iter()} <= {
        "svg", "g", "path", "rect", "text", "tspan"
    }  # fmt: skip


@EACH
@LANGUAGES
def test_every_colour_is_a_custom_property(kind, lang):
    svg = FIGURES[kind].svg(lang)
    assert set(re.findall(r"var\(--([\w-]+)\)", svg)) <= set(NAMES)
    assert "#" not in svg
    fills = {one.get("fill") for one in etree.fromstring(svg).iter()} - {None, "none"}
    assert all(fill == "currentColor" or fill.startswith("var(--") for fill in fills)


@EACH
@LANGUAGES
def test_text_stays_inside_the_drawing_and_is_large_enough(kind, lang):
    root = parse_drawing(FIGURES[kind], lang)
    assert_text_fits(root, 14)  # 10.5 px where a box scrolls, 9.3 px where it just need not
    width = re.search(r"--wide:(\d+);", root.get("style"))[1]
    assert width == root.get("viewBox").split()[2]


OWN = 'class="stage (?:wide|narrow)".*?</svg>'  # of the home page's dial, and of what opens


@LANGUAGES
def test_figures_of_pages_have_three_widths_and_few_sizes_of_text(lang, record):
    record.make_document()
    pages = record.build.pages[lang.name].values()
    results = [one for page in pages for one in record.build.results(page)]
    drawn = [re.sub(OWN, "", one.figure[lang.name].svg) for one in results if one.figure]
    styles = re.findall(r"max-width:(\d+)px;--wide:(\d+);--box:(\d+)", "".join(drawn))
    assert len(styles) > 300
    assert {box for *_, box in styles} == {"376", "560", "640"}
    assert {(most, box) for most, wide, box in styles if most != wide} == {("560", "560")}
    sizes = {size for one in drawn for size in re.findall(r'font-size="([^"]+)"', one)}
    assert sizes == {"14", "17", "20", ".75em"}
    css = Path("docs/assets/figures.css").read_text()  # what is 14 or 17 becomes 14 where it grows
    assert re.findall(r"calc\((\d+)px \* var", css) == ["14", "20"]


@LANGUAGES
def test_labels_are_escaped(lang):
    figure = heatmap([[1.0]], name='<b> & "c"', rows=["a<b"])
    assert find_texts(figure, lang)[:2] == ['<b> & "c"', "a<b"]
    assert '<b> & "c"' in parse_drawing(figure, lang).get("aria-label").replace("“", "")


# Matrices.


@LANGUAGES
@scale_examples(25)
@given(data=st.data(), n=st.integers(1, 5), m=st.integers(1, 7))
def test_every_number_is_in_the_drawing_and_in_the_text(lang, data, n, m):
    numbers = st.lists(st.floats(-99, 99), min_size=m, max_size=m)
    matrix = data.draw(st.lists(numbers, min_size=n, max_size=n))
    figure = heatmap(matrix, role="score", spec=".3f", rows=numbered("query", n))
    plain = [f"{value:.3f}".replace("-0.000", "0.000") for row in matrix for value in row]
    wanted = [number.replace("-", "−") for number in plain]
    assert find_texts(figure, lang)[n:] == wanted
    assert re.findall(r"[-−]?\d+\.\d{3}", figure.alt(lang)) == wanted


def test_vectors_infinities_and_booleans():
    assert heatmap([2, 4, 4], spec="d", name="scores").alt("en") == "Vector scores: 2, 4, 4."
    assert heatmap([1.5, float("-inf")], spec=".1f").alt(ZH) == "向量：1.5、−∞。"
    assert heatmap([True, False], spec="").alt("en") == "Vector: True, False."


def test_large_matrix_without_numbers_tells_its_extremes():
    figure = heatmap([[0.5, -1.25, 0], [3, 0, 1]], numbers=False, spec=".2f", name="positions")
    assert figure.alt("en") == (
        "Matrix positions, 2 rows and 3 columns. Its values are shades: the smallest is −1.25 "
        "(row 1, column 2), the largest is 3.00 (row 2, column 1)."
    )
    assert find_texts(figure, ZH) == ["位置", "−3.00", "3.00"]  # as far below 0 as above it


def squares(figure: Figure) -> dict[tuple[float, float], float]:
    """The opacity of every cell by its upper left corner, row by row."""
    root = parse_drawing(figure, "en")
    found = {
        (float(y), float(x)): float(one.get("fill-opacity"))
        for one in root.iterfind(".//{*}path[@fill-opacity]")
        for x, y in re.findall(r"M([\d.]+) ([\d.]+)h", one.get("d"))
    }
    return dict(sorted(found.items()))


def test_larger_values_are_shaded_more_strongly():
    shades = list(squares(heatmap([[0.1, 0.9, 0.4], [0.7, 0.0, 1.0]])).values())
    assert [sorted(shades).index(shade) for shade in shades] == [1, 4, 2, 3, 0, 5]
    assert (min(shades), max(shades)) == (0.06, 1.0)


def test_a_cell_is_shaded_by_the_number_that_stands_in_it():
    """Also where rows and columns are as many, and the shading could be turned around alone."""
    figure = heatmap([[1, 2, 3], [4, 5, 6], [7, 8, 9.5]], spec=".1f")
    cells = squares(figure)
    rows, columns = (sorted({corner[axis] for corner in cells}) for axis in (0, 1))
    shades = {}
    for one in parse_drawing(figure, "en").iterfind(".//{*}text"):
        if re.fullmatch(r"\d\.\d", "".join(one.itertext())):
            x, y = float(one.get("x")), float(one.get("y"))
            corner = max(r for r in rows if r < y), max(c for c in columns if c < x)
            shades[float("".join(one.itertext()))] = cells[corner]
    assert len(shades) == 9
    assert [shades[number] for number in sorted(shades)] == sorted(cells.values())


def test_scale_is_shared_between_figures():
    low, high = (list(squares(heatmap([[n]], scale=(0, 1))).values()) for n in (0.5, 1.0))
    assert low == [0.53]
    assert high == [1.0]


def test_masked_scores_stay_blank():
    cells = squares(heatmap([[-2.0, float("-inf"), 4.0]], role="score"))
    assert list(cells.values()) == [0.53, 1.0]  # half as far from 0, and nothing in the middle


def find_fills(figure: Figure) -> dict[str, int]:
    """How many cells have each fill."""
    found: dict[str, int] = {}
    for one in parse_drawing(figure, "en").iterfind(".//{*}g[@fill]"):
        cells = sum(path.get("d").count("z") for path in one.iterfind("{*}path[@fill-opacity]"))
        found[one.get("fill")] = found.get(one.get("fill"), 0) + cells
    return {fill: count for fill, count in found.items() if count}


def show_shades(shares: Iterable[float]) -> list[float]:
    """The opacities of shades, in order, as a drawing has them."""
    return sorted(round(0.06 + 0.94 * share - 1e-9, 2) for share in shares)


def read_shades(figure: Figure) -> list[float]:
    """The opacities in a figure, in order: a path for each shade of a matrix."""
    return sorted(map(float, re.findall(r'fill-opacity="([\d.]+)"', figure.svg("en"))))


def test_numbers_below_0_have_another_hue_and_0_has_none():
    figure = heatmap([[-3, 0, 1.5], [2, 3, -1]], role="value", spec=".1f")
    assert find_fills(figure) == {"var(--role-value-fill)": 3, "var(--role-neutral-fill)": 2}
    assert read_shades(figure) == show_shades([0.35, 0.5, 0.65, 1, 1])  # 1/3 and 2/3, to 1/20


def test_shades_without_a_role_and_a_number_tell_the_sign():
    figure = heatmap([[-3, 0, 1.5], [2, 3, -1]], role="neutral", spec=".1f", numbers=False)
    assert find_fills(figure) == {"var(--series-1)": 3, "var(--role-neutral)": 2}
    scale = re.findall(r'<path [^>]*fill="var\(--([a-z1-]*)\)"', figure.svg("en"))
    assert {one: scale.count(one) for one in scale} == {"series-1": 4, "role-neutral": 4}


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ([[1, 2, 3, 4], [5, 6, 7, 8]], "data-table"),
        ([["three words of text", 1, 2, 3]], "data-table"),
        ([["a sentence that takes a line of its own", 1, 2, 3]], "data-table as-cards"),
        ([["a sentence that takes a line of its own", 1, 2]], "data-table"),
    ],
)
def test_only_tables_of_sentences_become_cards_on_a_phone(rows, kind):
    columns = ["one", "two", "three", "four"][: len(rows[0])]
    assert f'<table class="{kind}">' in table(rows, columns=columns).render(Language.get("en"))


@pytest.mark.parametrize(
    ("name", "columns", "kind"),
    [
        ("weighted value 1 (dog)", ["component 1", "component 2", "component 3"], " names-above"),
        ("weighted value 1 (dog)", ["first", "second", "third"], ""),  # two lines are enough
        (
            "加权后的值 1（狗）",
            ["分量 1", "分量 2", "分量 3"],
            "",
        ),  # a title breaks between characters
        ("a name that is longer than any line that a phone has", ["component 1"] * 3, ""),
    ],
)
def test_names_of_rows_stand_above_their_numbers_where_they_would_take_three_lines(
    name, columns, kind
):
    lines = table([[0.0634, 0.1268, 0.1901]], columns=columns, index=[name], spec=".4f")
    html = lines.render(Language.get("en"))
    assert html.startswith(f'<table class="data-table{kind}" style="--names:18">')


def test_a_name_breaks_after_its_dots_and_a_shape_not_at_all():
    lines = table(
        [["27 × 8", 216], ["a × b", 0]],
        columns=["shape", "numbers"],
        index=["model.layers.0.mlp", "0.5, e.g."],
    )
    html = lines.render(Language.get("en"))
    assert '<th scope="row">model.<wbr>layers.0.<wbr>mlp</th>' in html
    assert '<th scope="row">0.5, e.g.</th>' in html
    assert '<td class="held" data-column="shape">27 × 8</td>' in html
    assert '<td data-column="shape">a × b</td>' in html
    assert 'style="--names:18"' in html
    assert 'style="--names:1"' in table([[1]], columns=["b"], index=["a"]).render(
        Language.get("en")
    )


def test_weights_are_shaded_from_0_to_1():
    assert read_shades(heatmap([[0.3, 0.5, 0.2]])) == show_shades([0.3, 0.5, 0.2])
    alone = heatmap([[0.3, 0.5, 0.2]], numbers=False)
    assert max(squares(alone).values()) == 1.0  # on a scale of its own, which stands below it


def test_a_number_has_one_shade_in_a_figure():
    maps = [heatmap([[1, 4]], role="score"), heatmap([[2, 1]], role="score")]
    frames = [Frame((str(i),), f"k = {i}", (one,), None) for i, one in enumerate(maps)]
    for figure in (beside(*maps), slider("k", frames)):
        assert read_shades(figure) == show_shades([0.25, 1, 0.5, 0.25])
    assert read_shades(maps[1]) == show_shades([1, 0.5])  # alone


def test_a_scale_that_was_asked_for_stays():
    maps = [heatmap([[1, 4]], role="score"), heatmap([[1, 2]], role="score", scale=(0, 2))]
    assert read_shades(beside(*maps)) == show_shades([0.25, 1, 0.5, 1])


def strokes(figure: Figure) -> list[list[tuple[float, float]]]:
    """The lines of the hatching."""
    found = parse_drawing(figure, "en").iterfind(".//{*}path[@stroke-width='1']")
    return parse_subpaths(
        next(one.get("d") for one in found if "role-neutral" in one.get("stroke"))
    )


def test_a_screen_reader_hears_the_ends_of_many_numbers():
    """It cannot go back in a label; the description has them all."""
    values = [[float(10 * i + j) for j in range(10)] for i in range(11)]
    figure = heatmap(values, spec=".0f", name="E")
    label = parse_drawing(figure, "en").get("aria-label")
    assert label == (
        "Matrix E, 11 rows and 10 columns. "
        "Its smallest number is 0 (row 1, column 1), its largest 109 (row 11, column 10)."
    )
    assert "Row 11: 100, 101," in figure.alt("en")
    both = parse_drawing(beside(figure, heatmap([[1.0]])), "en").get("aria-label")
    assert both == f"{label} {heatmap([[1.0]]).alt('en')}"
    few = heatmap(values[:10])
    assert parse_drawing(few, "en").get("aria-label") == few.alt("en")
    allowed = [[j < 10 - (i == 10) for j in range(10)] for i in range(11)]
    hatched = heatmap(values, spec=".0f", allowed=allowed)
    assert "its largest 108 (row 11, column 9)" in parse_drawing(hatched, "en").get("aria-label")
    blank = heatmap(values, numbers=False, allowed=[[False] * 10] * 11)
    assert blank.alt("en") == "Matrix, 11 rows and 10 columns."


def test_forbidden_cells_are_hatched_blank_and_described():
    figure = FIGURES["hatched"]
    assert find_texts(figure, "en")[-3:] == ["0.0634", "0.4683", "0.5000"]
    assert figure.alt("en").endswith(
        "query 1: 0.0634, 0.4683, forbidden. query 2: forbidden, 0.5000, forbidden."
    )
    assert figure.alt(ZH).endswith("查询 1：0.0634、0.4683、屏蔽。查询 2：屏蔽、0.5000、屏蔽。")
    cells = squares(figure)
    # Of 0 to 1: 0.05, 0.45 and 0.5.
    assert [shade for shade in cells.values() if shade > 0.06] == [0.11, 0.48, 0.53]
    # Each line lies inside one forbidden cell and crosses it from edge to edge.
    (top, low), (left, middle, right) = (
        sorted({corner[axis] for corner in cells}) for axis in (0, 1)
    )
    wide, high = middle - left, low - top
    inside = {(left, low): 0, (right, top): 0, (right, low): 0}
    for (x1, y1), (x2, y2) in strokes(figure):
        assert x1 + y1 == pytest.approx(x2 + y2, abs=0.05)
        middle_of = ((x1 + x2) / 2, (y1 + y2) / 2)
        (cell,) = (
            (x, y) for x, y in inside if x < middle_of[0] < x + wide and y < middle_of[1] < y + high
        )
        inside[cell] += 1
        x, y = cell
        assert min(abs(x1 - x), abs(y1 - y - high)) < 0.05
        assert min(abs(x2 - x - wide), abs(y2 - y)) < 0.05
    assert len(set(inside.values())) == 1
    assert inside[left, low] >= 8


def test_a_flow_hatches_forbidden_cells():
    figure = flow(
        [
            ("scores", "score", [[2, 3]], "d", ["query 1"], [[True, False]]),
            ("weights", "weight", [[1, 0]], "d", None, [[True, False]]),
        ]
    )
    assert [one for one in find_texts(figure, "en") if one.isdecimal()] == ["2", "1"]
    assert "query 1: 2, forbidden." in figure.alt("en")
    assert "Vector weights: 1, forbidden." in figure.alt("en")
    assert len(strokes(figure)) == (32 + 32) / 8 - 1  # one cell of the scores


def test_an_allowed_of_another_shape_is_an_error():
    with pytest.raises(ValueError, match=r"must have an allowed of its size \(2, 3\)"):
        heatmap(A, allowed=[[True, False]])


def test_drawings_side_by_side_do_not_meet():
    one, other = heatmap(A, name="weights", spec=".4f"), heatmap(B, name="values")
    both = parse_drawing(beside(one, other), "en")
    first, second = both.findall("{*}g")
    widths = [
        float(parse_drawing(figure, "en").get("viewBox").split()[2]) for figure in (one, other)
    ]
    assert first.get("transform") is None
    shift = float(re.fullmatch(r"translate\(([\d.]+)\)", second.get("transform")).group(1))
    assert shift == pytest.approx(widths[0], abs=1)
    assert float(both.get("viewBox").split()[2]) == pytest.approx(sum(widths), abs=1)
    assert beside(one, other).alt(ZH) == one.alt(ZH) + other.alt(ZH)


def test_rows_of_drawings_stand_below_each_other():
    numbers = {"a": 1.0, "b": 2.0, "c": 4.0}
    three = [heatmap([[number]], name=name) for name, number in numbers.items()]
    rows = beside(*three, columns=2)
    drawn = [etree.fromstring(one) for one in re.findall("<svg.*?</svg>", rows.svg("en"))]
    names = [
        [one.text for one in row.iterfind(".//{*}text") if one.text in numbers] for row in drawn
    ]
    assert names == [["a", "b"], ["c"]]
    assert read_shades(rows) == show_shades([0.25, 0.5, 1])  # on one scale
    assert rows.alt("en") == beside(*three).alt("en")
    assert beside(*three, columns=3).svg("en") == beside(*three).svg("en")
    with pytest.raises(ValueError, match="columns must be at least 1, got 0"):
        beside(*three, columns=0)


def test_only_single_drawings_stand_side_by_side():
    controlled = slider("d", [Frame(("0",), "a", (heatmap([1.0]),), "b")])
    with pytest.raises(TypeError, match="one drawing each, got Heatmap, Slider"):
        beside(heatmap([1.0]), controlled)
    with pytest.raises(TypeError, match="got none"):
        beside()


# The product.


def outlines(figure: Figure) -> list[list[str]]:
    """The numbers inside each outline."""
    root = parse_drawing(figure, "en")
    found = []
    for rect in root.iterfind(".//{*}rect"):
        x, y, w, h = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
        found.append(
            [
                one.text
                for one in root.iterfind(".//{*}text")
                if x < float(one.get("x")) < x + w and y < float(one.get("y")) < y + h
            ]
        )
    return found


def test_product_picks_out_row_column_and_cell():
    assert outlines(FIGURES["product"]) == [
        ["0.0634", "0.4683", "0.4683"],
        ["5", "7", "−4"],
        ["1.7219"],  # 0.0634·5 + 0.4683·7 − 0.4683·4 = 0.317 + 1.4049
    ]
    worked = "0.0634 × 5 + 0.4683 × 7 + 0.4683 × (−4) = 1.7219"
    for lang in (EN, ZH):
        assert worked in " ".join(find_texts(FIGURES["product"], lang))
        assert worked in FIGURES["product"].alt(lang)


def test_product_of_rounded_numbers_is_marked_as_approximate():
    third = [[1 / 3, 2 / 3]]
    figure = product(third, [[3.0], [3.0]], [[3.0]], row=0, column=0, spec=(".2f", ".0f", ".0f"))
    assert find_texts(figure, "en")[-1] == "0.33 × 3 + 0.67 × 3 ≈ 3"


def test_product_with_only_a_row():
    figure = product([[1, 2]], [[3, 4, 5], [6, 7, 8]], [[15, 18, 21]], row=0, spec="d")
    assert outlines(figure) == [["1", "2"], ["15", "18", "21"]]
    assert figure.alt("en").endswith("Outlined: row 1 of A, and the row of C that it gives.")


# The flow.


@LANGUAGES
def test_flow_holds_every_number_and_arrow(lang):
    figure = FIGURES["flow"]
    inputs, keys = list("10100202"), list("1234")
    values = ["5.5", "6.5", "7.5", "8.5", "9.5", "0.5"]
    numbers = [*inputs, *keys, *values, "11", "13", "0.125", "17.000", "19.000"]
    shown = [one for one in find_texts(figure, lang) if re.fullmatch(r"[\d.]+", one)]
    assert shown == numbers
    heads = parse_drawing(figure, lang).findall(".//{*}path[@stroke='none']")
    assert len(heads) == 5
    wanted = {
        EN: "from scores to output 1 (softmax); from values to output 1 (×).",
        ZH: "从“分数”到“输出 1”（softmax）；从“值”到“输出 1”（×）。",
    }
    assert figure.alt(lang).endswith(wanted[lang])


def test_labels_of_neighbouring_arrows_do_not_meet():
    figure = flow(
        [
            [("query 1", "query", [1, 0, 2, 2], "d"), ("key 2", "key", [1, 1, 1, 1], "d")],
            [("a", "query", [1], "d"), ("b", "key", [2], "d")],
        ],
        arrows=[(0, 2, "times W_q"), (1, 3, "times W_k")],
    )
    root = parse_drawing(figure, "en")
    one, other = (t for t in root.iterfind(".//{*}text") if "times" in "".join(t.itertext()))
    ends = {"start": (0, 1), "end": (-1, 0)}
    spans = []
    for label in (one, other):
        long = measure_text("".join(label.itertext()), 14)
        spans.append([float(label.get("x")) + k * long for k in ends[label.get("text-anchor")]])
    assert spans[0][1] < spans[1][0] or spans[1][1] < spans[0][0]


def test_flow_without_arrows_joins_neighbours():
    figure = flow([("a", "key", [1], "d"), [("b", "key", [2], "d"), ("c", "key", [3], "d")]])
    assert figure.alt("en").endswith("Arrows: from a to b; from a to c.")


def test_a_flow_that_draws_no_arrow_names_none():
    figure = flow([("a", "key", [1], "d"), ("b", "key", [2], "d")], arrows=[])
    assert [figure.alt(lang) for lang in (EN, ZH)] == [
        "Vector a: 1. Vector b: 2.",
        "向量“a”：1。向量“b”：2。",
    ]


# The diagram.


@LANGUAGES
def test_the_arrows_of_a_diagram_end_at_its_parts(lang):
    root = parse_drawing(FIGURES["diagram"], lang)
    heads = [parse_subpaths(one.get("d"))[0] for one in root.iterfind(".//{*}path[@stroke='none']")]
    # Three and four from part to part, two past a part, one to the other column.
    down = [tip for tip, left, right in heads if left[1] == right[1] < tip[1]]
    assert len(down) == 3 + 4
    aside = [tip for tip, left, right in heads if left[0] == right[0]]
    assert len(aside) == 2 + 1
    rings = [
        tuple(float(one.get(name)) for name in ("x", "y", "width"))
        for one in root.iterfind(".//{*}rect")
    ]
    assert len(rings) == 2
    for i, (x, y, size) in enumerate(rings):
        # The line past a part comes to its sum from the outer side: left, then right.
        ends = (x - 3, x + size + 3)[i], y + size / 2
        assert len([tip for tip in aside if tip == pytest.approx(ends, abs=0.05)]) == 1
        assert len([tip for tip in down if tip == pytest.approx((x + size / 2, y - 2))]) == 1


@LANGUAGES
def test_what_is_framed_lies_inside_the_border(lang):
    root = parse_drawing(FIGURES["diagram"], lang)
    (border,) = root.iterfind(".//{*}path[@stroke-dasharray]")
    xs, ys = zip(*parse_subpaths(border.get("d"))[0], strict=True)
    inside = {
        re.search(r"role-(\w+)", one.get("stroke")).group(1): all(
            min(xs) < x < max(xs) and min(ys) < y < max(ys)
            for x, y in parse_subpaths(one.get("d"))[0]
        )
        for one in root.iterfind(".//{*}path[@stroke-width='2']")
    }
    assert inside == {"key": False, "neutral": True, "score": True}


# Charts.


def outlines_of(figure: Figure, role: str, attribute: str) -> list[list[tuple[float, float]]]:
    """The parts of the first path with a role's colour as its fill or stroke."""
    found = parse_drawing(figure, "en").iterfind(f".//{{*}}path[@{attribute}]")
    return parse_subpaths(
        next(
            one.get("d")
            for one in found
            if re.search(rf"role-{role}(-fill)?\)", one.get(attribute))
        )
    )


def test_a_name_that_had_to_move_is_tied_to_its_line():
    lines = {"a": [1, 2, 3.0], "b": [2, 2, 3.05], "c": [5, 4, 1]}
    drawing = line_chart([1, 2, 3], lines, xlabel="x", ylabel="y", roles=["key", "value", "query"])
    names = {one.text: one for one in parse_drawing(drawing, "en").iterfind(".//{*}text")}
    paths = list(parse_drawing(drawing, "en").iterfind(".//{*}path[@stroke-width='0.75']"))
    tied = [one for one in paths if one.get("fill") == "none"]
    assert [re.findall(r"role-(\w+)", one.get("stroke"))[0] for one in tied] == ["key", "value"]
    for name, one in zip("ab", tied, strict=True):
        (start, end) = parse_subpaths(one.get("d"))[0]
        assert start[0] < end[0] <= float(names[name].get("x"))
        assert end[1] == pytest.approx(float(names[name].get("y")) - 5, abs=0.1)


def test_line_passes_through_its_points():
    x, y = [1, 2, 3, 6], [10.0, 30.0, 20.0, 40.0]
    figure = line_chart(x, {"a": y}, xlabel="n", ylabel="y", roles=["query"])
    at = {
        one.text: (float(one.get("x")), float(one.get("y")) - 5)  # a label hangs 5 below its line
        for one in parse_drawing(figure, "en").iterfind(".//{*}text")
    }
    start, unit = at["1"][0], (at["6"][0] - at["1"][0]) / 5
    floor, ten = at["10"][1], (at["40"][1] - at["10"][1]) / 3
    wanted = [
        (start + (a - 1) * unit, floor + (b / 10 - 1) * ten) for a, b in zip(x, y, strict=True)
    ]
    (drawn,) = outlines_of(figure, "query", "stroke")
    assert np.array(drawn) == pytest.approx(np.array(wanted), abs=0.05)
    assert unit > 10
    assert ten < -10


@given(low=st.floats(-1e3, 1e3), span=st.floats(0.1, 1e4), count=st.integers(2, 8))
def test_ticks_are_round_numbers_inside_the_axis(low, span, count):
    found = choose_ticks(low, low + span, count=count)
    assert 2 <= len(found) <= count + 1
    assert min(found) >= low - 1e-6 * span
    assert max(found) <= low + span * (1 + 1e-6)
    step = (found[-1] - found[0]) / (len(found) - 1)
    assert found == pytest.approx(list(np.linspace(found[0], found[-1], len(found))))
    mantissa = step / 10 ** np.floor(np.log10(step) + 1e-9)
    assert min(abs(mantissa - one) for one in (1, 2, 2.5, 5)) < 1e-6
    assert found[0] / step == pytest.approx(round(found[0] / step), abs=1e-6)


@pytest.mark.parametrize(
    ("low", "high", "count", "wanted"),
    [
        (0, 1.1, 5, [0, 0.25, 0.5, 0.75, 1]),
        (0.948, 1.061, 5, [0.95, 0.975, 1, 1.025, 1.05]),
        (-13.7, 13.7, 5, [-10, 0, 10]),
        (0, 60000, 5, [0, 20000, 40000, 60000]),
        (0, 0.3, 3, [0, 0.1, 0.2, 0.3]),
        (0, 400, 6, [0, 100, 200, 300, 400]),
    ],
)
def test_ticks_by_hand(low, high, count, wanted):
    assert choose_ticks(low, high, count=count) == wanted


def test_markers_of_every_kind_sit_on_their_line():
    lines = {name: [3.0 + i, 9.0, 4.0 - i] for i, name in enumerate("abcdef")}
    figure = line_chart([1, 2, 5], lines, xlabel="n", ylabel="y")
    paths = [
        one
        for one in parse_drawing(figure, "en").iter("{*}path")
        if "series" in one.get("stroke", "")
    ]
    assert len(paths) == 12  # line and markers in the plot; the names stand at the ends
    for line, markers in zip(paths[:12:2], paths[1:12:2], strict=True):
        centres = [find_middle(marker) for marker in parse_subpaths(markers.get("d"))]
        assert np.array(centres) == pytest.approx(
            np.array(parse_subpaths(line.get("d"))[0]), abs=0.05
        )
    shapes = {re.sub(r"M[\d. ]+", "", one.get("d")) for one in paths[1::2]}
    assert len({shape[:20] for shape in shapes}) == 6


def test_dots_are_all_of_the_points_and_no_line():
    """Twenty markers where a line has at most twelve; the rest of the drawing stays."""
    xs, y = [*range(20)], [(i * 7) % 5 + 1.0 for i in range(20)]
    both = {"measured": y, "line": [*range(20)]}
    dotted, drawn = (
        line_chart(xs, both, xlabel="x", ylabel="y", dots=dots) for dots in (["measured"], [])
    )
    lines, paths = (
        [one for one in parse_drawing(f, "en").iter("{*}path") if one.get("stroke")]
        for f in (drawn, dotted)
    )
    first = next(one for one in lines if "series-1" in one.get("stroke"))  # through its points
    assert first.get("d") not in {one.get("d") for one in paths}
    (markers,) = [one for one in paths if "series-1" in one.get("stroke")]
    centres = [find_middle(one) for one in parse_subpaths(markers.get("d"))]
    assert np.array(centres) == pytest.approx(np.array(parse_subpaths(first.get("d"))[0]), abs=0.05)
    # Markers of the line would look like some of the points.
    assert sum("series-2" in one.get("stroke") for one in lines) == 2
    assert sum("series-2" in one.get("stroke") for one in paths) == 1
    assert "measured (points without a line): " in dotted.alt("en")
    assert "points without" not in drawn.alt("en")


def name_places(figure, names):
    """Where the names of lines stand, and the right ends of the lines in their order."""
    root = parse_drawing(figure, "en")
    texts = {one.text: one for one in root.iterfind(".//{*}text") if one.text in names}
    ends = [
        parse_subpaths(one.get("d"))[0][-1]
        for one in root.iter("{*}path")
        if one.get("stroke-width") in ("2", "1.25")
    ]
    return [texts[name] for name in names], ends


def test_names_stand_at_the_ends_of_their_lines():
    names = ["rises", "stays", "falls"]
    series = {"rises": [1, 5, 9], "stays": [4, 4, 4], "falls": [7, 5, 3.5]}
    figure = line_chart([1, 2, 3], series, xlabel="n", ylabel="y", roles=["query", "key", "value"])
    texts, ends = name_places(figure, names)
    assert len(ends) == 3  # no samples of a legend
    for text, (x, y), role in zip(texts, ends, ["query", "key", "value"], strict=True):
        assert 0 < float(text.get("x")) - x < 40
        assert abs(float(text.get("y")) - 5 - y) <= 18
        assert text.getparent().get("fill") == f"var(--role-{role})"
    heights = sorted(float(text.get("y")) for text in texts)
    assert min(b - a for a, b in itertools.pairwise(heights)) >= 18 - 0.02
    assert_text_fits(parse_drawing(figure, "en"), 14)


def test_a_long_name_at_the_end_of_a_line_has_two_lines():
    series = {"loss on the training text": [9, 5, 2], "entropy": [4, 4, 4]}
    figure = line_chart([1, 2, 3], series, xlabel="n", ylabel="y")
    texts, ends = name_places(figure, ["loss on the", "training text", "entropy"])
    assert len(ends) == 2  # no samples of a legend
    first, second, other = (float(text.get("y")) for text in texts)
    assert second - first == 16
    middles = sorted([(first + second) / 2, other])
    assert middles[1] - middles[0] >= 38 - 0.02  # names are further apart than their lines
    assert len({text.get("x") for text in texts}) == 1
    assert_text_fits(parse_drawing(figure, "en"), 14)


@pytest.mark.parametrize(
    "series",
    [
        {"alone": [1, 2, 3]},
        {"one": [1, 2, 3], "two": [3, 2, 3], "three": [2, 3, 3], "four": [0, 1, 3]},  # one end
        {"a": [1, 2, 3], "a name that would take half of the plot": [3, 2, 1]},
    ],
)
def test_a_legend_stands_above_where_names_have_no_room_at_the_ends(series):
    figure = line_chart([1, 2, 3], series, xlabel="n", ylabel="y")
    texts, ends = name_places(figure, list(series))
    assert len(ends) == 2 * len(series)
    assert max(float(text.get("y")) for text in texts) < min(y for _, y in ends[: len(series)])


def test_a_mark_stands_at_its_x_over_the_whole_plot():
    y = {"a": [3.0, 9.0, 4.0]}
    with_mark, without = (
        line_chart([0, 10, 40], y, xlabel="t", ylabel="y", mark=mark) for mark in (25, None)
    )
    paths = [
        [one.get("d") for one in parse_drawing(f, "en").iter("{*}path")]
        for f in (with_mark, without)
    ]
    (added,) = set(paths[0]) - set(paths[1])
    (top, bottom), *_ = parse_subpaths(added)
    ((x0, _), _, (x2, _)) = parse_subpaths(paths[0][paths[0].index(added) + 1])[0]
    assert top[0] == bottom[0] == pytest.approx(x0 + 25 / 40 * (x2 - x0), abs=0.06)
    assert bottom[1] - top[1] == 230
    assert with_mark.alt("en").endswith(" Marked: t = 25.")
    assert "Marked" not in without.alt("en")
    with pytest.raises(ValueError, match=r"mark must lie between 0\.0 and 40\.0, got 41"):
        line_chart([0, 10, 40], y, xlabel="t", ylabel="y", mark=41)


def test_logarithmic_axes_put_equal_ratios_at_equal_distances():
    figure = line_chart([4, 16, 64], {"a": [1, 10, 100]}, xlabel="d_k", ylabel="y",
                        log_x=True, log_y=True, roles=["key"])  # fmt: skip
    ((x0, y0), (x1, y1), (x2, y2)) = outlines_of(figure, "key", "stroke")[0]
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.05)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.05)
    assert {"4", "16", "64", "1", "10", "100"} <= set(find_texts(figure, "en"))


def test_numbers_in_charts_are_written_without_e():
    figure = line_chart([1, 2], {"a": [1022.7, 6.0337e-6]}, xlabel="n", ylabel="y", log_y=True)
    assert "a: 1020 at 1; 6.03 × 10⁻⁶ at 2." in figure.alt("en")
    assert "10⁻⁵" in find_texts(figure, "en")


def test_lines_differ_in_more_than_colour():
    figure = line_chart([1, 2, 3], {c: [i, i, i + 1] for i, c in enumerate("abcdef")},
                        xlabel="n", ylabel="y", roles=["key"] * 6)  # fmt: skip
    root = parse_drawing(figure, "en")
    dashes = [one.get("stroke-dasharray") for one in root.iter("{*}path")
              if one.get("stroke-width") == "2"]  # fmt: skip
    assert len(set(dashes)) == 6


@LANGUAGES
def test_every_bar_has_its_value(lang):
    figure = FIGURES["bars"]
    values = ["0.0174", "0.0174", "0.9479", "−0.3000", "0.1100", "0.1200", "0.1300", "0.1400"]
    assert [
        one for one in find_texts(figure, lang) if re.fullmatch(r"[-−]?0\.\d{4}", one)
    ] == values
    assert sorted(re.findall(r"[-−]?0\.\d{4}", figure.alt(lang))) == sorted(values)


def test_a_bar_of_something_else_has_its_name_before_its_value():
    series = {"France": [0.75, 0.5], "Rome": [0.25, 0.125]}
    named = [["Paris", "a"], ["the", "not"]]
    figure = bar_chart(["1", "2"], series, ylabel="p", xlabel="place", names=named)
    wanted = {"Paris 0.75", "a 0.5", "the 0.25", "not 0.125"}
    assert wanted <= {*find_texts(figure, "en")}
    assert all(one in figure.alt("en") for one in wanted)


def test_labels_of_bars_end_at_the_axis_or_before_a_bar_below_0():
    """Far from their bars, rows would have to be guessed."""
    figure = bar_chart(["up", "down"], {"": [2.0, -1.0]}, ylabel="y", roles=["score"], spec=".4f")
    root = parse_drawing(figure, "en")
    ends = {one.text: float(one.get("x")) for one in root.iter("{*}text") if one.text}
    (axis,) = {
        points[0][0]
        for one in root.iter("{*}path")
        for points in parse_subpaths(one.get("d"))
        if len(points) == 2 and points[0][0] == points[1][0]
    }
    assert ends["up"] == pytest.approx(axis - 8, abs=0.1)
    assert ends["down"] < ends["−1.0000"] - 7 * 0.6 * 14


def test_bars_are_as_long_as_their_values():
    figure = bar_chart(["a", "b"], {"": [2.0, 3.0]}, ylabel="y", roles=["score"])
    lengths = [max(x for x, _ in bar) - min(x for x, _ in bar)
               for bar in outlines_of(figure, "score", "fill")]  # fmt: skip
    assert len(lengths) == 2
    assert lengths[0] / lengths[1] == pytest.approx(2 / 3, abs=1e-3)


def test_bars_of_each_series_are_as_long_as_its_own_values():
    series = {"a": [2.0, 3.0], "b": [4.0, 1.0]}
    figure = bar_chart(["x", "y"], series, ylabel="y", roles=["score", "weight"])
    lengths = {}
    for name, role, kind in (("a", "score", "fill"), ("b", "weight", "stroke")):
        bars = outlines_of(figure, role, kind)[:2]
        lengths[name] = [max(x for x, _ in bar) - min(x for x, _ in bar) for bar in bars]
    unit = lengths["a"][0] / 2
    assert lengths["a"] == pytest.approx([2 * unit, 3 * unit], abs=0.2)
    assert lengths["b"] == pytest.approx([4 * unit, 1 * unit], abs=0.2)


def test_bars_on_one_scale_can_be_compared():
    lengths = []
    for values in ([0.5, 0.25], [0.2, 0.1]):
        figure = bar_chart(["a", "b"], {"": values}, ylabel="y", roles=["score"], scale=(0, 1))
        for bar in outlines_of(figure, "score", "fill"):
            lengths.append(max(x for x, _ in bar) - min(x for x, _ in bar))
    assert [length / lengths[0] for length in lengths] == pytest.approx(
        [1, 0.5, 0.4, 0.2], abs=0.01
    )


def test_axes_are_named_above_the_cells_and_numbered_from_0():
    figure = heatmap(
        np.arange(35.0).reshape(5, 7),
        numbers=False,
        row_axis="positions",
        column_axis="components",
        ticks=3,
    )
    texts = [
        ("".join(one.itertext()), float(one.get("x")), float(one.get("y")))
        for one in parse_drawing(figure, "en").iterfind(".//{*}text")
    ]
    (down, x, y), (across, after, beside) = texts[-4:-2]
    assert (down, across) == ("positions ↓", "components →")
    assert y == beside
    assert after - x > measure_text(down)
    columns, rows = texts[:3], texts[3:6]
    assert [one for one, _, _ in columns] == ["0", "3", "6"]
    assert [one for one, _, _ in rows] == ["0", "3", "4"]
    assert columns[1][1] - columns[0][1] == 3 * 24  # px of a cell
    assert rows[2][2] - rows[1][2] == 24
    assert rows[0][1] < 40  # the cells begin at the left
    assert "34.00 (row 5, column 7" in figure.alt("en")  # not by its number in the drawing


def test_dials_point_where_sine_and_cosine_say():
    figure = dials([[0, 1]], [[math.pi / 2, 4]], columns=["a", "b"], below=["x", "y"])
    root = parse_drawing(figure, "en")
    middles = []
    for group, (start, end) in zip(root.findall("{*}g"), ((0, math.pi / 2), (1, 4)), strict=True):
        _, sector, before, after, _ = group.findall("{*}path")
        for hand, angle in ((before, start), (after, end)):
            ((x, y), (to_x, to_y)) = parse_subpaths(hand.get("d"))[0]
            assert (to_x - x) / 32 == pytest.approx(math.sin(angle), abs=1e-3)
            assert (y - to_y) / 32 == pytest.approx(math.cos(angle), abs=1e-3)
        middles.append((x, y))
        corner, first, last = parse_subpaths(sector.get("d"))[0]
        assert corner == (x, y)
        assert first == parse_subpaths(before.get("d"))[0][1]
        assert last == pytest.approx(parse_subpaths(after.get("d"))[0][1], abs=0.02)
        assert f"0 {int(end - start > math.pi)} 1 " in sector.get("d")
    assert middles[0][1] == middles[1][1]
    assert middles[1][0] - middles[0][0] > 64
    wanted = "a from 0° to 90°; b from 57° to 229°. Below: x; y."
    assert figure.alt("en").endswith(wanted)
    assert "a 从 0° 到 90°；b 从 57° 到 229°。" in figure.alt(ZH)


def test_hands_fit_a_phone():
    """Four of them in 336 px, where a drawing has 0.62 of its size."""
    four = [[0.1, 0.2, 0.3, 0.4]]
    columns = [f"ω_{i} = 0.000053" for i in range(4)]
    figure = dials(four, four, columns=columns, rows=["t = 9"], below=["cos = −0.990"] * 4)
    width = float(parse_drawing(figure, "en").get("viewBox").split()[2])
    assert 0.62 * width <= 336


def test_a_hand_that_comes_back_has_passed_over_nothing():
    (group,) = parse_drawing(dials([[1]], [[1 + 4 * math.pi]], columns=["a"]), "en").findall("{*}g")
    assert len(group.findall("{*}path")) == 4


def test_histogram_counts_and_says_what_it_leaves_out():
    samples = {"raw": [0.5, 0.75, 1.5, 7.0]}
    figure = histogram(samples, [0, 1, 2, 3], xlabel="score")
    assert figure.alt("en").endswith(
        "raw: 4 samples, spread from 0 to 2, the fullest bin from 0 to 1 with a share of 0.5; "
        "1 sample lies outside the axis."
    )
    counted = histogram({"raw": [0.5, 0.5, 1.5]}, [0, 1, 2, 3], xlabel="score")
    assert counted.alt(ZH).endswith(
        "“raw”：3 个样本，分布在 0 到 2 之间，最高的一格从 0 到 1，占 0.667。"
    )


def test_histogram_bars_are_as_high_as_their_shares():
    figure = histogram({"": [0, 1, 1, 1, 2, 3]}, [0, 1, 2, 4], xlabel="x", roles=["value"])
    (steps,) = outlines_of(figure, "value", "fill")
    floor = max(y for _, y in steps)
    heights = sorted({round(floor - y, 2) for _, y in steps} - {0.0})
    assert [h / heights[-1] for h in heights] == pytest.approx([1 / 3, 2 / 3, 1], abs=1e-3)
    at = [x for x, y in steps if y == floor]
    tops = [x for x, y in steps if floor - y == pytest.approx(heights[-1], abs=0.01)]
    width = (max(at) - min(at)) / 4  # of one unit: the second bin is one wide, the third two
    assert tops[1] - tops[0] == pytest.approx(width, abs=0.02)


def test_arrows_end_at_their_vectors_and_drop_perpendiculars():
    figure = plane(
        [("a", "query", [3, 4]), ("b", "key", [0, 5]), ("c", "value", [4, -3])], reach=5, onto=0
    )
    axis, line, *rest = (
        parse_subpaths(one.get("d")) for one in parse_drawing(figure, "en").iter("{*}path")
    )
    (left, right), (top, bottom) = axis
    x_0, y_0, unit = (
        find_middle([top, bottom])[0],
        find_middle([left, right])[1],
        (right[0] - left[0]) / 10,
    )
    place = lambda x, y: pytest.approx((x_0 + unit * x, y_0 - unit * y), abs=0.02)  # noqa: E731
    assert line[0][1] == place(3.75, 5)  # along (3, 4), up to the edge
    (way_b,), _, (way_c,), _ = rest[:4]
    # By hand: (0, 5)·(3, 4)/5 = 4, at 4/5 of (3, 4); (4, -3) is perpendicular.
    assert way_b == [place(0, 5), place(2.4, 3.2)]
    assert way_c == [place(4, -3), place(0, 0)]
    tips = [shape[0][0] for shape in rest[5::2]]
    assert tips == [place(3, 4), place(0, 5), place(4, -3)]
    assert figure.alt("en") == (
        "Arrows from the origin: a to (3.00, 4.00); b to (0.00, 5.00); c to (4.00, −3.00). "
        "On the line through a: b at 4.00; c at 0.00."
    )


# Languages.


@EACH
def test_english_holds_no_chinese_and_chinese_is_set_as_chinese(kind):
    figure = FIGURES[kind]
    assert not HAN.search(figure.svg("en"))
    assert not re.search(r"\b(query|key|weights|values|inputs|outputs?|variance)\b",
                         " ".join(find_texts(figure, ZH)))  # fmt: skip
    assert HAN.search(figure.alt(ZH))
    assert not re.search(r"[\u4e00-\u9fff][0-9A-Za-z]|[0-9A-Za-z][\u4e00-\u9fff]", figure.alt(ZH))
    assert not re.search(r"[\u4e00-\u9fff] *[,;:!?()]|[\u4e00-\u9fff] [\u4e00-\u9fff]",
                         figure.alt(ZH))  # fmt: skip
    slanted = parse_drawing(figure, ZH).iterfind(".//*[@font-style='italic']")
    assert not any(HAN.search("".join(one.itertext())) for one in slanted)


@EACH
def test_both_languages_draw_the_same_shapes(kind):
    """Sizes follow the words of a language; what is drawn does not."""

    def shapes(lang: Language) -> list[str]:
        drawn = parse_drawing(FIGURES[kind], lang)
        return [re.sub(r"-?[\d.]+ ?", "n", one.get("d")) for one in drawn.iter("{*}path")]

    assert shapes(EN) == shapes(ZH)


def test_subscripts():
    figure = heatmap([[1.0], [2.0]], name="W_k", rows=["max_length", "÷ √d_k, k_2"])
    parts = {
        one.text: (one.get("font-style"), one.get("font-size"))
        for one in parse_drawing(figure, "en").iter("{*}tspan")
    }
    assert parts["W"] == ("italic", None)
    assert parts["k"] == ("italic", None)  # the letter of k_2; its index is a number
    assert parts["2"] == (None, ".75em")
    assert parts["𝑘"] == (None, ".75em")  # of the root: a slanted letter by itself
    assert find_texts(figure, "en")[:3] == ["Wk", "max_length", "÷ √‾‾𝑑𝑘, k2"]


def test_chips_stand_over_their_letters():
    """26 px a letter; the piece that a row joins is as wide as both, filled, and alone in it."""
    drawn = parse_drawing(chips([("a", ["s", "h", "e"]), ("b", ["s", "he"]), ("c", ["she"])]), "en")
    boxes = [(float(one.get("x")), float(one.get("width"))) for one in drawn.iter("{*}rect")]
    left = boxes[0][0]
    spans = [(round((x - left) / 26, 3), round((wide + 4) / 26, 3)) for x, wide in boxes]
    assert spans == [(0, 1), (1, 1), (2, 1), (0, 1), (1, 2), (0, 3)]
    filled = ["key-fill" in one.get("fill") for one in drawn.iter("{*}rect")]
    assert filled == [False, False, False, False, True, True]


def test_token_lines_break_inside_their_bubble():
    """14 px type: a letter has 8.4 px, a token 12 px more, and 26 px at least; by hand."""
    tokens = [("a" * 20, False), ("b" * 20, True), ("c" * 20, False), ("d", False)]
    drawn = parse_drawing(token_lines([tokens, [("e", True)]], label="new"), "en")
    boxes = [
        tuple(float(one.get(name)) for name in ("x", "y", "width", "height"))
        for one in drawn.iter("{*}rect")
    ]
    first, second, sample, *drawn_tokens = boxes
    assert first == (10, 44, 16 + 180 + 4 + 180, 16 + 26 + 32)  # two rows, two tokens in the wider
    assert second == (10, 44 + 74 + 10, 16 + 26, 16 + 26)
    assert sample == (10, 10, 32, 26)
    assert drawn_tokens == [
        (18, 52, 180, 26),
        (202, 52, 180, 26),
        (18, 84, 180, 26),
        (202, 84, 26, 26),
        (18, 136, 26, 26),
    ]
    filled = [one.get("stroke-width") == "2" for one in drawn.iter("{*}rect")][2:]
    assert filled == [True, False, True, False, False, True]


@pytest.mark.parametrize("lines", [[], [[]], [[("a", False), ("", True)]]])
def test_token_lines_have_tokens(lines):
    with pytest.raises(ValueError, match="tokens"):
        token_lines(lines, label="new")


@pytest.mark.parametrize("rows", [[], [("a", ["s", ""])], [("a", ["sea"]), ("b", ["see"])]])
def test_chips_are_one_text(rows):
    with pytest.raises(ValueError, match="one text"):
        chips(rows)


def place_ink(label: str) -> list[tuple[str, list[float]]]:
    """Left, low, right and high of each sign of a root in em, by what its font itself says."""
    font = TTFont(ROOT / "docs" / "assets" / "fonts" / "attention-math.woff2")
    names, glyphs = font.getBestCmap(), font.getGlyphSet()
    x = y = 0.0
    found = []
    tree = etree.fromstring(f"<g>{escape_label(label)}</g>")
    for part in tree.find("tspan[@class='root']").iterfind("tspan"):
        size = float(part.get("font-size", "1em")[:-2])
        y -= float(part.get("dy", "0em")[:-2]) * size
        moves = [float(one[:-2]) * size for one in part.get("dx", "").split()]
        for sign, move in itertools.zip_longest(part.text, moves, fillvalue=0.0):
            x += move
            pen = BoundsPen(glyphs)
            glyphs[names[ord(sign)]].draw(pen)
            left, low, right, high = (size * one / 1000 for one in pen.bounds)
            found.append((sign, [x + left, y + low, x + right, y + high]))
            x += size * font["hmtx"][names[ord(sign)]][0] / 1000
    return found


@pytest.mark.parametrize("label", ["√4", "√64", "√1024", "√d", "√d_k", "by √dₖ, too", "√d_model"])
def test_the_line_of_a_root_lies_over_its_argument(label):
    """It begins in the sign, without a gap, and ends just behind the argument, above all of it."""
    (sign, box), *others = place_ink(label)
    line = [ink for one, ink in others if one == "‾"]
    under = [ink for one, ink in others if one != "‾"]
    assert sign == "√"
    assert {round(one[3] - box[3], 3) for one in line} == {0.002}  # as high as the sign
    assert box[2] - 0.04 < line[0][0] < box[2]
    assert all(right[0] < left[2] for left, right in itertools.pairwise(line))
    assert 0 < max(one[2] for one in line) - max(one[2] for one in under) < 0.12
    assert box[2] < min(one[0] for one in under) < box[2] + 0.1
    assert max(one[3] for one in under) < line[0][1]


def test_a_root_without_the_fonts_of_the_site_is_text():
    drawn = bar_chart(["÷ √d_k, k_2", "√64"], {"": [1, 2]}, ylabel="x")._repr_mimebundle_()
    tree = etree.fromstring(drawn["image/svg+xml"])
    texts = ["".join(one.itertext()) for one in tree.iter("{*}text")]
    assert {"÷ √dk, k2", "√64"} <= set(texts)
    assert "Attention Math" not in drawn["image/svg+xml"]


def test_a_root_in_html_is_the_same_root():
    """The sign stands before the line, which is that of the rest; a number is not slanted."""
    root = '<span class="root"><span>√</span><span>{}</span></span>'
    assert escape_html_label("÷ √d_k (") == f"÷ {root.format('<i>d</i><sub><i>k</i></sub>')} ("
    assert escape_html_label("1/√64") == f"1/{root.format('64')}"
    assert escape_html_label("√(d)") == "√(d)"


# Inputs.


@pytest.mark.parametrize("name", ["float64", "float32", "bfloat16"])
def test_tensors_arrays_and_lists_give_the_same_figure(name):
    import torch  # which the processes above need not wait for

    dtype = getattr(torch, name)
    values = [[0.5, 0.25, 2.0], [1.0, -3.0, 0.75]]  # exact in every dtype
    tensor = torch.tensor(values, dtype=dtype, requires_grad=True)
    drawn = {heatmap(one).svg("en") for one in (tensor, values, np.array(values))}
    assert len(drawn) == 1
    x, y = torch.tensor([1, 2]), torch.tensor([0.5, 4.0], dtype=dtype)
    lists = line_chart([1, 2], {"a": [0.5, 4.0]}, xlabel="x", ylabel="y")
    assert line_chart(x, {"a": y}, xlabel="x", ylabel="y").svg("en") == lists.svg("en")


@pytest.mark.parametrize(("dtype", "step"), [("float64", 2.0**-52), ("float32", 2.0**-23)])
def test_every_number_passes_the_one_place_that_rounds(monkeypatch, dtype, step):
    seen = []
    monkeypatch.setattr(text_module, "observers", [lambda *call: seen.append(call)])
    figure = heatmap(np.array([[0.5, 0.25]], dtype=dtype), spec=".3f")
    assert len(figure.svg("en") + figure.svg(ZH)) > 100
    assert seen == [(0.5, ".3f", step), (0.25, ".3f", step)]


M = [[1.0, 2.0], [3.0, 4.0]]


REFUSED = """
heatmap([[1, 2], [3]]) → rows of one length, got lengths [2, 1]
heatmap([]) → must be a matrix or a vector, got []
heatmap(np.zeros((2, 3, 5))) → at most 2 axes, got more
heatmap(M, name="scores", rows=["a"]) → scores must have 2 labels for its rows
heatmap(M, columns=list("abc")) → must have 2 labels for its columns, got 3
heatmap(M, role="head") → role must be one of input, key, …, got 'head'
heatmap(M, highlight=[(2, 0)]) → must lie inside (2, 2), got (2, 0)
heatmap([[0.5]], spec="d") → spec 'd' must have integers, got 0.5
product(M, [[1, 2, 3]], M) → (n, m), (m, p) and (n, p), got
product(M, M, M) → c must be a × b, got 1.0 at row 0, column 0, wanted 7.0
product(M, M, M, names=("A", "B")) → names must be 3, one a matrix, got 2
plane([], reach=1) → plane must have an arrow, got none
plane([("a", "key", M[0] * 2)], reach=9) → must have 2 components, got 4
plane([("a", "key", [0, 2])], reach=1) → within 1 of 0, got [0.0, 2.0]
plane([("a", "key", [0, 0])], reach=1, onto=0) → 1 arrows and not 0, got 0
flow([]) → flow must have stages with boxes, got 0 stages
flow([("a", "key", [1], "d"), ("b", "key", [1], "d")], arrows=[(1, 0)]) →
    one of 2 boxes to a later stage, got 1 to 0
diagram(roles=[]) → diagram must have columns with parts, got 0 columns
diagram(["a"], [], roles=[None]) → columns with parts, got 2 columns
diagram(["a"], roles=[]) → roles must be 1, one per part, got 0
diagram(["a"], roles=[None], skips=[1]) → a part must be one of 1, got 1
diagram(["a"], roles=["head"]) → role must be one of input, key, …, got 'head'
diagram(["+", "a"], ["+"], roles=[None] * 3, skips=[1]) →
    a skip must end at a sum below it, got none below part 1
diagram(["a"], ["b"], roles=[None] * 2, links=[(1, 0, "c")]) →
    a link must lead to the right, got 1 to 0
diagram(["a"], ["b"], roles=[None] * 2, borders=[(0, 1, "c")]) →
    a border must hold parts of one column, got 0 to 1
bar_chart(["a"], {"c": [2]}, ylabel="y", scale=(0, 1)) →
    scale must hold 0 and every value, got (0, 1)
line_chart([1, 2, 3], {"a": [1, 2]}, xlabel="x", ylabel="y") →
    series 'a' must have 3 values, one for each of x, got 2
line_chart([2, 1], {"a": M[0]}, xlabel="x", ylabel="y") → x must rise, got
line_chart([0, 1], {"a": M[0]}, xlabel="x", ylabel="y", log_x=True) →
    x must be positive on a logarithmic axis, got 0
line_chart([1, 2], {"a": [1, float("nan")]}, xlabel="x", ylabel="y") →
    series 'a' must be finite, got nan
line_chart([1, 2], {"a": M[0]}, band={"b": M}, xlabel="x", ylabel="y") →
    one of the series ['a'], got 'b'
line_chart([1, 2], {"a": M[0]}, band={"a": (M[0], [3])}, xlabel="", ylabel="") →
    must have 2 low and high ends, got 2 and 1
line_chart([1, 2], {"a": M[0]}, dots=["b"], xlabel="x", ylabel="y") →
    dots must be of a series in ['a'], got ['b']
line_chart([1], {str(i): [i] for i in range(7)}, xlabel="x", ylabel="y") → 1 to 6 series, got 7
bar_chart(["a", "b"], {"c": [1, 2, 3]}, ylabel="y") →
    series 'c' must have 2 values, one for each of the labels, got 3
bar_chart(["a"], {"c": [1]}, ylabel="y", roles=["key", "key"]) →
    roles must be 1, one a series, got 2
dials([[1, 2]], [[1]], columns=["a", "b"]) → of one shape, got rows of [[2], [1]]
dials([[1]], [[1]], columns=["a", "b"]) → there must be 1 columns, got 2
histogram({"a": [1]}, [1, 0], xlabel="x") → 2 and rise, got [1.0, 0.0]
histogram({"a": [5]}, [0, 1], xlabel="x") → series 'a' must have samples between 0.0 and 1.0, got 0
"""  # a call, and what is said of it


@pytest.mark.parametrize("row", read_refusals(REFUSED), ids=lambda row: row.call)
def test_errors_say_wanted_and_got(row):
    with pytest.raises(ValueError, match=row.pattern):
        eval(row.call)


def test_a_label_is_a_string():
    with pytest.raises(TypeError, match="a label must be a string, got 1"):
        heatmap(M, rows=[1, 2])


# Contrast, from the style sheet's own values.


def palette(scheme: str) -> dict[str, str]:
    """The colours of a scheme, as the style sheet gives them."""
    sheet = make_style_sheet()
    start = sheet.index({"light": ":root", "dark": '[data-md-color-scheme="slate"]'}[scheme])
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", sheet[start : sheet.index("}", start)]))


def rgb(colour: str) -> list[float]:
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def luminance(colour: list[float]) -> float:
    """WCAG 2.2, "relative luminance"."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: list[float], other: list[float]) -> float:
    """WCAG 2.2, "contrast ratio"."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_computed_as_wcag_does():
    assert contrast(rgb("#000000"), rgb("#ffffff")) == pytest.approx(21)
    assert contrast(rgb("#777777"), rgb("#ffffff")) == pytest.approx(4.48, abs=0.005)


def assert_contrast(what, scheme, one, other, wanted):
    got = contrast(one, other)
    assert got >= wanted, f"{what}, {scheme}: wanted a contrast of {wanted}, got {got:.2f}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("role", ROLES)
def test_numbers_are_legible_on_every_shade(scheme, role):
    colours = {name: rgb(value) for name, value in palette(scheme).items()}
    page, fill = colours["figure-page"], colours[f"role-{role}-fill"]
    for opacity in np.linspace(0, 1, 21):
        cell = [opacity * f + (1 - opacity) * p for f, p in zip(fill, page, strict=True)]
        what = f"figure-ink on role-{role}-fill, {opacity:.0%} opaque"
        assert_contrast(what, scheme, colours["figure-ink"], cell, 4.5)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith(("-fill", "-page"))])
def test_lines_stand_out_from_the_page(scheme, name):
    colours = palette(scheme)
    page = rgb(colours["figure-page"])
    assert_contrast(f"{name} on figure-page", scheme, rgb(colours[name]), page, 3)
