r"""Makes the font of the formulas: the part of New Computer Modern Math that they need.

    python -m attention_docs.site.render.mathfont NewCMMath-Book.otf

docs/assets/fonts/LICENSE says where to get the original. A character that a formula needs goes
into `CHARACTERS`. Mended on the way, because browsers do not do all that TeX does:

- Scripts: the font has one depth for subscripts, the one that TeX keeps for a subscript below a
  superscript. With it lines of text with $d_k$ would grow apart.
- A prime stands high already; in a superscript it belongs lower and larger.
- Chromium keeps as much room for a bracket or a root that stretches as its widest form takes. So
  large forms are narrower here, and brackets of a fixed size (`\big(`, `\Big(` and so on) do not
  stretch but are features, ss01 to ss04.
- The height of a line is that of a bracket, not that of a page of text.

What no formula of the site uses stands in a file of its own, which a browser asks for only where a
page needs it: docs/assets/math.css names the characters of each.
"""

from __future__ import annotations

import string
import sys
from copy import deepcopy
from pathlib import Path

from fontTools.feaLib.builder import addOpenTypeFeaturesFromString
from fontTools.misc.transform import Transform
from fontTools.pens.boundsPen import BoundsPen
from fontTools.pens.t2CharStringPen import T2CharStringPen
from fontTools.pens.transformPen import TransformPen
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

TARGET = Path(__file__).parents[3] / "docs" / "assets" / "fonts" / "attention-math.woff2"
TARGET_RARE = TARGET.with_stem("attention-math-rare")
NAME = "Attention Math"


def _list_alphabet(upper: int, lower: int) -> str:
    """The letters of one of Unicode's mathematical alphabets."""
    return "".join(chr(start + i) for start in (upper, lower) for i in range(26))


ITALIC = _list_alphabet(0x1D434, 0x1D44E).replace("\U0001d455", "ℎ")
BOLD = _list_alphabet(0x1D400, 0x1D41A) + "".join(chr(0x1D7CE + i) for i in range(10))
GREEK = "ΓΔΘΛΞΠΣΦΨΩαβγδεζηθικλμνξπρσςτυφχψωϵϑϕϱ"
ITALIC_GREEK = "".join(chr(0x1D6FC + i) for i in range(0x1D71C - 0x1D6FC))
SIGNS = (
    "\u00a0\u2061–—‘’“”±·×÷¬°"  # text
    "−∓∗∘∙⋅⊕⊖⊗⊙∧∨∩∪=≠≈∼≃≅≡∝<>≤≥≪≫∈∉∋⊂⊆⊃⊇∣∥⊤⊥"  # between two things
    "→←↔⇒⇐⇔⟹⟸⟺⟶⟵↦↑↓"
    "∀∃∅∞∂∇∑∏∫√ℓℝℕℤ𝔼𝟙ℒ𝒩…⋯⋮⋱′″"  # by themselves
    "()[]{}|‖⟨⟩⌊⌋⌈⌉⏞⏟ˆ˜¯˙¨‾"  # what stretches, and accents
)
RARE = (
    BOLD.replace("𝟏", "")
    + "ΓΘΛΞΨΩζινξςυχψϑϕϱ𝜁𝜄𝜈𝜉𝜊𝜍𝜐𝜒𝜓𝜗𝜘𝜙𝜚𝜛¬°ℒℕℝℤ𝒩𝔼𝟙"
    + "↑↓↔↦⇐⇔∀∃∅∉∋∓∗∙∧∨∩∫≃≅≡≪≫⊂⊃⊆⊇⊕⊖⊗⊥⋮⟵⟸⟹"
)
CHARACTERS = string.printable[:95] + ITALIC + BOLD + GREEK + ITALIC_GREEK + SIGNS
BRACKETS = "()[]{}|‖⟨⟩⌊⌋⌈⌉"
SIZES = (1200, 1800, 2400, 3000)  # \big, \Big, \bigg, \Bigg, in thousandths of an em
OUTSIDE = 160  # of a large bracket's ink
ROOT = 860  # as wide as the smallest, almost
CONSTANTS = {  # those of TeX's own fonts; see appendix G of the TeXbook
    "SubscriptShiftDown": 150,
    "SubscriptBaselineDropMin": -50,  # 50 in TeX, which leaves it out below a single letter
    "SuperscriptBaselineDropMax": 386,
}


def make_font(source: Path) -> TTFont:
    font = TTFont(source, recalcTimestamp=False)
    _mend_constants(font)
    _mend_lines(font)
    _patch_prime(font)
    _narrow_brackets(font)
    addOpenTypeFeaturesFromString(font, _format_size_features(font))
    _keep_characters(font, CHARACTERS)
    _rename_font(font)
    return font


def write_font(font: TTFont, target: Path, characters: str) -> int:
    """Write the part of a font with some of its characters and give its size in bytes."""
    part = deepcopy(font)
    _keep_characters(part, characters)
    part.flavor = "woff2"
    target.parent.mkdir(parents=True, exist_ok=True)
    part.save(target)
    return target.stat().st_size


def _keep_characters(font: TTFont, characters: str) -> None:
    options = Options(layout_features=["ss01", "ss02", "ss03", "ss04"], hinting=False)
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13]
    options.drop_tables += ["GPOS", "GDEF"]
    subsetter = Subsetter(options)
    subsetter.populate(text=characters)
    subsetter.subset(font)


def list_ranges(characters: str) -> str:
    """Characters as the `unicode-range` of a style sheet."""
    codes = sorted(map(ord, characters))
    starts = [one for one in codes if one - 1 not in codes]
    ends = [one for one in codes if one + 1 not in codes]
    pairs = zip(starts, ends, strict=True)
    return ", ".join(f"U+{a:x}" + f"-{b:x}" * (a < b) for a, b in pairs)


def _mend_constants(font: TTFont) -> None:
    for name, value in CONSTANTS.items():
        getattr(font["MATH"].table.MathConstants, name).Value = value


def _mend_lines(font: TTFont) -> None:
    head, os2 = font["hhea"], font["OS/2"]
    head.ascent = os2.sTypoAscender = 750
    head.descent = os2.sTypoDescender = -250
    head.lineGap = os2.sTypoLineGap = 0
    os2.fsSelection |= 1 << 7  # use these, not the ink of the largest glyph


def _narrow_brackets(font: TTFont) -> None:
    """Take away room outside of large brackets, and make large roots as wide as a small one."""
    widths, names = font["hmtx"], font.getBestCmap()
    for left, right in zip("([{⌊⌈⟨", ")]}⌋⌉⟩", strict=True):
        for form in _list_forms(font, names[ord(left)]):
            excess = max(0, widths[form][1] - OUTSIDE)
            _redraw_glyph(font, form, Transform(dx=-excess), widths[form][0] - excess)
        for form in _list_forms(font, names[ord(right)]):
            ink = _measure_right_edge(font, form)
            _redraw_glyph(font, form, Transform(), min(widths[form][0], round(ink + OUTSIDE)))
    for form in _list_forms(font, names[ord("√")]):
        width = min(ROOT, widths[form][0])
        _redraw_glyph(font, form, Transform(xx=width / widths[form][0]), width)


def _list_forms(font: TTFont, glyph: str) -> list[str]:
    """The glyphs that a sign is drawn with where it stretches."""
    variants = font["MATH"].table.MathVariants
    place = variants.VertGlyphCoverage.glyphs.index(glyph)
    construction = variants.VertGlyphConstruction[place]
    parts = construction.GlyphAssembly.PartRecords if construction.GlyphAssembly else []
    forms = [one.VariantGlyph for one in construction.MathGlyphVariantRecord]
    return sorted({*forms, *(part.glyph for part in parts)})


def _measure_right_edge(font: TTFont, glyph: str) -> float:
    glyphs = font.getGlyphSet()
    pen = BoundsPen(glyphs)
    glyphs[glyph].draw(pen)
    return float(pen.bounds[2])


def _redraw_glyph(font: TTFont, glyph: str, transform: Transform, width: int) -> None:
    """Change a glyph's outline and its width.

    The width stands with the outline too: where glyphs are hinted, as on Linux, that one is taken.
    """
    glyphs, drawn = font.getGlyphSet(), font["CFF "].cff[0].CharStrings
    private = drawn[glyph].private
    usual = width == private.defaultWidthX  # which is not written down
    pen = T2CharStringPen(None if usual else width - private.nominalWidthX, glyphs)
    glyphs[glyph].draw(TransformPen(pen, transform))
    drawn[glyph] = pen.getCharString(private, drawn[glyph].globalSubrs)
    bearing = round(transform.transformPoint((font["hmtx"][glyph][1], 0))[0])
    font["hmtx"][glyph] = (width, bearing)


def _patch_prime(font: TTFont) -> None:
    """Draw a prime as the font would in a superscript."""
    name = font.getBestCmap()[ord("′")]
    drawn = _read_alternates(font, "ssty")[name][0]
    for table in font["cmap"].tables:
        table.cmap |= dict.fromkeys(table.cmap.keys() & {ord("′")}, drawn)


def _read_alternates(font: TTFont, feature: str) -> dict[str, list[str]]:
    gsub = font["GSUB"].table
    lookups = {
        index
        for record in gsub.FeatureList.FeatureRecord
        if record.FeatureTag == feature
        for index in record.Feature.LookupListIndex
    }
    found: dict[str, list[str]] = {}
    for index in sorted(lookups):
        for table in gsub.LookupList.Lookup[index].SubTable:
            found |= getattr(getattr(table, "ExtSubTable", table), "alternates", {})
    return found


def _format_size_features(font: TTFont) -> str:
    """Features that draw a bracket in the smallest form that is high enough."""
    variants = font["MATH"].table.MathVariants
    glyphs = variants.VertGlyphCoverage.glyphs
    names = font.getBestCmap()
    lines = []
    for number, size in enumerate(SIZES, start=1):
        lines.append(f"feature ss0{number} {{")
        for bracket in BRACKETS:
            construction = variants.VertGlyphConstruction[glyphs.index(names[ord(bracket)])]
            forms = construction.MathGlyphVariantRecord
            fit = next((one for one in forms if one.AdvanceMeasurement >= size - 10), forms[-1])
            lines.append(f"sub {names[ord(bracket)]} by {fit.VariantGlyph};")
        lines.append(f"}} ss0{number};")
    return "\n".join(lines)


def _rename_font(font: TTFont) -> None:
    """Give a font that was changed a name of its own, as its licence asks."""
    name = font["name"]
    version = name.getDebugName(5)
    for number, text in {
        1: NAME,
        2: "Regular",
        3: f"{NAME}: a mended subset of New Computer Modern Math Book {version}",
        4: NAME,
        6: NAME.replace(" ", ""),
    }.items():
        name.setName(text, number, 3, 1, 0x409)
    cff = font["CFF "].cff
    cff.fontNames = [NAME.replace(" ", "")]
    cff[0].rawDict |= {"FullName": NAME, "FamilyName": NAME}


if __name__ == "__main__":
    made = make_font(Path(sys.argv[1]))
    usual = "".join(sign for sign in CHARACTERS if sign not in RARE)
    for path, characters in ((TARGET, usual), (TARGET_RARE, RARE)):
        print(f"{path.name}: {write_font(made, path, characters)} bytes")
    print(f"unicode-range: {list_ranges(RARE)};")
