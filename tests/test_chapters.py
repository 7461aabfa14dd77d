"""How much a chapter holds at most: its main line, its exercises, its cards; and its glyph.

What stands in a closed fold is depth. Formulas, figures, tables, outputs and code are no words.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from attention_docs.site.build import Build
from attention_docs.site.read.reader import read_page
from attention_docs.site.render.cards import GLYPHS
from tests.conftest import BUILT, PAGES, ROOT

BUILD = Build(ROOT, lambda warning: None)
CHAPTERS = [slug for slug in BUILD.numbered if slug != "mistakes"]
PATH = {*BUILD.settings.navigation.path}
# What the main line of a chapter may hold, tables and captions included: words in English,
# characters in Chinese.
ON_PATH = {"en": 2100, "zh": 3500}
ELSEWHERE = {"en": 2600, "zh": 4200}
MOST = {"exercise": 9, "recall": 5}  # boxes of a kind, folded or not

each_chapter = pytest.mark.parametrize("slug", CHAPTERS)


@pytest.mark.parametrize("lang", BUILT)
def test_a_main_line_is_short(lang: str, numbers_json: dict[str, Any]) -> None:
    """The words are those that the build takes minutes from: render/reading_time.py."""
    for slug, length in numbers_json["reading"]["chapters"][lang].items():
        most = (ON_PATH if slug in PATH else ELSEWHERE)[lang.split("-")[0]]
        assert length["words"] <= most, f"{slug}: fold what the argument can spare"


@each_chapter
def test_a_chapter_has_no_more_exercises_and_cards_than_a_reader_does(slug: str) -> None:
    kinds = Counter(box.kind for box in read_page(PAGES / f"{slug}.md", ROOT).passages)
    over = {kind: (kinds[kind], most) for kind, most in MOST.items() if kinds[kind] > most}
    assert not over, f"{slug}: got, at most: {over}"


def test_every_chapter_has_a_glyph_of_its_own_in_the_colour_of_its_place() -> None:
    glyphs = {slug: (GLYPHS / f"{slug}.svg").read_text("utf-8") for slug in BUILD.numbered}
    assert len({*glyphs.values()}) == len(glyphs)
    assert not [slug for slug, svg in glyphs.items() if "fill=" in svg]
