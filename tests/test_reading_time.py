"""Reading time: the words of a page's main line, against a count made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attention_docs.site.read.reader import read_page
from attention_docs.site.render.reading_time import count_words
from tests.conftest import BUILT, find_page_folder, parse_html
from tests.fixture_project import FixtureProject

LISTING = "".join(
    f"# --8<-- [start:{name}]\none = 1\nprint(one)\n# --8<-- [end:{name}]\n\n"
    for name in ("first", "second", "third", "fourth")
)
PAGE = r"""---
description: Not read.
---

# Two words { #small }

We count seven words in this [line](other.md), $x$ and $y_1$ too, `not(code)`.

```python exec="1"
--8<-- "small.py:first"
```

Three caption words.
{ .caption }

```python exec="1" source="folded" text="folded"
--8<-- "small.py:second"
```

| a cell | $z$ |
|---|---|
| another one | {{ one }} |

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
    check: first
    test: test_it

Statement of $w$ here.
///

/// deeper | Folded title
    id: deeper-one

Folded words with $f$ and

$$ f = g $$

```python exec="1"
--8<-- "small.py:third"
```
///

```python exec="1" source="none"
--8<-- "small.py:fourth"
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
# Two words (2); We count seven words in this line and too (9); Three caption words (3); a cell,
# another one (4); Title words, Statement of here (5); Exercises (1).
WORDS = 24


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


def test_the_words_of_a_main_line_are_counted_as_by_hand(make_page: Any) -> None:
    assert count_words(make_page()) == (WORDS, 1)


def test_what_is_unfolded_is_read(make_page: Any) -> None:
    """Folded words with and (4), the title (2)."""
    opened = PAGE.replace("/// deeper | Folded title\n    id: deeper-one\n", "Folded title\n")
    opened = opened.replace('small.py:third"\n```\n///', 'small.py:third"\n```')
    assert count_words(make_page(opened)) == (WORDS + 6, 1)


def test_minutes_are_words_by_150_and_chinese_characters_by_260(make_page: Any) -> None:
    assert count_words(make_page("# A title\n\n" + "word " * 700)) == (702, 5)  # 4.68
    title, text = "# 标题 { #small }\n\n", "注意力 softmax 的权重，" * 70 + "\n"
    assert count_words(make_page(title + text, "zh")) == (2 + 6 * 70, 2)  # 1.62
    assert count_words(make_page(title + text * 3, "zh")) == (2 + 18 * 70, 5)  # 4.85


def test_minutes_stand_above_the_title_and_in_sentences(project: FixtureProject) -> None:
    """In the small project, whose two pages take a minute each."""
    project.edit("mkdocs.yml", "  - weights.md\n", '  - "Part 1: All":\n      - weights.md\n')
    for lang in ("en", "zh"):
        said = '{{ site.path_minutes }}, {{ site.minutes["weights"] }}.'
        project.edit(f"docs/{lang}/index.md", "The constant is", f"{said} The constant is")
    project.stamp()
    done = project.build()
    assert done.returncode == 0, done.stderr
    assert '<p class="opening">Part 1 · Chapter 1 · 1 minute</p>' in project.read_html("weights")
    numbers = json.loads(project.read("site/numbers.json"))
    texts = [one["text"] for one in numbers["records"] if "site." in one.get("expression", "")]
    assert texts == ["1"] * 4
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
    promise = home.xpath("//*[@id='reading']/following-sibling::p[1]")[0].text_content()
    unit = {"en": "minutes", "zh": "分钟", "zh-hant": "分鐘"}[lang]
    assert f"{sum(shown)} {unit}" in promise
