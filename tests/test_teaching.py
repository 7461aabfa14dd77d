"""The page for teachers: its ids lead somewhere, its sums are right, its files are there."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import lxml.etree
import pytest
import yaml

from attention_docs.locales import read_locale
from attention_docs.running.result import Result
from attention_docs.site.publish.notebook import make_notebook
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.pieces import Request
from attention_docs.site.read.reader import read_page
from attention_docs.site.render.chapters import Chapters
from attention_docs.site.render.requests import expand_request
from attention_docs.site.render.teaching import render_teaching
from tests.conftest import BUILT, LANGUAGES, ROOT, parse_html, read_project

ENTRIES = tomllib.loads((ROOT / "docs/teaching.toml").read_text("utf-8"))["entry"]
PLANS = ("lecture", "week", "seminar")
SOURCES = {"en": "en", "zh": "zh", "zh-hant": "zh"}  # what a language is written in
UNMEASURED = {"en": "not measured", "zh": "没有测过", "zh-hant": "沒有測過"}


def find_page(site: Path, lang: str, slug: str) -> Path:
    folder = site if lang == "en" else site / lang
    return (folder if slug == "index" else folder / slug) / "index.html"


def read_teaching(site: Path, lang: str) -> Any:
    (article,) = parse_html(find_page(site, lang, "teaching")).iterfind(".//article")
    return article


def list_rows(article: Any, heading: str) -> list[Any]:
    """The rows of the first table below a heading."""
    place = article.xpath(f".//h2[@id='{heading}']/following::table[1]")[0]
    found: list[Any] = place.findall("tbody/tr")
    return found


@pytest.mark.parametrize("lang", BUILT)
def test_plans_show_all_of_their_steps(lang: str, site: Path) -> None:
    article = read_teaching(site, lang)
    for plan in PLANS:
        steps = [one for one in ENTRIES if one.get("plan") == plan]
        rows = list_rows(article, plan)
        assert len(rows) == len(steps) >= 4
        for row, step in zip(rows, steps, strict=True):
            _, show, do, listen = row.findall("td")
            links = [link.get("href") for link in show.iter("a")]
            ends = [one.partition("#")[2] for one in links if "?" not in one]
            assert ends == [place.partition("#")[2] for place in step["show"]]
            assert [one for one in links if "?" in one] == [*list_uses(step["show"])]
            (start,) = row[0].xpath(".//a[contains(@href, '?slides=')]/@href")
            assert f"slides={ends[0]}&plan=" in start
            assert len(do.text_content()) > 5
            assert len(listen.findall("a")) == len(step["listen"]) >= 1
    rows = list_rows(article, "lecture")
    assert sum(int(re.match(r"\d+", row[0].text_content())[0]) for row in rows) == 90


def list_uses(places: list[str]) -> Iterator[str]:
    """The addresses of slides, frames and sheets beside what a plan shows."""
    for place in places:
        slug, _, name = place.partition("#")
        page = "../index.html" if slug == "index" else f"../{slug}/index.html"
        kind = name.partition("-")[0]
        if kind == "exercise":
            yield f"{page}?print=exercises&only={name}"
        if kind in ("out", "guess", "result"):
            yield f"{page}?slides={name}"
        if kind in ("out", "guess"):
            yield f"{page}?embed={name}"


@pytest.mark.parametrize("lang", BUILT)
def test_every_chapter_has_a_fold_with_its_exercises(lang: str, site: Path) -> None:
    """Numbers of exercises and kinds are counted in the sources, questions in the banks."""
    article = read_teaching(site, lang)
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").split("  - Reference:")[0]
    slugs = [s for s in re.findall(r"^      - ([\w-]+)\.md$", nav, re.M) if "after-" not in s]
    folds = article.xpath(".//div[starts-with(@id, 'chapter-')]")
    assert [one.get("id") for one in folds] == [f"chapter-{slug}" for slug in slugs]
    listed = {one["chapter"]: one for one in ENTRIES if "chapter" in one}
    assert listed.keys() == {*slugs}
    for slug, fold in zip(slugs, folds, strict=True):
        source = (ROOT / "docs" / "en" / f"{slug}.md").read_text("utf-8")
        asked = len(re.findall(r"^/+ exercise ", source, re.M))
        linked = {one.get("href") for one in fold.iter("a") if "#exercise-" in one.get("href")}
        assert len(linked) == asked
        stars = [one["stars"] for one in read_boxes(source)]
        assert fold.text_content().count("★") == sum(stars)
        assert fold.text_content().count(UNMEASURED[lang]) == 1
        own = (ROOT / "docs" / SOURCES[lang] / f"{slug}.md").read_text("utf-8")
        results = {one.get("href") for one in fold.iter("a") if "#result-" in one.get("href")}
        assert len(results) >= len(re.findall(r"^/+ result ", own, re.M))
        cards = [
            re.sub(r"\W", "", one) for one in re.findall(r"^/+ recall \| ([^$`√\n]*)$", own, re.M)
        ]
        if lang == SOURCES[lang]:
            assert all(one in re.sub(r"\W", "", fold.text_content()) for one in cards)
        bank = site / "banks" / lang / f"{slug}.xml"
        tree = lxml.etree.parse(bank)
        kinds = tree.xpath("//question[@type != 'category']/@type")
        read = kinds.count("essay")
        varied = sum("-variant-" in one for one in tree.xpath("//idnumber/text()"))
        (link,) = [one for one in fold.iter("a") if one.get("href").endswith(f"/{slug}.xml")]
        counted = [int(one) for one in re.findall(r"\d+", link.text_content())]
        assert counted == [len(kinds) - read - varied, read, varied]


def read_boxes(source: str) -> list[dict[str, int]]:
    found = re.findall(r"^/+ exercise .*\n    id: .*\n    stars: (\d)", source, re.M)
    return [{"stars": int(stars)} for stars in found]


@pytest.mark.parametrize("lang", BUILT)
def test_each_belief_has_a_question_and_something_that_refutes_it(lang: str, site: Path) -> None:
    beliefs = [one for one in ENTRIES if "belief" in one]
    rows = list_rows(read_teaching(site, lang), "beliefs")
    assert len(rows) == len(beliefs) >= 15
    for row, one in zip(rows, beliefs, strict=True):
        said, ask, refute = row.findall("td")
        assert said.find("a").get("id") == f"belief-{one['id']}"
        assert re.search("#(guess|exercise|item)-", ask.find("a").get("href"))
        found = len(one["refute"]) + ("mistake" in one) + ("report" in one)
        assert len(refute.findall("a")) == found
    used = {name for one in ENTRIES for name in one.get("listen", ())}
    assert used <= {one["id"] for one in beliefs}


# --- citations


def read_version() -> tuple[str, str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    return project["version"], str(cited["date-released"])[:4]


def test_the_citation_file_is_complete() -> None:
    """What the Citation File Format 1.2.0 demands, and what this project says elsewhere."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()
    assert cited["cff-version"] == "1.2.0"
    config = (ROOT / "mkdocs.yml").read_text("utf-8")
    for one in (cited, cited["preferred-citation"]):
        assert one["version"] == read_version()[0]
        assert f"\nsite_name: {one['title']}\n" in f"\n{config}"
        assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d", one["date-released"])
        assert all(author["name"] for author in one["authors"])
    assert cited["license"] == "MIT"
    assert cited["preferred-citation"]["license"] == "CC-BY-4.0"


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("address", ["", "https://example.org/a/"])
def test_the_entry_for_bibtex_names_this_edition(lang: str, address: str) -> None:
    """It is in preparation until docs/editions.toml has it."""
    version, year = read_version()
    published = f'id = "{version}"' in (ROOT / "docs/editions.toml").read_text("utf-8")
    chapters = replace(read_project().chapters[lang], site_url=address)
    said = str(expand_request(Request(1, "cite", ""), chapters))
    entry = said.split("```bibtex\n")[1].split("```")[0]
    assert f"  year = {{{year}}},\n" in entry
    (note,) = re.findall(r"  note = \{(.*)\},", entry)
    assert version in note
    assert (re.search("in preparation|准备中", note) is None) == published
    assert re.findall(r"  url = \{(.*)\},", entry) == [address] * bool(address)
    root = "../" if lang == "en" else "../../"
    assert f'<a href="{root}CITATION.cff" download>' in said
    assert "<!-- cite -->" in (ROOT / "docs" / lang / "sources.md").read_text("utf-8")


@pytest.mark.parametrize("lang", BUILT)
def test_every_page_says_how_it_is_cited(lang: str, site: Path) -> None:
    version, year = read_version()
    for slug in ("index", "softmax", "results", "teaching"):
        tree = parse_html(find_page(site, lang, slug))
        (fold,) = tree.iterfind(".//article//details[@class='cite-page']")
        plain, entry = fold.find("p").text_content(), fold.find("pre").text_content()
        title = re.sub("[¶*]", "", tree.find(".//article//h1").text_content()).strip()
        for text in (plain, entry):
            assert version in text
            assert year in text
            assert title in text
        assert re.match(r"@misc\{attention-docs-[\w-]+,\n(  \w+ = \{.*\},\n){5,6}\}$", entry)
        assert entry.count("{") == entry.count("}")


@pytest.mark.parametrize("lang", BUILT)
def test_every_result_says_how_it_is_cited(lang: str, site: Path) -> None:
    tree = parse_html(find_page(site, lang, "results"))
    pattern = r"^/+ result "
    number = sum(
        len(re.findall(pattern, path.read_text("utf-8"), re.M))
        for path in (ROOT / "docs" / "en").glob("*.md")
    )
    lines = tree.xpath(".//article//details[@class='fold']//p[@class='cite']")
    assert len(lines) == number
    for line in lines:
        link = line.findall("a")[-1]
        slug, _, name = link.text_content().partition("/#")
        assert link.get("href").endswith(f"{slug}/#{name}")
        assert read_version()[0] in line.text_content()


# --- without a built site


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("plan", ["week", "seminar"])
def test_a_plan_starts_at_any_row_and_claims_no_minutes(plan: str, lang: str) -> None:
    head, _, *rows = render_teaching(plan, read_project().chapters[lang]).splitlines()
    assert UNMEASURED[lang] in head
    steps = [one for one in ENTRIES if one.get("plan") == plan]
    deck = ",".join(place.replace("#", ":") for one in steps for place in one["show"])
    for row, step in zip(rows, steps, strict=False):
        slug, _, name = step["show"][0].partition("#")
        first = row.split(" | ")[0]
        assert f'href="../{slug}/index.html?slides={name}&amp;plan={deck}"' in first
        assert (f"notebooks/{lang}/lab.ipynb" in first) == ("lab" in step)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_package_is_among_the_files(lang: str) -> None:
    wheel = f"attention_docs-{read_version()[0]}-py3-none-any.whl"
    root = "../" if lang == "en" else "../../"
    said = render_teaching("files", read_project().chapters[lang])
    assert f'<a href="{root}{wheel}" download="{wheel}">' in said


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("address", ["", "https://example.org/a/"])
def test_a_notebook_says_what_to_install(lang: str, address: str) -> None:
    """The wheel by its address, or its name and where it lies: no reader has the repository."""
    build = read_project()
    catalogue = replace(build.catalogue, site_url=address, repository="")
    page = build.pages[lang]["softmax"]
    made = make_notebook(build.assemble(page), build.published[page.path], catalogue)
    about = "".join(json.loads(made)["cells"][0]["source"])
    wheel = f"attention_docs-{read_version()[0]}-py3-none-any.whl"
    (command,) = re.findall(r"pip install .*", about)
    assert command == f"pip install torch {address}{wheel}"
    assert (f"`{wheel}`" in about) == (not address)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_inventory_opens_with_a_belief_that_it_does_not_ask(lang: str) -> None:
    """To refute one that it asks would answer a question before it is put."""
    source = (ROOT / "docs" / lang / "inventory.md").read_text("utf-8")
    said = re.search(r"^# .*\n\n[*“](.*?)[*”]", source, re.M)
    assert said
    (belief,) = [one["id"] for one in ENTRIES if one.get("belief") and one[lang] == said[1]]
    assert f"[{belief}]" not in source


# --- faults of the list

GOOD = """[[entry]]
id = "step"
plan = "lecture"
minutes = 90
show = ["page#here"]
en = "They look."
listen = ["wrong"]

[[entry]]
id = "wrong"
belief = true
en = "All is one."
ask = "page#here"
refute = ["page#here"]
"""


@pytest.fixture
def expand(tmp_path: Path) -> Callable[..., str]:
    """Render a part from a list with one change."""
    docs = tmp_path / "docs"
    (docs / "en").mkdir(parents=True)
    path = docs / "en" / "page.md"
    path.write_text("# Page { #page }\n\n## Here { #here }\n")
    pages = {"page": read_page(path, tmp_path)}

    def run(part: str, change: tuple[str, str] = ("", "")) -> str:
        assert change[0] in GOOD
        (docs / "teaching.toml").write_text(GOOD.replace(*change), encoding="utf-8")
        results: Callable[[Any], list[Result]] = lambda page: []  # noqa: E731
        chapters = Chapters("en", read_locale("en"), docs, pages, {"page": 1}, results)
        return str(expand_request(Request(1, "teaching", part), chapters))

    return run


def test_a_plan_is_a_table(expand: Callable[..., str]) -> None:
    row = "| 90 | [Here](page.md#here) | They look. | [All is one.](#belief-wrong) |"
    assert expand("lecture").split("\n")[2:] == [row]


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("lecture", ("minutes = 90", "minutes = 80"), "lecture: wanted 90, got 80"),
        ("lecture", ('["page#here"]', '["page#no"]'), "teaching.toml:2: step: .* has no #no"),
        ("lecture", ('["wrong"]', '["none"]'), "step: listen: there is no belief none"),
        ("beliefs", ('"page#here"\nref', '"page#out-x"\nref'), 'wrong: .* has no block "x"'),
        ("beliefs", ('"page#here"\nref', '"none#here"\nref'), "wrong: there is no page none"),
        ("chapters", ("", ""), "there is no entry with chapter page"),
        ("month", ("", ""), 'plan of docs/teaching.toml: wanted one of .*lecture.*, got "month"'),
    ],
)
def test_a_fault_names_its_entry(
    part: str, change: tuple[str, str], message: str, expand: Callable[..., str]
) -> None:
    with pytest.raises(Failure) as failure:
        expand(part, change)
    assert re.search(message, str(failure.value))
