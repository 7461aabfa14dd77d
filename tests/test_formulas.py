"""Formulas: what is no TeX fails, what is drawn is MathML Core, the font has every character."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from fontTools.pens.basePen import NullPen
from fontTools.ttLib import TTFont

from attention_docs.site.render import derivations, mathfont, mathml
from attention_docs.site.render.formulas import Renderer
from tests.conftest import ROOT, parse_html

FONT = ROOT / "docs" / "assets" / "fonts" / "attention-math.woff2"
RENDERER = Renderer()
HINT = "see the docstring of attention_docs/site/render/mathfont.py: how the font is made again"


@pytest.mark.parametrize(
    ("tex", "message"),
    [
        (r"\frac{w = ", "Unexpected end of input"),
        (r"\nosuch x", "Unsupported function name: \\nosuch"),
        (r"\text{\nosuch}", "Unsupported function name: \\nosuch"),
        (r"\left( x", r"Expected '\right'"),
        ("x^a^b", "Double superscript"),
        ("a & b", "Expected 'EOF', got '&'"),
        (r"\begin{aligned} a \end{align}", "Mismatch"),
        ("x_", "a part is missing"),
        ("权重", "used in math mode"),
        (r"a \\ b", r"\\ stands outside of an environment"),
        (r"\cancel{x}", "not in MathML Core"),
        (r"\begin{array}{lr} a & b \end{array}", "wanted a table of aligned, cases or a matrix"),
    ],
)
@pytest.mark.parametrize("display", [False, True])
def test_what_is_no_tex_fails(tex: str, message: str, display: bool) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        RENDERER.render(tex, display)


def test_a_formula_is_one_element_that_keeps_its_tex() -> None:
    assert RENDERER.render("d_k", False) == (
        '<math data-tex="d_k"><msub><mi>d</mi><mi>k</mi></msub></math>'
    )
    assert RENDERER.render('a < "b"', True).startswith(
        '<math display="block" data-tex="a &lt; &quot;b&quot;"><mi>a</mi><mo>&lt;</mo>'
    )


@pytest.mark.parametrize(
    ("tex", "row"),
    [
        (r"2 \cos 2", "2 . cos . 2"),  # a name is set apart, but not from a bracket
        (r"\ln(x)", "ln ( x )"),
        (r"-\sin x", "− . sin . x"),
        (r"\text{so }\sin x", "so\xa0 . sin . x"),
        (r"\text{(}\sin x\text{)}", "( sin . x )"),  # a reason in brackets
        (r"\text{（}\sin x\text{）}", "（ sin . x ）"),
        (r"\max_m\, (u)", "maxm . ( u )"),  # the author's own space
        (r"\operatorname{f}\!\left(\frac12\right) V", "f(12) . V"),
        (r"a \quad\; b", "a . b"),  # spaces side by side are one
        (r"(x)^2", "( x )2"),  # the script is at the bracket
        (r"s_{\max}", "smax"),
    ],
)
def test_thin_spaces_are_those_of_tex(tex: str, row: str) -> None:
    root = BeautifulSoup(RENDERER.render(tex, False), "lxml").find("math")
    found = ["." if one.name == "mspace" else one.get_text() for one in children(root)]
    assert " ".join(found) == row


@pytest.mark.parametrize(
    ("tex", "sign", "spaces"),
    [
        (r"= \sum_i x", "∑", ("0em", "0.1667em")),  # after = there is space already
        (r"a \sum_i (x)", "∑", ("0.1667em", "0em")),
        (r"1, \dots, n", "…", ("0em", "0.1667em")),
        (r"q \cdot k", "⋅", ("0.2222em", "0.2222em")),
        (r"\max(0, \cdot)", "⋅", ("0em", "0em")),  # stands for itself
        (r"x_{i=1}", "=", ("0em", "0em")),  # no space in a script
        (r"a = b", "=", (None, None)),  # as browsers have it
    ],
)
def test_spaces_around_a_sign_are_those_of_tex(
    tex: str, sign: str, spaces: tuple[str | None, str | None]
) -> None:
    soup = BeautifulSoup(RENDERER.render(tex, False), "lxml")
    (found,) = [one for one in soup.find_all("mo") if one.get_text() == sign]
    assert (found.get("lspace"), found.get("rspace")) == spaces


def test_a_table_says_once_how_it_is_aligned() -> None:
    derivation = RENDERER.render(
        r"\begin{aligned} a &= b && \text{why} \\[4pt] &= c \end{aligned}", True
    )
    assert '<mtable displaystyle="true" class="aligned"><mtr style="--gap:0.4em">' in derivation
    assert not re.search(r"<mtd [^/>]", derivation)
    assert '<mtable class="cases">' in RENDERER.render(
        r"\begin{cases} a & b \\ c & d \end{cases}", True
    )
    assert "<mtable><mtr>" in RENDERER.render(r"\begin{bmatrix} a & b \end{bmatrix}", True)


@pytest.mark.parametrize(
    ("tex", "roles"),
    [
        (r"q_i \cdot k_j = s_{ij}", {"q": "query", "k": "key", "s": "score"}),
        (r"o_i = \sum_j a_{ij} v_j", {"o": "output", "a": "weight", "v": "value"}),
        (r"x_i W_Q, d_k, e^{s_i}, k = 3", {"x": "input"}),  # a script, and a letter alone, is none
        (r"QK^\top / \sqrt{d_k}, V^2, Q_1", {"Q": "query", "K": "key", "V": "value"}),
        (r"\mathbf{Q}, X, \operatorname{Var}(X), O(n)", {}),
    ],
)
def test_symbols_carry_their_roles(tex: str, roles: dict[str, str]) -> None:
    rendered = RENDERER.render(tex, False)
    found = re.findall(r'<mi class="(?:leans-\d )?of-(\w+)"[^>]*>(\w)</mi>', rendered)
    assert {letter: role for role, letter in found} == roles
    assert rendered.count("of-") == len(found)


def test_a_letter_that_leans_says_so_or_moves_its_script() -> None:
    assert '<mi class="leans-3">Y</mi>' in RENDERER.render("(Y)", False)
    assert '<msub><mi>W</mi><mi class="leans-1">K</mi></msub>' in RENDERER.render("W_K", False)
    assert '<msup><mi>Y</mi><mi class="lean-3">m</mi></msup>' in RENDERER.render("Y^m", False)
    assert "class" not in RENDERER.render("x^2 + d_k", False)


def test_a_bracket_of_a_fixed_size_does_not_stretch() -> None:
    rendered = RENDERER.render(r"f\Bigl(\sum_i x\Bigr)", False)
    assert '<mo form="prefix" class="Big" stretchy="false">(</mo>' in ordered(rendered)


@pytest.mark.parametrize(
    ("tex", "parts"),
    [
        (r"\operatorname{Var}(X) = \operatorname{E}[(X - \mu)^2]", ["Var(X)=", "E[(X−μ)2]"]),
        (r"a + b = c + d", ["a+b=c+d"]),  # short
        (r"(aaaa + bbbb + cccc + dddd)", ["(aaaa+bbbb+cccc+dddd)"]),  # a bracket holds together
    ],
)
def test_a_long_formula_of_a_sentence_may_go_on_in_the_next_line(
    tex: str, parts: list[str]
) -> None:
    soup = BeautifulSoup(mathml.make_breakable(RENDERER.render(tex, False)), "lxml")
    assert [one.get_text() for one in soup.find_all("math")] == parts
    (keeper,) = soup.select("[data-tex]")
    assert keeper["data-tex"] == tex


def test_punctuation_stays_with_the_formula_before_it() -> None:
    short = RENDERER.render("d_k", False)
    assert mathml.make_breakable(short, ",") == f'<span class="held">{short},</span>'
    long = RENDERER.render(r"\operatorname{Var}(X) = \operatorname{E}[(X - \mu)^2]", False)
    soup = BeautifulSoup(mathml.make_breakable(long, "。"), "lxml")
    (held,) = soup.select("span.held")
    assert held.get_text() == "E[(X−μ)2]。"
    (keeper,) = soup.select("[data-tex]")
    assert keeper["data-tail"] == "。"  # the copy of a formula is its TeX and this


DERIVATION = r"""\begin{aligned}
a_1 + b &= c && \text{(by } \mu \text{, once)} \\[4pt]
&= d + e + f + gggg + hhhh && \text{（因为 } x = 1 \text{）} \\
&= 0
\end{aligned}"""


def test_a_derivation_is_its_lines_each_with_its_reason() -> None:
    soup = BeautifulSoup(
        derivations.lay_out_formula(RENDERER.render(DERIVATION, True)), "html.parser"
    )
    (box,) = children(soup)
    assert (box["class"], box["data-tex"]) == (["lines"], DERIVATION)
    steps = [[(one["class"][0], one.get_text()) for one in children(step)] for step in box]
    assert steps == [
        [("left", "a1+b"), ("right", "=c"), ("reason", "by μ, once")],
        [("left", ""), ("right", "=d+e+f+gggg+hhhh"), ("reason", "因为 x=1")],
        [("left", ""), ("right", "=0")],
    ]
    assert [step.get("style") for step in children(box)] == ["--gap:0.4em", None, None]
    assert soup.select_one(".reason .held").get_text() == "μ,"  # type: ignore[union-attr]
    second = children(box)[1].select(".right > math")
    assert [one.get_text() for one in second] == ["=d+e", "+f+gggg", "+hhhh"]
    assert second[1].mo["form"] == "infix"  # type: ignore[index] # though nothing is before it


def test_a_reason_in_one_style_loses_its_brackets_too() -> None:
    tex = r"\begin{aligned} a &= b && \text{(since } \textstyle\sum_y p = 1 \text{)} \end{aligned}"
    soup = BeautifulSoup(derivations.lay_out_formula(RENDERER.render(tex, True)), "html.parser")
    assert soup.select_one(".reason").get_text() == "since ∑yp=1"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("tex", "lines"),
    [
        (r"a = b", None),  # short
        (r"\operatorname{Var}(X) = \operatorname{E}[(X - \mu)^2] + 0000", 3),
        (r"\begin{bmatrix} a & b \end{bmatrix}", None),
    ],
)
def test_another_displayed_formula_breaks_before_a_sign(tex: str, lines: int | None) -> None:
    rendered = RENDERER.render(tex, True)
    laid_out = derivations.lay_out_formula(rendered)
    if lines is None:
        assert laid_out == rendered
    else:
        parts = BeautifulSoup(laid_out, "html.parser").select("div[data-tex] > math")
        assert len(parts) == lines
        assert all(one.find().name == "mo" for one in parts[1:])  # type: ignore[union-attr]


def test_a_line_breaks_between_statements_before_it_breaks_one() -> None:
    tex = r"a_m \ge \frac{1}{1 + e^{-g}}, \qquad 1 - a_m \le (n - 1)\, e^{-g} + 0000"
    soup = BeautifulSoup(derivations.lay_out_formula(RENDERER.render(tex, True)), "html.parser")
    (box,) = children(soup)
    first, space, second = children(box)
    assert first["class"] == second["class"] == ["statement"]
    assert space["class"] == ["quad"]
    assert not box.find("mspace", width="2em")
    whole = [one.get_text().replace("\u2061", "") for one in (first, second)]
    assert whole == ["am≥11+e−g,", "1−am≤(n−1)e−g+0000"]
    assert [one.name for one in children(second)] == ["math", "wbr", "math", "wbr", "math"]


def test_lines_without_reasons_are_lines_too() -> None:
    tex = r"\begin{aligned} \text{plain:} & 4nd \\ y &= 1, & z &= 2nd \end{aligned}"
    soup = BeautifulSoup(derivations.lay_out_formula(RENDERER.render(tex, True)), "html.parser")
    (box,) = children(soup)
    assert box["class"] == ["lines", "stacked"]
    assert [[one.get_text() for one in step] for step in box] == [
        ["plain:", "4nd"],
        ["y", "=1, z=2nd"],
    ]


@pytest.mark.parametrize(("term", "kind"), [("x", "lines"), ("xxxxxxxxxx", "lines stacked")])
def test_a_long_derivation_has_its_reasons_below(term: str, kind: str) -> None:
    tex = rf"\begin{{aligned}} a &= {' + '.join([term] * 6)} && \text{{(why)}} \end{{aligned}}"
    laid_out = derivations.lay_out_formula(RENDERER.render(tex, True))
    assert laid_out.startswith(f'<div class="{kind}"')


def children(tag: Any) -> list[Any]:
    return [one for one in tag.children if one.name]


def ordered(rendered: str) -> str:
    """The attributes of every <mo>, in the order of their names less that of `form`."""
    return re.sub(
        r"<mo ([^>]*)>",
        lambda tag: "<mo " + " ".join(sorted(tag[1].split(), key=lambda a: (a[0] != "f", a))) + ">",
        rendered,
    )


# --- the font -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def font() -> TTFont:
    return TTFont(FONT)


@pytest.fixture(scope="module")
def rare() -> TTFont:
    return TTFont(mathfont.TARGET_RARE)


def test_the_font_is_small_and_mathematical(font: TTFont) -> None:
    assert FONT.stat().st_size <= 40_000
    constants = font["MATH"].table.MathConstants
    assert {
        name: getattr(constants, name).Value for name in mathfont.CONSTANTS
    } == mathfont.CONSTANTS
    assert font["MATH"].table.MathVariants.VertGlyphConstruction
    assert "New Computer Modern" not in font["name"].getDebugName(1)
    assert (FONT.parent / "LICENSE").is_file()
    css = (ROOT / "docs" / "assets" / "math.css").read_text(encoding="utf-8")
    assert f'url("fonts/{FONT.name}")' in css


def test_a_glyph_is_as_wide_where_it_is_hinted_as_where_it_is_not(font: TTFont) -> None:
    """A browser on Linux takes the outline's own width where it hints: "( x" for "(x"."""
    outlines = font["CFF "].cff[0].CharStrings
    for name, (width, _) in font["hmtx"].metrics.items():
        outlines[name].draw(NullPen())
        assert outlines[name].width == width, name


def test_the_font_was_made_after_its_list_of_characters(font: TTFont, rare: TTFont) -> None:
    assert not find_missing_characters(font, set(mathfont.CHARACTERS) - set(mathfont.RARE)), HINT
    assert not find_missing_characters(rare, mathfont.RARE), HINT


def test_what_is_rare_is_asked_for_where_it_is_needed() -> None:
    """A browser takes the file of its range, which is that of the rare characters."""
    assert set(mathfont.RARE) <= set(mathfont.CHARACTERS)
    css = (ROOT / "docs" / "assets" / "math.css").read_text(encoding="utf-8")
    face = css[css.index(mathfont.TARGET_RARE.name) :].split("}")[0]
    assert f"unicode-range: {mathfont.list_ranges(mathfont.RARE)};" in face
    assert mathfont.list_ranges("cabx𝐀") == "U+61-63, U+78, U+1d400"


def test_the_font_has_every_character_of_every_formula(
    font: TTFont, rare: TTFont, site: Path
) -> None:
    wanted = {sign for path in site.rglob("*.html") for sign in list_drawn_characters(path)}
    assert len(wanted) > 100
    missing = find_missing_characters(font, wanted)
    assert not find_missing_characters(rare, missing), HINT


def find_missing_characters(font: TTFont, text: Any) -> set[str]:
    """What the font cannot draw; Chinese is drawn in the font of the text."""
    known = font.getBestCmap()
    return {c for c in text if ord(c) not in known and unicodedata.east_asian_width(c) not in "FW"}


def list_drawn_characters(path: Path) -> Iterator[str]:
    """The characters of a page's formulas, as browsers draw them: a single letter is italic."""
    for token in parse_html(path).iterfind(".//math//*"):
        if token.tag not in ("mi", "mn", "mo", "mtext"):
            continue
        text = token.text_content()
        if token.tag == "mi" and len(text) == 1 and "mathvariant" not in token.attrib:
            text = make_italic(text)
        yield from text


def make_italic(letter: str) -> str:
    """A letter in Unicode's mathematical italic; what has none stays."""
    case = "CAPITAL" if letter.isupper() else "SMALL"
    name = unicodedata.name(letter).split()[-1]
    try:
        return unicodedata.lookup(f"MATHEMATICAL ITALIC {case} {name}")
    except KeyError:
        return "ℎ" if letter == "h" else letter
