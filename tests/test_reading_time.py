"""Reading time: what is counted of a page's main line, against counts made by hand."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from attention_docs.running.result import Drawing, Result
from attention_docs.site.read.reader import read_page
from attention_docs.site.render.reading_time import Length, measure
from tests.conftest import BUILT, SETTINGS, find_page_folder, parse_html
from tests.fixture_project import FixtureProject

LISTING = """# --8<-- [start:shown]
one = 1
two = 2
print(one)
# --8<-- [end:shown]

# --8<-- [start:drawn]
three = 3
# --8<-- [end:drawn]

# --8<-- [start:table]
four = 4
# --8<-- [end:table]

# --8<-- [start:control]
five = 5
# --8<-- [end:control]
"""
PAGE = r"""---
description: Not read.
---

# Two words { #small }

We count seven words in this [line](other.md), $x$ and $y_1$ too, `not(code)`.

```python exec="1"
--8<-- "small.py:shown"
```

Three caption words.
{ .caption }

```python exec="1" source="folded" text="folded"
--8<-- "small.py:drawn"
```

| a cell | $z$ |
|---|---|
| another one | {{ three }} |

$$
\begin{aligned}
x &= \begin{bmatrix} 1 \\ 2 \end{bmatrix} && \text{(because)} \\[4pt]
&= y
\end{aligned}
$$

$$ a = b $$

/// result | Title words
    id: result-one
    relation: "="
    proof: small
    check: shown
    test: test_it

Statement of $w$ here.
///

/// deeper | Folded title
    id: deeper-one

Folded words with $f$ and

$$ f = g $$

```python exec="1"
--8<-- "small.py:control"
```
///

```python exec="1" source="none"
--8<-- "small.py:table"
```

```sh
make serve
```

<!-- next -->

## Exercises { #exercises }

//// exercise | Nothing counts
    id: exercise-one
    stars: 1
    kind: pencil

Not a word.

/// answer
Nor here.
///
////

## Sources { #sources }

- An author with a title.
"""
CLASSES = ("headerlink", "result", "next", "opening", "output", "caption", "formula", "script-note")
TAGS = ("pre", "code", "table", "math", "svg", "figcaption", "button")
NO_RUNNING_TEXT = "|".join(
    [
        *(f".//{tag}" for tag in TAGS),
        *(f".//*[contains(@class, '{name}')]" for name in CLASSES),
        ".//p[@class='own-sentence']",  # stands there without a script
        ".//p[strong='Builds on:' or strong='先读：' or strong='先讀：']",
    ]
)
# Running text: Two words (2); We count seven words in this line and too (9); Exercises (1).
# Beside it: Three caption words (3); a cell, another one (4); Title words, Statement of here (5).
WORDS, BESIDE = 12, 12
SVG = '<svg xmlns="http://www.w3.org/2000/svg"></svg>'


def drawn(svg: str, cells: tuple[tuple[str, ...], ...] = ()) -> dict[str, Drawing]:
    return {"en": Drawing(svg, "a figure", cells)}


RESULTS = [
    Result(text="1\n1\n1"),  # three lines
    Result(text="folded\nbelow", figure=drawn(SVG)),  # one figure; its numbers are folded
    Result(figure=drawn('<div class="stepper"></div>')),  # a control, in a fold
    Result(figure=drawn("<table></table>", (("a",), ("1",), ("2",), ("3",)))),  # four lines
]


@pytest.fixture
def make_page(tmp_path: Path) -> Any:
    def make(text: str = PAGE, lang: str = "en") -> Any:
        (tmp_path / "docs" / "listings").mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / "listings" / "small.py").write_text(LISTING, encoding="utf-8")
        path = tmp_path / "docs" / lang / "small.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        page = read_page(path, tmp_path)
        assert [str(one) for one in page.failures] == []
        return page

    return make


def test_a_main_line_is_counted_as_by_hand(make_page: Any) -> None:
    found = measure(make_page(), RESULTS)
    # 24 words are 7.2 s; three displayed lines 45 s; four inline formulas 8 s; four lines of code
    # and seven of output 44 s; a figure 30 s. Together 134.2 s, that is 2.24 minutes.
    assert found == Length(
        words=WORDS,
        words_beside=BESIDE,
        formulas=2,
        displayed_lines=3,
        inline_formulas=4,
        results=1,
        code_lines=4,
        output_lines=7,
        figures=1,
        controls=0,
        minutes=2,
    )


def test_what_is_unfolded_is_read(make_page: Any) -> None:
    """Folded words with and (4), the title (2), one formula of each kind, a control, a line."""
    opened = PAGE.replace("/// deeper | Folded title\n    id: deeper-one\n", "Folded title\n")
    opened = opened.replace('small.py:control"\n```\n///', 'small.py:control"\n```')
    before, after = measure(make_page(), RESULTS), measure(make_page(opened), RESULTS)
    assert after.words == before.words + 6
    assert after.formulas == before.formulas + 1
    assert after.inline_formulas == before.inline_formulas + 1
    assert after.controls == 1
    assert after.code_lines == before.code_lines + 1
    # 134.2 s and 1.8 s for words, 15 s, 2 s, 120 s and 4 s: 277 s.
    assert after.minutes == 5


def test_chinese_is_counted_by_characters(make_page: Any) -> None:
    title, text = "# 标题 { #small }\n\n", "注意力 softmax 的权重，" * 70 + "\n"
    found = measure(make_page(title + text, "zh"), [])
    assert found.words == 2 + 6 * 70
    assert found.minutes == 1  # 422 / 350
    assert measure(make_page(title + text * 3, "zh"), []).minutes == 4  # 1,262 / 350 is 3.6


def test_a_failed_block_shows_nothing(make_page: Any) -> None:
    assert measure(make_page(), RESULTS[:1]).output_lines == 3


def test_minutes_stand_above_the_title_and_in_sentences(project: FixtureProject) -> None:
    """In the small project, whose two pages take a minute each."""
    project.edit("mkdocs.yml", "  - weights.md\n", '  - "Part 1: All":\n      - weights.md\n')
    for lang in ("en", "zh"):
        said = '{{ site.path_minutes }}, {{ site.path_hours }}, {{ site.minutes["weights"] }}.'
        project.edit(f"docs/{lang}/index.md", "The constant is", f"{said} The constant is")
    project.stamp()
    done = project.build()
    assert done.returncode == 0, done.stderr
    assert '<p class="opening">Part 1 · Chapter 1 · 1 minute</p>' in project.read_html("weights")
    numbers = json.loads(project.read("site/numbers.json"))
    texts = [one["text"] for one in numbers["records"] if "site." in one.get("expression", "")]
    assert texts == ["1"] * 6
    assert numbers["reading"]["path"] == ["weights"]
    project.edit("docs/en/index.md", 'minutes["weights"]', 'minutes["none"]', both=True)
    fault = "site.minutes: none is not a chapter of the navigation"
    assert project.find_faults() == [
        f"docs/{lang}/index.md:{line}: {fault}" for lang, line in (("en", 12), ("zh", 15))
    ]


# --- of this project


@pytest.mark.parametrize("lang", BUILT)
def test_every_chapter_shows_its_minutes_and_the_home_page_their_sum(
    site: Path, numbers_json: dict[str, Any], lang: str
) -> None:
    reading = numbers_json["reading"]
    minutes = {slug: one["minutes"] for slug, one in reading["chapters"][lang].items()}
    for slug, number in minutes.items():
        (opening,) = parse_html(find_page_folder(site, lang, slug) / "index.html").find_class(
            "opening"
        )
        wanted = f"{number} minutes" if lang == "en" else f"{number} 分"
        assert wanted in opening.text_content()
    home = parse_html(find_page_folder(site, lang, "index") / "index.html")
    cards = home.xpath('//h3[@id="part-1"]/following-sibling::*[1]//*[@class="minutes"]')
    shown = [int(card.text_content().split()[0]) for card in cards]
    assert shown == [minutes[slug] for slug in reading["path"]]
    promise = home.find_class("card")[0].text_content()
    hours = (sum(shown) + 30) // 60
    wanted = {
        "en": f"about {hours} hours",
        "zh": f"大约 {hours} 小时",
        "zh-hant": f"大約 {hours} 小時",
    }
    assert wanted[lang] in promise


@pytest.mark.parametrize("slug", SETTINGS.navigation.chapters)
def test_the_lengths_are_those_of_the_finished_page(
    site: Path, numbers_json: dict[str, Any], slug: str
) -> None:
    """Counted a second way, in HTML."""
    for lang in BUILT:
        found = numbers_json["reading"]["chapters"][lang][slug]
        article = open_line(site, lang, slug)
        # Ribbons are read as a figure, although they can be tapped.
        controls = len(article.find_class("stepper")) - len(article.find_class("ribbons"))
        count = {
            "formulas": len(article.find_class("formula")),
            "results": len(article.find_class("result")),
            "figures": len(article.xpath(".//*[@class='drawing']")) - controls,
            "controls": controls,
            "code_lines": sum(map(lines_of, article.xpath(".//pre/code[span]"))),
            "output_lines": sum(map(lines_of, article.xpath(".//pre/code[not(span)]")))
            + len(article.xpath(".//*[contains(@class, 'table-frame')]//tr")),
        }
        assert {name: found[name] for name in count} == count, lang
        for one in article.xpath(NO_RUNNING_TEXT):
            one.drop_tree()
        word = r"[A-Za-z][\w'’-]*" if lang == "en" else "[\u3400-\u9fff]"
        words = len(re.findall(word, article.text_content()))
        assert words == pytest.approx(found["words"], rel=0.01), (lang, words)


def open_line(site: Path, lang: str, slug: str) -> Any:
    """What stands open of a page, up to its exercises."""
    article = deepcopy(
        parse_html(find_page_folder(site, lang, slug) / "index.html").find(".//article")
    )
    apart = ".//*[contains(@class, 'exercise') or @class='guess' or @class='recall-note']"
    for one in article.xpath(f".//details[not(@open)]|{apart}|.//script"):
        one.drop_tree()
    inside = False
    for child in list(article):
        inside = child.get("id") == "sources" if child.tag == "h2" else inside
        if inside or child.get("class") == "takeaway":
            child.drop_tree()
    return article


def lines_of(code: Any) -> int:
    return len(code.text_content().strip("\n").split("\n"))
