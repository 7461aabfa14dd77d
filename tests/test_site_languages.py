"""Languages are data: one more is a folder of pages, a locale file and an entry in mkdocs.yml."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from bs4 import BeautifulSoup

from attention_docs.site.build import Build
from tests.conftest import LANGUAGES
from tests.fixture_project import WEIGHTS, FixtureProject, count_blocks

ADDRESS = "https://example.org/a/"
ENTRY = """        - locale: fr
          name: Français
          build: true
          site_name: Attention, démontrée et calculée
"""
FIGURE = """
# --8<-- [start:figure]
from attention_docs.figures import heatmap

heatmap([[0.25, 0.75]], rows=["query 1"], name="shares of all")
# --8<-- [end:figure]
"""
FENCE = '\n```python exec="1"\n--8<-- "weights.py:figure"\n```\n\nThe shares.\n{ .caption }\n'


def french(project: FixtureProject) -> None:
    """Give the small project a fourth language by hand, French, beside one that is made."""
    project.add_traditional_chinese()
    project.write(WEIGHTS, project.read(WEIGHTS) + FIGURE)
    for lang in LANGUAGES:
        path = f"docs/{lang}/weights.md"
        project.write(path, project.read(path) + FENCE)
    shutil.copytree(project.root / "docs" / "en", project.root / "docs" / "fr")
    words = project.read("attention_docs/locales/en.toml")
    for old, new in (
        ('name = "English"', 'name = "Français"'),
        ('locale = "en_GB"', 'locale = "fr_FR"'),
        ('search = "Search"', 'search = "Rechercher"'),
        ('listing = "Listing"', 'listing = "Code source"'),
        ('title = "This page does not exist"', 'title = "Page introuvable"'),
    ):
        assert old in words
        words = words.replace(old, new)
    words += '\n[terms]\nquery = "requête"\n'
    project.write("attention_docs/locales/fr.toml", words)
    table = '[strings]\n"shares of all" = '
    own = '"weights" = "poids"\n"query 1" = "requête 1"\n'
    project.write("docs/listings/weights.zh.toml", f'{table}"份额"\n')
    project.write("docs/listings/weights.fr.toml", f'{table}"parts"\n{own}')
    project.write("docs/listings/constants.fr.toml", '[strings]\n"constants" = "constantes"\n')
    config = project.read("mkdocs.yml")
    last = re.search(r"^  - autorefs:", config, re.M)
    assert last
    project.write("mkdocs.yml", config[: last.start()] + ENTRY + config[last.start() :])
    project.stamp()


def test_a_fourth_language_is_a_folder_of_pages_and_a_file_of_words(
    project: FixtureProject,
) -> None:
    french(project)
    done = project.build(SITE_URL=ADDRESS)
    assert done.returncode == 0, done.stderr
    assert count_blocks(done) == (4, 0)  # every block once, for four languages
    page = BeautifulSoup(project.read_html("fr/weights"), "lxml")
    assert page.html
    assert page.html["lang"] == "fr"
    hrefs = {str(a["hreflang"]): a["href"] for a in page.select("link[hreflang]")}
    prefixes = {"en": "", "zh-Hans": "zh/", "zh-Hant": "zh-hant/", "fr": "fr/", "x-default": ""}
    assert hrefs == {code: f"{ADDRESS}{one}weights/" for code, one in prefixes.items()}
    assert [m["content"] for m in page.select('meta[property="og:locale"]')] == ["fr_FR"]
    assert page.title
    assert page.title.get_text() == "Weights - Attention, démontrée et calculée"
    figure = page.select_one("#out-figure svg")
    assert figure
    assert "parts" in str(figure["aria-label"])
    assert "requête 1" in str(figure["aria-label"])
    assert page.select_one("#out-figure figcaption")
    assert "Code source" in page.select_one("details.origin").get_text()  # type: ignore[union-attr]
    assert page.find(id="value-1").get_text() == "0.0634"  # type: ignore[union-attr]
    assert "份额" in project.read_html("zh/weights")
    for folder, words in (("", "English"), ("fr/", "Français")):
        index = json.loads(project.read(f"site/{folder}search/search_index.json"))
        assert {doc["location"].split("#")[0] for doc in index["docs"]} == {"", "weights/"}, words
    document = json.loads(project.read("site/numbers.json"))
    assert document["languages"] == ["en", "zh", "zh-hant", "fr"]
    assert "## Français" in project.read("site/llms.txt")
    lost = BeautifulSoup(project.read("site/404.html"), "lxml")
    assert [part.h2.get_text() for part in lost.select('[lang="fr"]') if part.h2] == [
        "Page introuvable"
    ]
    assert (project.root / "site/notebooks/fr/weights.ipynb").is_file()


def test_a_page_that_a_language_lacks_or_has_changed_is_a_fault(project: FixtureProject) -> None:
    french(project)
    assert project.find_faults() == []
    project.edit("docs/fr/index.md", "{ #index }", "{ #accueil }")
    (project.root / "docs/fr/weights.md").unlink()
    report = "\n".join(project.find_faults())
    assert "docs/en/weights.md:1: has no translation docs/fr/weights.md" in report
    assert "docs/fr/index.md:9: heading or box: wanted #index, got #accueil" in report


def test_a_label_without_a_text_in_the_language_says_where_to_add_it(
    project: FixtureProject,
) -> None:
    french(project)
    project.edit("docs/listings/weights.fr.toml", '"shares of all" = "parts"', "")
    done = project.build("-q")
    assert done.returncode == 1
    wanted = "docs/listings/weights.fr.toml has no translation under [strings] of 'shares of all'"
    assert wanted in done.stderr


def test_a_language_without_a_locale_file_is_named(project: FixtureProject) -> None:
    french(project)
    (project.root / "attention_docs/locales/fr.toml").unlink()
    with pytest.raises(FileNotFoundError, match=r"locales/fr\.toml"):
        Build(project.root, print)
