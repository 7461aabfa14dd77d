"""What holds for every page: true sources, whole listings, links that lead somewhere, no leaks."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import pytest
import yaml

from attention_docs import verify
from attention_docs.site.read.listing import read_listing
from attention_docs.site.read.page import Page as Source
from attention_docs.site.read.passage import Passage
from attention_docs.site.read.pieces import Fence
from attention_docs.site.read.reader import read_page
from attention_docs.site.read.translations import compare_pages
from attention_docs.site.read.typed_numbers import DECIMAL, VECTOR
from tests.conftest import (
    BASE,
    BUILT,
    LANGUAGES,
    ROOT,
    SLUGS,
    TAGS,
    WRITTEN,
    each_language,
    find_page_folder,
    parse_html,
    read_project,
    report,
)

LISTINGS = sorted((ROOT / "docs" / "listings").glob("*.py"))
SOURCES = [ROOT / "docs" / lang / f"{slug}.md" for lang in LANGUAGES for slug in WRITTEN]
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


def name_page(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def sections(path: Path) -> Source:
    """A page's source; no test changes it."""
    return read_page(path, ROOT)


VALUE = re.compile(r'<span class="value[^"]*"[^>]*>([^<]*)')


def test_numbers_in_sentences_have_minus_signs(site: Path) -> None:
    """Python prints a hyphen, and so do code and its output; a sentence does not."""
    pages = sorted(site.rglob("index.html"))
    values = [one for path in pages for one in VALUE.findall(path.read_text(encoding="utf-8"))]
    assert len([one for one in values if "−" in one]) > 50
    assert not [one for one in values if re.search(r"(?<!\w)-(?=[\d.])|-inf", one)]


# --- sources --------------------------------------------------------------------------------


FORMULAS = {  # a change of the Chinese page alone, and the message
    "an operator in a display": (
        r"\operatorname{softmax}(\tilde S)",
        "softmax",
        "relu",
        "formula in #",
    ),
    "a side of an inline formula": ("$t > 0$", "t > 0", "t < 0", "inline formulas in #"),
    "an exponent": ("$h(x) = e^{cx}$", "e^{cx}", "e^{-cx}", "inline formulas in #"),
    "words in a display": (r"\text{若 ", "若", "除非", "words in formulas"),
    "an assumption in a reason": (r"\text{（A1）}", "A1", "A3", "names in reasons in #"),
}


@pytest.mark.parametrize("case", FORMULAS)
def test_a_formula_changed_in_one_language_is_seen(case: str) -> None:
    """Signs in displays and numerals are compared as well; those have their tests elsewhere."""
    text, old, new, described = FORMULAS[case]
    pages = [path for path in SOURCES if "/zh/" in str(path) and text in path.read_text("utf-8")]
    page = read_page(pages[0], ROOT)
    number = page.text[: page.text.index(text)].count("\n")
    line = page.lines[number]
    at = line.index(text)
    page.lines[number] = line[:at] + line[at:].replace(old, new, 1)
    del vars(page)["_split"]  # its passages, which it had before
    (fault,) = compare_pages(sections(ROOT / "docs" / "en" / f"{page.slug}.md"), page)
    assert fault.message.startswith(described)
    assert new.strip("$").replace(" ", "") in fault.message.replace(" ", "")


@pytest.mark.parametrize(
    ("english", "chinese", "described"),
    [
        ("The other 3 are zero, a row of ones.", "其余 3 个是 0，一行都是 1。", ""),
        ("The other 3 are zero.", "其余 3 个是 1。", "too many ['1']"),
        ("The other 3 are zero.", "其余 0 个是 0。", "missing ['3'], too many ['0']"),
        ("One of the other 3.", "其余 3 个之 1。", "too many ['1']"),
        ("The other 3 are 0.", "其余 3 个是零。", "missing ['0']"),
    ],
)
def test_a_translation_may_write_a_spelled_zero_as_a_digit(
    english: str, chinese: str, described: str, tmp_path: Path
) -> None:
    pages = []
    for lang, text in (("en", english), ("zh", chinese)):
        path = tmp_path / "docs" / lang / "t.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"---\nquestion: T?\ndescription: T\n---\n\n# T {{ #t }}\n\n{text}\n")
        pages.append(read_page(path, tmp_path))
    found = [one.message for one in compare_pages(*pages) if one.message.startswith("numbers")]
    assert len(found) == bool(described)
    assert all(described in message for message in found)


def test_a_list_is_numbered_as_its_language_likes() -> None:
    """Markdown counts the items itself, so a marker is no number of the text."""
    passage = Passage(1, 1, "", "", "1. Two of 3.\n   2) Four of 5.\n")
    assert passage.count_numerals() == {"3": 1, "5": 1}


INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def test_no_source_holds_a_character_that_nobody_sees() -> None:
    """Within a number it hides the number from every other check."""
    texts = ("docs/**/*.md", "docs/**/*.py", "docs/**/*.toml", "attention_docs/**/*.py")
    found = [
        f"{name_page(path)}:{number}: U+{ord(hidden):04X} is invisible"
        for pattern in (*texts, "attention_docs/**/*.toml")
        for path in sorted(ROOT.glob(pattern))
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1)
        for hidden in INVISIBLE.findall(line)
    ]
    assert not found


@pytest.mark.parametrize("path", SOURCES, ids=name_page)
def test_a_plain_fence_holds_no_output(path: Path) -> None:
    page = sections(path)
    pasted = []
    for piece in page.pieces:
        if isinstance(piece, Fence):
            text = "\n".join(page.lines[piece.line : piece.last_line - 1])
            # The edition in the BibTeX entry is held by test_teaching.py.
            if not text.startswith("@misc") and (VECTOR.search(text) or DECIMAL.search(text)):
                pasted.append(f"{page.path}:{piece.line}: {text}")
    assert not pasted


@pytest.mark.parametrize("listing", LISTINGS, ids=name_page)
def test_a_page_shows_its_whole_listing_in_order(listing: Path) -> None:
    page = sections(ROOT / "docs" / "en" / f"{listing.stem}.md")
    shown = [s.name for block in page.blocks for s in block.sections if s.listing == listing]
    assert shown == list(read_listing(listing))


@pytest.mark.parametrize("listing", LISTINGS, ids=name_page)
def test_all_code_of_a_listing_stands_in_sections(listing: Path) -> None:
    lines = listing.read_text(encoding="utf-8").splitlines()
    inside = {
        number
        for section in read_listing(listing).values()
        for number in range(section.first_line, section.first_line + section.code.count("\n") + 1)
    }
    tree = ast.parse("\n".join(lines))
    assert ast.get_docstring(tree)
    outside = [lines[s.lineno - 1] for s in tree.body[1:] if s.lineno not in inside]
    assert not outside


@pytest.mark.parametrize("listing", LISTINGS, ids=name_page)
def test_a_listing_is_a_script_that_hides_no_module(listing: Path) -> None:
    """Its folder is the first that Python searches, so its name must be nobody else's.

    Its code runs from top to bottom since its page's blocks do, and are all of it, in order.
    """
    compile(listing.read_text(encoding="utf-8"), listing, "exec")
    assert not listing.stem.isidentifier() or importlib.util.find_spec(listing.stem) is None


@each_language
def test_every_module_has_its_page_in_the_api(lang: str) -> None:
    """All but the checks, which only raise, a command, and the layer that builds the site."""
    package = ROOT / "attention_docs"
    names = {path.stem for path in package.glob("*.py")} | {"data", "figures", "nn"}
    names -= {"__init__", "checks", "signatures", "verify"}
    wanted = {name.replace("_", "-"): name for name in names}
    found = {
        slug: re.findall(r"^::: (.+)$", page.text, re.M)
        for slug, page in read_project().pages[lang].items()
        if page.is_reference
    }
    assert found == {f"api/{slug}": [f"attention_docs.{name}"] for slug, name in wanted.items()}


@each_language
def test_the_page_of_a_module_says_what_its_row_says_and_links_to_its_chapter(lang: str) -> None:
    pages = read_project().pages[lang]
    for name, linked in (("scaling", ["../scaling.md", "../api.md"]), ("data", ["../api.md"])):
        page = pages[f"api/{name}"]
        row = next(cells for cells in pages["api"].rows() if cells[0].startswith(f"[`{name}`]"))
        assert page.meta["description"] == row[1]
        assert row[1] in page.lines[page.body_line :]
        assert re.findall(r"\]\((.*?)\)", page.text) == linked


# --- the built site ----------------------------------------------------------------------------


NUMBER_OR_SIGN = re.compile(r"[✓✗]|-?\d+(?:[.,]\d+)*")


Counts = dict[str, Counter[str]]


def test_all_languages_show_the_same_numbers(numbers_json: dict[str, Any]) -> None:
    """Words of outputs, tables, figures and values are translated; numbers and answers are not. So
    the tests of a chapter read its English page alone."""
    shown: dict[str, Counts] = {lang: defaultdict(Counter) for lang in BUILT}
    for record in numbers_json["records"]:
        if record.get("expression", "").startswith("site."):
            continue  # minutes differ from language to language
        slug, name = record["slug"], record["id"]
        place = f"{slug} {name}" if record["kind"] == "output" else f"{slug}, in sentences"
        cells = (cell for row in record.get("table", ()) for cell in row)
        captions = [caption for _, caption, _ in record.get("frames", ())]
        texts = [str(record["text"]), *cells, *record.get("labels", ()), *captions]
        numbers = NUMBER_OR_SIGN.findall("\n".join(texts))
        shown[record["lang"]][place].update(numbers)
    assert len(shown["en"]) > 300
    assert not find_differences(shown["en"], shown["zh"])
    assert not find_differences(shown["en"], shown["zh-hant"])


def find_differences(
    original: Counts, other: Counts
) -> dict[str, tuple[Counter[str], Counter[str]]]:
    """The places whose numbers differ, with what each has more often than the other."""
    none: Counter[str] = Counter()
    pairs = {
        place: (original.get(place, none), other.get(place, none))
        for place in original.keys() | other.keys()
    }
    return {place: (one - two, two - one) for place, (one, two) in pairs.items() if one != two}


@pytest.mark.parametrize("path", SOURCES, ids=name_page)
def test_a_page_says_what_it_is(path: Path, site: Path) -> None:
    """A front matter that does not parse is dropped by mkdocs without a word."""
    source = sections(path)
    front = yaml.safe_load(source.text.split("---\n")[1])
    tree = parse_html(find_page_folder(site, source.path.split("/")[1], source.slug) / "index.html")
    assert tree.findtext(".//title").startswith(source.title)
    assert tree.xpath("//meta[@name='description']/@content") == [front["description"]]


@pytest.mark.parametrize("slug", SLUGS)
def test_headings_have_the_same_ids(slug: str, site: Path) -> None:
    trees = {lang: parse_html(find_page_folder(site, lang, slug) / "index.html") for lang in BUILT}
    headings = [
        [(one.tag, one.get("id")) for one in tree.find(".//article").iter(*HEADINGS)]
        for tree in trees.values()
    ]
    assert headings[0] == headings[1] == headings[2] != []
    assert all(heading_id for _, heading_id in headings[0])
    assert [tree.get("lang") for tree in trees.values()] == list(TAGS.values())


def list_html_files(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_every_link_leads_to_a_file_and_an_anchor(site: Path) -> None:
    ids = {path: set(parse_html(path).xpath("//@id")) for path in list_html_files(site)}
    broken = []
    for path in ids:
        if path.name == "404.html":
            continue  # its links start at the address where the site will be
        here = f"{BASE}/{path.relative_to(site).as_posix()}"
        tags = parse_html(path).iter("a", "link", "script", "img")
        for link in {tag.get("href") or tag.get("src") or "" for tag in tags}:
            address = urlsplit(urljoin(here, link))
            if address.scheme or address.netloc:
                continue
            target = site / unquote(address.path).removeprefix(f"{BASE}/")
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                broken.append(f"{here}: {address.path}")
            elif (
                address.fragment and target in ids and unquote(address.fragment) not in ids[target]
            ):
                broken.append(f"{here}: {address.path}#{address.fragment}")
    assert not sorted(set(broken))


def test_no_page_asks_another_host(site: Path) -> None:
    asking = []
    for path in list_html_files(site):
        tags = ("script", "link", "img", "iframe", "source", "video", "object")
        for tag in parse_html(path).iter(*tags):
            address = tag.get("src") or tag.get("href") or tag.get("data") or ""
            named = tag.get("rel", "").split()  # an address that the browser does not ask
            if urlsplit(address).netloc and not {"alternate", "canonical"} & {*named}:
                asking.append(f"{path}: {address}")
    for path in site.rglob("*.css"):
        found = re.findall(r"(?:@import|url\()\s*['\"]?(https?:[^'\")]*)", path.read_text())
        asking += [f"{path}: {address}" for address in found]
    assert not asking


def test_numbers_json_and_the_pages_say_the_same(site: Path, numbers_json: dict[str, Any]) -> None:
    """Every output, every inline value, and every frame of a figure."""
    read = verify.open_site(str(site))
    report(f"{one['slug']}#{one['id']}: {why}" for one, why in verify.touched(numbers_json, read))
    frames = 0
    for record in (one for one in numbers_json["records"] if one.get("frames")):
        folder = find_page_folder(site, record["lang"], record["slug"])
        output = parse_html(folder / "index.html").get_element_by_id(record["id"])
        assert read_frames(output) == [
            (at, remove_marks(caption), pictures) for at, caption, pictures in record["frames"]
        ]
        frames += len(record["frames"])
    assert frames > 500


def test_the_site_publishes_the_record(site: Path, numbers_json: dict[str, Any]) -> None:
    """The site was built elsewhere: no processor, thread or folder changes a digit."""
    published = json.loads((site / "numbers.json").read_text(encoding="utf-8"))
    assert [*published] == [*numbers_json]
    for ours, theirs in zip(numbers_json["records"], published["records"], strict=True):
        assert ours == theirs
    assert numbers_json == published


def test_numbers_json_has_one_record_for_each_place_of_a_known_page(
    numbers_json: dict[str, Any],
) -> None:
    assert {"python", "numpy", "torch"} <= set(numbers_json["versions"])
    places = [(record["page"].strip("/"), record["id"]) for record in numbers_json["records"]]
    assert len(places) == len(set(places)) > 0
    known = {find_page_folder(Path(), lang, slug).as_posix() for lang in BUILT for slug in SLUGS}
    assert {page or "." for page, _ in places} <= known


def read_frames(output: Any) -> list[tuple[str, str, int]]:
    """The settings of a figure: its controls, its caption, and how many pictures it shows."""
    return [
        (
            frame.get("data-at"),
            remove_marks(frame.find("figcaption").text_content()),
            len(frame.findall(".//svg[@aria-label]")),
        )
        for frame in output.find_class("frame")
    ]


def remove_marks(caption: str) -> str:
    """A caption with subscripts as plain letters."""
    return caption.replace("_", "").replace("ₖ", "k")


LABELS = {"en": "Parameters:", "zh": "参数：", "zh-hant": "參數："}


@pytest.mark.parametrize("lang", LABELS)
def test_documentation_is_labelled_in_the_language_of_its_page(lang: str, site: Path) -> None:
    """mkdocstrings would give each language the labels of the one that is built before it."""
    tree = parse_html(find_page_folder(site, lang, "api/masking") / "index.html")
    found = {one.text_content().strip() for one in tree.find_class("doc-section-title")}
    assert found & {*LABELS.values()} == {LABELS[lang]}
