"""A language begun page by page: what nobody has translated shows the English text, and says so."""

from __future__ import annotations

import json

import pytest
from bs4 import BeautifulSoup

from attention_docs.locales import fill_missing
from attention_docs.site.read.confirm import find_translations, stamp
from attention_docs.site.read.settings import read_settings
from attention_docs.site.scaffold.new_chapter import ScaffoldError
from attention_docs.site.scaffold.new_language import begin_language, check_code, report_missing
from tests.fixture_project import FixtureProject, count_blocks

ADDRESS = "https://example.org/a/"
WORDS = "attention_docs/locales/fr.toml"
NOTE = "Cette page n'est pas encore traduite."
LACKING = """fr: 0 of 2 pages translated

pages: write one, run `make translated PAGE=fr/<page>`, then `make site`
  docs/fr/index.md
  docs/fr/weights.md

words: attention_docs/locales/fr.toml
  [site.marks] colon, comma, and, space, stop
"""


def begin(project: FixtureProject) -> None:
    """Begin French, and translate two of its words."""
    begin_language(project.root, "fr")
    english = "This page is not translated yet, so you are reading the English text."
    project.edit(WORDS, f'# note = "{english}"', f'note = "{NOTE}"')
    project.edit(WORDS, '# listing = "Listing"', 'listing = "Code source"')


def translate(project: FixtureProject, slug: str) -> None:
    """Write a page in French: the English one under a French title."""
    english = project.read(f"docs/en/{slug}.md")
    project.write(f"docs/fr/{slug}.md", english.replace("# Weights {", "# Les poids {"))
    stamp(project.root, f"fr/{slug}")


def parse(project: FixtureProject, page: str) -> BeautifulSoup:
    return BeautifulSoup(project.read_html(page), "lxml")


def test_a_page_falls_back_to_english_until_it_is_translated(built: FixtureProject) -> None:
    begin(built)
    link = '<a href="../numbers.json">All numbers</a>.'
    heading = "# Weights { #weights }"
    built.edit("docs/en/weights.md", heading, f"{heading}\n\n{link}", both=True)
    done = built.build(SITE_URL=ADDRESS, REPO_URL="https://example.org/r")
    assert done.returncode == 0, done.stderr
    assert count_blocks(done) == (0, 3)  # nothing runs again for a language without a page
    assert "fr: 0 of 2 pages translated; `make language CODE=fr` lists what" in done.stderr
    page, original = parse(built, "fr/weights"), parse(built, "weights")
    note = page.select_one("aside.untranslated")
    assert note
    assert note["lang"] == "fr"
    assert NOTE in note.get_text()
    links = [str(link["href"]) for link in note.select("a")]
    assert links[0] == "../../weights/"
    assert links[1].startswith("https://example.org/r/blob/main/CONTRIBUTING.md#")
    assert page.html
    assert page.html["lang"] == "fr"
    assert page.article
    assert page.article["lang"] == "en"
    assert "Listing" in page.select_one("details.origin").get_text()  # type: ignore[union-attr]
    for part in ("h1", "#out-weights pre", "#value-1", "pre > code"):
        assert page.select_one(part) == original.select_one(part) is not None
    (canonical,) = page.select('link[rel="canonical"]')
    assert canonical["href"] == f"{ADDRESS}weights/"
    assert {str(one["hreflang"]) for one in page.select("head link[hreflang]")} == {
        *("en", "zh-Hans", "x-default")
    }
    assert page.select('article a[href="../../numbers.json"]')
    switch = [str(one["href"]) for one in original.select(".md-select__link")]
    assert switch == ["./", "../zh/weights/", "../fr/weights/"]
    assert [str(one["href"]) for one in page.select(".takeaway a")] == [
        "../../notebooks/en/weights.ipynb",
        "../../listings/weights.py",
        "../../weights/index.html.md",
        "?slides",
    ]


def test_a_translated_page_takes_the_place_of_the_english_text(built: FixtureProject) -> None:
    begin(built)
    translate(built, "weights")
    done = built.build(SITE_URL=ADDRESS)
    assert done.returncode == 0, done.stderr
    assert count_blocks(done) == (2, 1)  # the two blocks of that page, for its words in figures
    assert "fr: 1 of 2 pages translated" in done.stderr
    page = parse(built, "fr/weights")
    assert not page.select(".untranslated")
    assert page.h1
    assert "Les poids" in page.h1.get_text()
    assert "Code source" in page.select_one("details.origin").get_text()  # type: ignore[union-attr]
    assert page.article
    assert "lang" not in page.article.attrs
    (canonical,) = page.select('link[rel="canonical"]')
    assert canonical["href"] == f"{ADDRESS}fr/weights/"
    assert parse(built, "fr").select(".untranslated")
    for other in ("weights", "zh/weights", "fr/weights"):
        (french,) = parse(built, other).select('head link[hreflang="fr"]')
        assert french["href"] == f"{ADDRESS}fr/weights/"


def test_a_partial_language_stands_once_in_each_index(project: FixtureProject) -> None:
    begin(project)
    translate(project, "weights")
    done = project.build(SITE_URL=ADDRESS)
    assert done.returncode == 0, done.stderr
    for folder in ("", "fr/"):
        index = json.loads(project.read(f"site/{folder}search/search_index.json"))
        places = [doc["location"] for doc in index["docs"]]
        assert sorted(places) == ["", "weights/", "weights/#the-weights"]
        assert NOTE not in str(index)
    document = json.loads(project.read("site/numbers.json"))
    assert document["languages"] == ["en", "zh"]
    assert {record["lang"] for record in document["records"]} == {"en", "zh"}
    assert "Français" not in project.read("site/llms.txt")
    sitemap = project.read("site/sitemap.xml")
    assert sitemap.count(f"<loc>{ADDRESS}fr/") == sitemap.count(f"<loc>{ADDRESS}fr/weights/") == 1
    copies = {path.name for path in (project.root / "site/notebooks/fr").iterdir()}
    assert copies == {"weights.ipynb"}
    assert project.read("site/index.html.md").endswith(f"\n<{ADDRESS}>\n")


def test_begun_a_language_asks_for_nothing(project: FixtureProject) -> None:
    begin(project)
    known = read_settings(project.root)
    assert (known.languages, known.source_languages, known.partial) == (
        *(("en", "zh", "fr"), ("en", "zh")),
        ("fr",),
    )
    assert project.find_faults() == []
    project.write("docs/listings/weights.fr.toml", '[strings]\n"gone" = "parti"\n')
    assert project.find_faults() == []


def test_what_is_translated_is_compared(project: FixtureProject) -> None:
    begin(project)
    translate(project, "weights")
    project.edit("docs/fr/weights.md", "{ #the-weights }", "{ #les-poids }")
    project.write("docs/fr/gone.md", project.read("docs/en/index.md"))
    found = "\n".join(project.find_faults())
    assert "docs/fr/weights.md:17: heading or box: wanted #the-weights, got #les-poids" in found
    assert "docs/fr/gone.md:1: has no translation docs/en/gone.md" in found


def test_all_sections_that_a_page_lacks_are_named(project: FixtureProject) -> None:
    more = "\n## More { #more }\n\nText.\n\n## Last { #last }\n\nText.\n"
    project.write("docs/en/weights.md", project.read("docs/en/weights.md") + more)
    project.write("docs/zh/weights.md", project.read("docs/zh/weights.md") + more)
    begin(project)
    translate(project, "weights")
    project.write(
        "docs/fr/weights.md", project.read("docs/fr/weights.md").partition("\n## More")[0]
    )
    (fault,) = [one for one in project.find_faults() if one.startswith("docs/fr/weights.md")]
    assert fault.endswith(
        "wanted #more, got none; missing sections: #more, #last: a page has all sections; "
        "copy the English text of those that are not translated"
    )


def test_finished_a_language_names_all_that_is_missing_at_once(project: FixtureProject) -> None:
    begin(project)
    translate(project, "weights")
    project.edit(WORDS, "partial = true\n", "")
    found = project.find_faults()
    assert "docs/en/index.md:1: has no translation docs/fr/index.md" in found
    assert f"{WORDS}:1: has no [site.marks] colon, comma, and, space, stop" in found
    assert f"{WORDS}:1: has no [site.untranslated] original, help" in found
    assert any(
        "docs/listings/weights.fr.toml with [comments] and [strings]" in one for one in found
    )
    assert not any("docs/fr/weights.md" in one for one in found)


def test_the_report_lists_what_is_missing(project: FixtureProject) -> None:
    begin_language(project.root, "fr")
    report = report_missing(project.root, "fr")
    assert report.startswith(LACKING)
    assert "\n  docs/listings/weights.fr.toml: 1 strings\n" in report
    assert (
        "\n  mkdocs.yml: site_name, site_description, copyright, theme, nav_translations\n"
        in report
    )
    assert report.endswith("\n\nEnglish stands in place of all this.")
    translate(project, "weights")
    assert report_missing(project.root, "fr").startswith("fr: 1 of 2 pages translated")
    assert report_missing(project.root, "zh").endswith("Nothing is missing.")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("", "CODE must be the code of a language like fr or pt-BR, got ''"),
        ("French", "CODE must be the code of a language like fr or pt-BR, got 'French'"),
        ("xx", r"CODE must be a language of the theme \(af, ar, .*, got xx"),
        ("en", "CODE must be another language than that of the originals, got en"),
        ("zh-hant", "zh-hant is made from another language, by docs/zh-hant.toml"),
    ],
)
def test_a_code_that_is_no_new_language_is_refused(
    project: FixtureProject, code: str, message: str
) -> None:
    project.add_traditional_chinese()
    with pytest.raises(ScaffoldError, match=f"^{message}$"):
        check_code(project.root, code)


def test_words_without_an_entry_are_not_overwritten(project: FixtureProject) -> None:
    project.write(WORDS, 'name = "Français"\n')
    with pytest.raises(ScaffoldError, match=r"mkdocs\.yml must list fr, of which there is .*fr\.t"):
        begin_language(project.root, "fr")
    assert project.read(WORDS) == 'name = "Français"\n'


def test_the_forms_of_a_plural_are_not_mixed() -> None:
    english = {"figures": {"matrix": {"rows": {"one": "{n} row", "other": "{n} rows"}}}}
    own = {"figures": {"matrix": {"rows": {"other": "{n} 行"}}}}
    assert fill_missing(own, english) == own


def test_stamping_a_page_passes_over_languages_that_lack_it(project: FixtureProject) -> None:
    begin(project)
    found = [path.name for _, path in find_translations(project.root, "index")]
    assert found == ["index.md"]  # the Chinese one
    with pytest.raises(SystemExit, match=r"docs/fr/index\.md does not exist"):
        list(find_translations(project.root, "fr/index"))
