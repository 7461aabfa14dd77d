"""Being found: languages, sitemap, card, the page for 404, "Edit this page"."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import re
import struct
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup

from tests.fixture_project import FixtureProject

pytestmark = pytest.mark.long

ADDRESS = "https://example.org/attention/"
REPOSITORY = "https://example.org/you/attention"
SQUARE = '<path d="M0 4h3.6v3.6h-3.6z"/>'
PAGES = ("", "weights/", "zh/", "zh/weights/")
HREFLANG = "{http://www.w3.org/1999/xhtml}link"
CITATION = """authors:
  - name: The contributors
version: "2026.1"
date-released: "2026-12-01"
"""
EDITIONS = """[[entry]]
id = "2026.1"
date = "2026-12-01"
numbers = {}

[[entry]]
id = "2027.1"
date = "2027-01-02"
numbers = {}
errata = ["weights#weights"]
wrong = ["2026.1"]
errata_en = ["It was wrong."]
errata_zh = ["错了。"]
"""
LOC = "{http://www.sitemaps.org/schemas/sitemap/0.9}loc"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> FixtureProject:
    """The small project, built with an address and a repository."""
    project = FixtureProject(tmp_path_factory.mktemp("published"))
    glyph = project.root / "attention_docs/site/theme/.icons/chapter/weights.svg"
    glyph.write_text(f"<svg>{SQUARE}</svg>", encoding="utf-8")
    return built(project, SITE_URL=ADDRESS, REPO_URL=REPOSITORY)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> FixtureProject:
    """The small project, built without."""
    return built(FixtureProject(tmp_path_factory.mktemp("bare")), SITE_URL="", REPO_URL="")


def built(project: FixtureProject, **environment: str) -> FixtureProject:
    for lang, title, about in (
        ("en", "Weights", "What weights are."),
        ("zh", "权重", "什么是权重。"),
    ):
        path = f"docs/{lang}/weights.md"
        project.edit(path, "description: A test page.\n", f"description: {about}\n")
        project.edit(path, "# Weights {", f"# {title} {{")
    project.edit("docs/en/index.md", "# Constants {", "# Attention, derived and executed {")
    project.write("CITATION.cff", CITATION)
    project.write("docs/editions.toml", EDITIONS)
    project.stamp()
    done = project.build(**environment)
    assert done.returncode == 0, done.stderr
    return project


def parse_page(project: FixtureProject, url: str) -> BeautifulSoup:
    return BeautifulSoup(project.read(f"site/{url}index.html"), "lxml")


def read_meta(page: BeautifulSoup) -> dict[str, str]:
    tags = page.select("meta[content]")
    return {str(tag.get("property") or tag.get("name")): str(tag["content"]) for tag in tags}


def read_languages(page: BeautifulSoup) -> dict[str, str]:
    tags = page.select('link[rel~="alternate"][hreflang]')
    assert len({tag["hreflang"] for tag in tags}) == len(tags)
    return {str(tag["hreflang"]): str(tag["href"]) for tag in tags}


def expect_alternates(url: str) -> dict[str, str]:
    english = url.removeprefix("zh/")
    found = {"en": english, "zh-Hans": f"zh/{english}", "x-default": english}
    return {code: ADDRESS + where for code, where in found.items()}


def test_programs_can_read_how_the_site_is_cited(bare: FixtureProject) -> None:
    assert bare.read("site/CITATION.cff") == CITATION


@pytest.mark.parametrize("url", PAGES)
def test_languages_and_address(published: FixtureProject, url: str) -> None:
    page = parse_page(published, url)
    assert read_languages(page) == expect_alternates(url)
    assert [str(tag["href"]) for tag in page.select("link[rel=canonical]")] == [ADDRESS + url]
    assert [html["lang"] for html in page.select("html")] == ["zh-Hans" if "zh" in url else "en"]


@pytest.mark.parametrize("url", PAGES)
def test_nothing_absolute_without_an_address(bare: FixtureProject, url: str) -> None:
    page = parse_page(bare, url)
    assert not read_languages(page)
    assert not page.select("link[rel=canonical], link[rel=edit], a[rel=edit]")
    assert not read_meta(page).keys() & {"og:url", "og:image", "twitter:card"}
    assert not list((bare.root / "site").glob("sitemap*")) + list(
        (bare.root / "site").glob("*.png")
    )


def test_sitemap(published: FixtureProject) -> None:
    content = (published.root / "site" / "sitemap.xml").read_bytes()
    assert gzip.decompress((published.root / "site" / "sitemap.xml.gz").read_bytes()) == content
    found = {}
    for entry in ElementTree.fromstring(content):
        links = {link.attrib["hreflang"]: link.attrib["href"] for link in entry.findall(HREFLANG)}
        assert all(link.attrib["rel"] == "alternate" for link in entry.findall(HREFLANG))
        found[entry.findtext(LOC)] = links
        assert {child.tag for child in entry} == {LOC, HREFLANG}  # no date
    assert found == {ADDRESS + url: expect_alternates(url) for url in PAGES}


@pytest.mark.parametrize(
    ("url", "title", "description", "locale"),
    [
        ("weights/", "Weights", "What weights are.", "en_GB"),
        ("zh/weights/", "权重", "什么是权重。", "zh_CN"),
    ],
)
def test_title_and_description(
    published: FixtureProject, url: str, title: str, description: str, locale: str
) -> None:
    page = parse_page(published, url)
    said = read_meta(page)
    titles = [tag.get_text() for tag in page.select("head title")]
    assert titles == [f"{title} - {said['og:site_name']}"]
    assert said["description"] == said["og:description"] == description
    assert (said["og:title"], said["og:locale"], said["og:type"]) == (title, locale, "article")
    assert said["og:url"] == ADDRESS + url


def test_the_home_page_says_its_name_once(published: FixtureProject) -> None:
    page = parse_page(published, "")
    titles = [tag.get_text() for tag in page.select("head title")]
    assert titles == ["Attention, derived and executed"]
    assert read_meta(page)["og:type"] == "website"


def test_share_card(published: FixtureProject) -> None:
    content = (published.root / "site" / "card.png").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", content[16:24]) == (1200, 630)
    assert len(content) < 300_000  # some places take no larger picture
    # By hand: the second saw asks for the word before it, with a score of 6; the cosines of the
    # words a sixth of a turn beside that one are 1/2, and that of the first, a third away, -1/2.
    powers = [math.exp(score) for score in (-3, 3, 6, 3)]
    weights = [f"{power / sum(powers):.2f}" for power in powers]
    for url in ("", "zh/"):
        said = read_meta(parse_page(published, url))
        assert said["og:image"] == ADDRESS + "card.png"
        assert (said["og:image:width"], said["og:image:height"]) == ("1200", "630")
        assert re.findall(r"\d\.\d\d", said["og:image:alt"]) == weights
        assert said["twitter:card"] == "summary_large_image"


def test_a_chapter_has_a_card_of_its_own(published: FixtureProject) -> None:
    """With its title where the font of formulas can write it, and in words where it cannot."""
    files = {}
    for url, title in (("weights/", "Weights"), ("zh/weights/", "权重")):
        said = read_meta(parse_page(published, url))
        assert said["og:image"] == f"{ADDRESS}{url}card.png"
        assert said["og:image:alt"].startswith(title)
        files[url] = (published.root / "site" / url / "card.png").read_bytes()
        assert struct.unpack(">II", files[url][16:24]) == (1200, 630)
    assert files["weights/"] != files["zh/weights/"]


def test_the_card_is_drawn_once(published: FixtureProject) -> None:
    """A second build takes it from the store; a changed module makes a new one."""
    cards = []
    for change in (False, True):
        if change:
            published.edit("attention_docs/figures/share_card.py", "1200, 630", "600, 315")
        assert published.build(SITE_URL=ADDRESS, site="again").returncode == 0
        cards.append((published.root / "again" / "card.png").read_bytes())
    published.edit("attention_docs/figures/share_card.py", "600, 315", "1200, 630")
    assert cards[0] == (published.root / "site" / "card.png").read_bytes()
    assert struct.unpack(">II", cards[1][16:24]) == (600, 315)


def test_page_not_found(published: FixtureProject, bare: FixtureProject) -> None:
    for project, base in ((published, "/attention/"), (bare, "/")):
        page = BeautifulSoup(project.read("site/404.html"), "lxml")
        article = page.select_one("article")
        assert article
        assert [h1.get_text() for h1 in article.select("h1")] == ["This page does not exist"]
        assert [part.h2.get_text() for part in article.select('[lang="zh-Hans"]')] == [
            "没有这个页面"
        ]
        assert [html["lang"] for html in page.select("html")] == ["en"]
        assert {str(link["href"]) for link in article.select("a")} == {base, f"{base}zh/"}
        assert not read_languages(page)
        assert read_meta(page)["robots"] == "noindex"
        relative = [
            str(tag.get("href") or tag.get("src"))
            for tag in page.select("link[href], script[src], img[src]")
        ]
        assert len(relative) > 4
        assert all(link.startswith("/") for link in relative)


@pytest.mark.parametrize("url", PAGES)
def test_edit_this_page(published: FixtureProject, url: str) -> None:
    lang = "zh" if url.startswith("zh/") else "en"
    name = url.removeprefix("zh/").strip("/") or "index"
    (link,) = parse_page(published, url).select("a[rel=edit]")
    assert link["href"] == f"{REPOSITORY}/edit/main/docs/{lang}/{name}.md"
    assert (published.root / "docs" / lang / f"{name}.md").is_file()


def test_the_same_site_on_another_day(published: FixtureProject) -> None:
    """Dates stand nowhere: not in the sitemap, not in an archive."""
    done: subprocess.CompletedProcess[str] = published.build(
        SITE_URL=ADDRESS, REPO_URL=REPOSITORY, SOURCE_DATE_EPOCH="86400", site="another-day"
    )
    assert done.returncode == 0, done.stderr
    today = hash_files(published.root / "site")
    assert hash_files(published.root / "another-day") == today
    assert {"sitemap.xml.gz", "attention-docs.zip", "card.png", "llms.txt"} <= today.keys()


def hash_files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# --- what machines find


def read_data(page: BeautifulSoup) -> dict[str, object]:
    (tag,) = page.select('script[type="application/ld+json"]')
    return dict(json.loads(tag.get_text()))


def test_a_page_is_described_as_data(published: FixtureProject, bare: FixtureProject) -> None:
    assert read_data(parse_page(published, "zh/weights/")) == {
        "@context": "https://schema.org",
        "@type": "LearningResource",
        "name": "权重",
        "description": "什么是权重。",
        "inLanguage": "zh-Hans",
        "license": "https://creativecommons.org/licenses/by/4.0/",
        "isAccessibleForFree": True,
        "author": {"@type": "Organization", "name": "The contributors"},
        "version": "2026.1",
        "teaches": "What is it?",
        "learningResourceType": "chapter",
        "position": 1,
        "url": f"{ADDRESS}zh/weights/",
        "translationOfWork": [{"@id": f"{ADDRESS}weights/"}],
        "isPartOf": {"@type": "Course", "@id": f"{ADDRESS}zh/"},
    }
    home = read_data(parse_page(published, ""))
    assert (home["@type"], home["name"]) == ("Course", "Attention, derived and executed")
    assert home["workTranslation"] == [{"@id": f"{ADDRESS}zh/"}]
    local = read_data(parse_page(bare, "weights/"))
    assert "url" not in local
    assert local["workTranslation"] == [{"@id": "../zh/weights/"}]
    assert local["isPartOf"] == {"@type": "Course", "@id": "../"}


def test_a_browser_can_install_the_site(published: FixtureProject, bare: FixtureProject) -> None:
    (link,) = parse_page(published, "zh/weights/").select('link[rel="manifest"]')
    assert link["href"] == "../manifest.webmanifest"
    manifest = json.loads(published.read("site/zh/manifest.webmanifest"))
    assert (manifest["lang"], manifest["start_url"], manifest["display"]) == (
        *("zh", "./", "standalone"),
    )
    (icon,) = manifest["icons"]
    assert (published.root / "site/zh" / icon["src"]).is_file()
    assert not parse_page(bare, "").select('link[rel="manifest"]')


def test_a_feed_tells_of_editions(published: FixtureProject, bare: FixtureProject) -> None:
    (link,) = parse_page(published, "zh/weights/").select('link[type="application/atom+xml"]')
    assert link["href"] == "../editions.xml"
    feed = ElementTree.fromstring(published.read("site/zh/editions.xml"))
    atom = "{http://www.w3.org/2005/Atom}"
    assert feed.findtext(f"{atom}id") == f"{ADDRESS}zh/editions.xml"
    assert feed.findtext(f"{atom}updated") == "2027-01-02T00:00:00Z"
    said = [
        [entry.findtext(f"{atom}{name}") for name in ("title", "id", "updated", "summary")]
        for entry in feed.iter(f"{atom}entry")
    ]
    place = f"{ADDRESS}zh/#edition-"  # no page of this site lists them
    assert said == [
        [
            *("2027.1 版", f"{place}2027-1", "2027-01-02T00:00:00Z"),
            "2027-01-02 发布，有编号的结论 0 条。本版更正：错了。",
        ],
        [
            *("2026.1 版", f"{place}2026-1", "2026-12-01T00:00:00Z"),
            "2026-12-01 发布，有编号的结论 0 条。",
        ],
    ]
    assert not (bare.root / "site/editions.xml").exists()
