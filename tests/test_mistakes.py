"""The gallery of mistakes: nothing is missing, and it shows what the chapters show."""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
import torch
from markdown import Markdown
from torch.nn.functional import scaled_dot_product_attention

from attention_docs.locales import read_locale
from attention_docs.running.result import Result
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.listing import Section, read_listing
from attention_docs.site.read.pieces import Request
from attention_docs.site.read.reader import read_page
from attention_docs.site.read.syntax import NUMERAL
from attention_docs.site.render.blocks import highlight
from attention_docs.site.render.chapters import Chapters, read_entries
from attention_docs.site.render.mistakes import lay_out_signs
from attention_docs.site.render.requests import expand_request as expanded
from tests.conftest import (
    LANGUAGES,
    ROOT,
    each_language,
    find_page_folder,
    list_classes,
    parse_html,
)
from tests.exact import make_test_of_asked
from tests.page import Page

Entry = dict[str, Any]
ENTRIES: list[Entry] = tomllib.loads((ROOT / "docs/mistakes.toml").read_text("utf-8"))["entry"]
IDS = [entry["id"] for entry in ENTRIES]
NOTES = tomllib.loads((ROOT / "docs/notes.toml").read_text("utf-8"))["entry"]
PROSE = ("why", "check", "report")
TAG = re.compile("<[^>]*>")
each = pytest.mark.parametrize("entry", ENTRIES, ids=IDS)


def list_names(field: Any) -> list[str]:
    return [field] if isinstance(field, str) else list(field or [])


def list_blocks(entry: Entry) -> list[str]:
    return [name for kind in ("claim", "wrong", "right") for name in list_names(entry.get(kind))]


def list_places(entry: Entry) -> list[str]:
    return [entry["place"], *list_names(entry.get("also"))]


def find_chapter(entry: Entry) -> str:
    return str(entry["place"]).split("#")[0]


@cache
def read_listing_of(slug: str) -> dict[str, Section]:
    return read_listing(ROOT / "docs" / "listings" / f"{slug}.py")


@cache
def source(lang: str, slug: str) -> str:
    return (ROOT / "docs" / lang / f"{slug}.md").read_text(encoding="utf-8")


@cache
def list_ids(lang: str, slug: str) -> list[str]:
    text = source(lang, slug)
    found = re.findall(r"^#{1,6} .*\{ #([\w-]+) \}$|^    id: ([\w-]+)$", text, re.M)
    return [heading or box for heading, box in found]


# --- the list is whole ---------------------------------------------------------------------------


@each_language
def test_every_mistake_of_a_chapter_has_an_entry(lang: str) -> None:
    slugs = [path.stem for path in (ROOT / "docs" / lang).glob("*.md")]
    wanted = {
        f"{slug}#{name}"
        for slug in slugs
        for name in list_ids(lang, slug)
        if name.startswith("mistake-")
    }
    assert len(wanted) > 30
    assert not wanted - {place for entry in ENTRIES for place in list_places(entry)}


def test_every_fault_of_the_notes_has_an_entry() -> None:
    # The rows that are marked ✗ in the list of what the notes hold.
    faults = {"000.6", "001.3", "001.4", "001.6", "001.9", "003.2", "003.7", "004.3", "004.4"}
    assert {row["id"] for row in NOTES if row.get("wrong")} == faults
    assert not faults - {row for entry in ENTRIES for row in list_names(entry.get("note"))}


def test_no_entry_names_a_row_that_is_not_there() -> None:
    rows = {row["id"] for row in NOTES}
    assert not {row for entry in ENTRIES for row in list_names(entry.get("note"))} - rows


@each_language
def test_every_group_stands_once_on_the_page(lang: str) -> None:
    text = (ROOT / "docs" / lang / "mistakes.md").read_text(encoding="utf-8")
    groups = re.findall(r"^<!-- gallery: ([\w-]+) -->$", text, re.M)
    assert Counter(groups) == dict.fromkeys((entry["group"] for entry in ENTRIES), 1)


@each_language
def test_every_mistake_has_a_symptom(lang: str) -> None:
    text = (ROOT / "docs" / lang / "mistakes.md").read_text(encoding="utf-8")
    rows = [line for line in text.split("\n") if line.startswith("| ")]
    assert set(IDS) <= set(re.findall(r"\]\(#([\w-]+)\)", "\n".join(rows)))


# --- every entry is sound ------------------------------------------------------------------------


@each
def test_an_entry_is_written_in_both_languages(entry: Entry) -> None:
    """The twins check pages; what stands in the list is checked here by the same rules."""
    for field in ("en", "why_en", "check_en"):
        assert entry[field].strip()
        assert re.search("[一-鿿]", entry[field.replace("en", "zh")])
    assert ("report_en" in entry) == ("report_zh" in entry)
    for field in ("", *(f"{name}_" for name in PROSE)):
        english, chinese = (entry.get(f"{field}{lang}", "") for lang in LANGUAGES)
        assert re.findall(r"\]\(([^)]*)\)", english) == re.findall(r"\]\(([^)]*)\)", chinese)
        bare = [re.sub(r"\[[^]]*\]\([^)]*\)|`[^`]*`", " ", text) for text in (english, chinese)]
        assert Counter(NUMERAL.findall(bare[0])) == Counter(NUMERAL.findall(bare[1]))
        assert not re.search(r"\d\.\d", " ".join(bare)), "a number comes from the chapter"


@cache
def list_functions(path: str) -> set[str]:
    """The names of the functions of a module."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@each
def test_every_named_test_exists(entry: Entry) -> None:
    path, _, name = entry["test"].partition("::")
    assert path == f"tests/test_{find_chapter(entry).replace('-', '_')}.py"
    assert name in list_functions(path)


# --- the built page ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def output(numbers_json: dict[str, Any]) -> Callable[[Entry, str], list[str]]:
    """`output(entry, name)`: what a block printed, then its table as text, from numbers.json."""
    records = numbers_json["records"]
    texts = {
        (record["page"], record["id"]): "\n".join(
            filter(None, [str(record["text"]), record["table"] and record["figure"]])
        )
        for record in reversed(records)
        if record["kind"] == "output"
    }
    return lambda entry, name: texts.get(
        (f"/{find_chapter(entry)}/", f"out-{name}"), ""
    ).splitlines()


@pytest.fixture(scope="module")
def gallery(site: Path) -> Callable[[str], Any]:
    """`gallery(lang)`: the built page."""
    return lambda lang: parse_html(find_page_folder(site, lang, "mistakes") / "index.html")


def fold(gallery: Any, entry: Entry) -> Any:
    """What an entry shows when it is open."""
    inside = gallery.get_element_by_id(entry["id"])
    assert "inside" in list_classes(inside)
    assert inside.getparent().tag == "details"
    assert "fold" in list_classes(inside.getparent())
    return inside


def boxes(gallery: Any, entry: Entry) -> list[Any]:
    """The boxes of an entry on the built page."""
    return [one for one in fold(gallery, entry) if "admonition" in list_classes(one)]


@each
def test_the_gallery_shows_what_the_chapters_show(
    entry: Entry, gallery: Callable[[str], Any], output: Callable[[Entry, str], list[str]]
) -> None:
    found = boxes(gallery("en"), entry)
    listing = read_listing_of(find_chapter(entry))
    assert len(found) == len(list_blocks(entry))
    for box, name in zip(found, list_blocks(entry), strict=True):
        code, *printed = [pre.text_content() for pre in box.iter("pre")]
        assert code.strip("\n") == listing[name].code.strip("\n")
        wanted = output(entry, name)
        got = "\n".join(printed).removesuffix("\n").splitlines()
        if any(line.startswith(("✗ ", "✓ ")) for line in got):
            got = [line[2:] for line in got]
        assert got == wanted


@each
def test_wrong_and_right_differ(entry: Entry, output: Callable[[Entry, str], list[str]]) -> None:
    """No line of a wrong output is a line of the right one; or two values in one line differ."""
    if "claim" in entry:
        assert any(output(entry, name) for name in list_names(entry["claim"]))
        return
    if "both" in entry:
        value = r"\s*(\[[^\]]*\]|[^,\s]+)"
        pairs = [
            [re.search(re.escape(label) + value, line) for label in entry["both"]]
            for line in output(entry, entry["wrong"])
        ]
        assert any(a[1] != b[1] for a, b in pairs if a and b)
        return
    marks, wrong, right = list_names(entry.get("marks")), set(), set()
    for number, name in enumerate(list_blocks(entry)):
        lines = output(entry, name)
        default = "x" if name in list_names(entry["wrong"]) else "+"
        signs = marks[number] if number < len(marks) and marks[number] else default * len(lines)
        wrong |= {line for sign, line in zip(signs, lines, strict=True) if sign == "x"}
        right |= {line for sign, line in zip(signs, lines, strict=True) if sign == "+"}
    assert wrong
    assert right or "right" in entry
    assert not wrong & right


@each_language
def test_wrong_code_is_marked(lang: str, gallery: Callable[[str], Any]) -> None:
    for entry in ENTRIES:
        kinds = [kind for kind in ("claim", "wrong", "right") for _ in list_names(entry.get(kind))]
        for box, kind in zip(boxes(gallery(lang), entry), kinds, strict=True):
            shown = list_classes(box)
            assert ({"failure", "no-copy"} <= shown) == (kind == "wrong")
            title = box.find_class("admonition-title")[0].text_content()
            assert bool(re.search("do not copy|请勿照抄", title)) == (kind == "wrong")
            signs = [one.get("data-sign") for one in box.find(".//pre").find_class("sign")]
            assert signs.count("✗") >= (len(list_names(entry.get("bad"))) > 0) * (kind == "wrong")


@each_language
def test_an_entry_links_to_its_chapter_and_its_numbers(
    lang: str, gallery: Callable[[str], Any], output: Callable[[Entry, str], list[str]]
) -> None:
    for entry in ENTRIES:
        links = set(fold(gallery(lang), entry).xpath("ul//a/@href"))
        wanted = {"../{}/#{}".format(*place.split("#")) for place in list_places(entry)}
        wanted |= {
            f"../{find_chapter(entry)}/index.html#out-{name}"
            for name in list_blocks(entry)
            if output(entry, name)
        }
        assert wanted <= links


# --- faults of the list --------------------------------------------------------------------------

GOOD = """
[[entry]]
id = "first"
group = "all"
en = "First"
zh = "第一"
why_en = "Because."
why_zh = "因为。"
place = "page#mistake"
wrong = "bad"
right = "fine"
bad = ["x = 1"]
test = "tests/test_page.py::test_it"
check_en = "Look."
check_zh = "看。"
"""


def test_what_each_mistake_does_to_the_weights(page: Callable[[str, str], Page]) -> None:
    """By torch, from the scores of the example: [2, 4, 4], [4, 16, 12] and [4, 12, 10]."""
    raw = torch.tensor([[2.0, 4, 4], [4, 16, 12], [4, 12, 10]])
    keep = torch.ones(3, 3).tril().bool()
    scaled, hidden = raw / math.sqrt(3), raw.masked_fill(~keep, -math.inf)
    versions = {
        "right": (hidden / math.sqrt(3)).softmax(-1),
        "not scaled": hidden.softmax(-1),
        "scaled after softmax": hidden.softmax(-1) / math.sqrt(3),
        "masked after softmax": scaled.softmax(-1) * keep,
        "softmax over the queries": (hidden / math.sqrt(3)).softmax(0),
    }
    frames = page("en", "mistakes").frames("looks")
    for frame, wanted in zip(frames, versions.values(), strict=True):
        found = [float(one) for one in re.findall(r"\d\.\d\d", frame.labels[0])]
        assert found == [pytest.approx(x, abs=0.0051) for x in wanted.flatten().tolist()]
        sums = [float(one) for one in re.findall(r"\d\.\d\d", frame.caption)]
        assert sums == [pytest.approx(x, abs=0.0051) for x in wanted.sum(-1).tolist()]


@pytest.fixture
def expand(tmp_path: Path) -> Callable[..., str]:
    """Expand the request for a gallery of one entry in a small project."""
    docs = tmp_path / "docs"
    (docs / "en").mkdir(parents=True)
    (docs / "listings").mkdir()
    sections = {"bad": "x = 1\nprint(x)\nprint('y')", "fine": "x = 2\nprint(x)"}
    (docs / "listings" / "page.py").write_text(
        "\n".join(f"# --8<-- [start:{k}]\n{v}\n# --8<-- [end:{k}]" for k, v in sections.items())
    )
    fences = "\n\n".join(f'```python exec="1"\n--8<-- "page.py:{k}"\n```' for k in sections)
    path = docs / "en" / "page.md"
    path.write_text(f"# Page {{ #page }}\n\n## M {{ #mistake }}\n\n{fences}")
    pages = {"page": read_page(path, tmp_path)}
    results = [Result(text="1\ny"), Result(text="2")]

    def run(change: tuple[str, str] = ("", ""), request: str = "gallery: all") -> str:
        assert change[0] in GOOD
        (docs / "mistakes.toml").write_text(GOOD.replace(*change), encoding="utf-8")
        (docs / "notes.toml").write_text('[[entry]]\nid = "1"\nen = "a"\nplaces = ["page#no"]\n')
        (docs / "questions.toml").write_text(
            '[[entry]]\nid = "1"\ngroup = "g"\nen = "a"\nplaces = ["page#mistake"]\n'
            'asked = ["http://a"]\n\n[[entry]]\nid = "2"\ngroup = "h"\nen = "b"\n'
            'places = ["page#mistake", "page#no"]\n'
        )
        kind, _, name = request.partition(": ")
        chapters = Chapters("en", read_locale("en"), docs, pages, {}, lambda page: results)
        return str(expanded(Request(1, kind, name), chapters))

    return run


def test_a_comment_that_asks_for_nothing_is_left_alone(expand: Callable[..., str]) -> None:
    assert expand(request="a remark") == "None"


def test_a_sign_moves_to_the_beginning_of_its_line() -> None:
    md = Markdown()
    code = 'x = f(1)  # why  # ✗\n\ny = """\n  # ✗ is no sign here"""  # ✓\nz = 3  # of 4\n'
    place = md.htmlStash.store(highlight(code, "python"))
    root = fromstring('<div><div class="admonition failure"><p /></div></div>')
    root[0][0].text = place
    lay_out_signs(root, md)
    (html,) = md.htmlStash.rawHtmlBlocks
    signs = re.findall(r'<span class="sign" data-sign="(.)"></span>([^\n]*)', html)
    assert [(sign, TAG.sub("", line).strip()) for sign, line in signs] == [
        ("✗", "x = f(1)  # why"),
        ("✓", '# ✗ is no sign here"""'),
    ]
    assert (
        TAG.sub("", html).split()
        == TAG.sub("", highlight(re.sub("  # [✗✓]$", "", code, flags=re.M), "python")).split()
    )


def test_an_entry_becomes_a_fold_with_two_boxes_and_facts(expand: Callable[..., str]) -> None:
    text = expand()
    assert text.startswith("/// fold | First\n    id: first\n\nBecause.")
    assert text.endswith("\n\n///")
    assert '!!! failure wrong no-copy "Wrong: do not copy"' in text
    assert "    x = 1  # ✗\n    print(x)" in text
    assert "    ✗ 1\n    ✗ y" in text
    assert "    ```text\n    2\n    ```" in text
    assert text.index("!!! success") < text.index("[Page: M](page.md#mistake)")


WRONG = [
    (('wrong = "bad"', 'wrong = "none"'), 'docs/en/page.md has no block "none"'),
    (('"page#mistake"', '"page#none"'), "docs/en/page.md has no heading #none"),
    (('"page#mistake"', '"none#mistake"'), "there is no page none"),
    (('["x = 1"]', '["z = 1"]'), "no line of its blocks begins with 'z = 1'"),
    (
        ('wrong = "bad"\nright = "fine"', 'wrong = "fine"\nright = "bad"'),
        "\"bad\" is right, and has a line that is not: 'x = 1'",
    ),
    (
        ('bad = ["x = 1"]', 'good = ["x = 1"]'),
        "\"bad\" is wrong, and has a line that is not: 'x = 1'",
    ),
    (
        ('bad = ["x = 1"]\n', ""),
        "a wrong and a right block: wanted bad or good, how their lines begin",
    ),
    (('right = "fine"', 'right = "fine"\nmarks = "x"'), '"bad" prints 2 lines, got 1 marks'),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_fault_of_an_entry_names_its_line(
    change: tuple[str, str], message: str, expand: Callable[..., str]
) -> None:
    with pytest.raises(Failure) as failure:
        expand(change)
    assert str(failure.value) == f"docs/mistakes.toml:3: first: {message}"


def test_a_group_without_an_entry_is_a_fault(expand: Callable[..., str]) -> None:
    with pytest.raises(Failure, match=r'mistakes.toml: wanted one of .*, got "none"'):
        expand(request="gallery: none")


def test_a_row_of_the_notes_without_its_heading_is_a_fault(expand: Callable[..., str]) -> None:
    with pytest.raises(Failure, match=r"docs/notes.toml:2: 1: .* has no heading #no"):
        expand(request="notes")


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ("g", 'docs/questions.toml:2: 1: asked: wanted addresses .*, got "http://a"'),
        ("h", "docs/questions.toml:9: 2: .* has no heading #no"),
        ("none", 'group of docs/questions.toml: wanted one of g, h, got "none"'),
    ],
)
def test_a_question_names_its_place_and_its_source(
    group: str, message: str, expand: Callable[..., str]
) -> None:
    with pytest.raises(Failure, match=message):
        expand(request=f"questions: {group}")


def test_each_entry_of_a_list_has_its_own_id(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text('[[entry]]\nid = "a"\n[[entry]]\nid = "a"\n', "utf-8")
    with pytest.raises(Failure, match=r'docs/x.toml:2: wanted an id of its own .* got "a" twice'):
        read_entries(tmp_path / "x.toml")


# --- the six checks ------------------------------------------------------------------------------

# What each check finds, worked out on paper: 1 by hand, 2 equal values, 3 one query alone,
# 4 the last token changed, 5 the other sequence changed, 6 a query without keys.
FINDS = {
    "softmax-axis": [1, 2, 3, 4],  # one query alone has the weights 1; later queries take weight
    "softmax-batch": [1, 2, 5],
    "no-scale": [1],
    "wrong-divisor": [1],
    "scale-after-softmax": [1, 2],  # the rows sum to 1/2
    "mask-upside-down": [1, 2, 4, 6],  # all is forbidden by hand, and query 3 sees no key
    "scores-times-mask": [4, 6],  # a forbidden score is 0, not −∞
    "mask-after-softmax": [2, 4],  # the rows that see less than all sum to less than 1
    "empty-row": [6],
    "minus-1e9": [6],
}


def listing() -> dict[str, Any]:
    """The names that the listing of this page defines."""
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec((ROOT / "docs/listings/mistakes.py").read_text(encoding="utf-8"), names)
    return names


def test_checks_find_mistakes(chapter: Page) -> None:
    names = ["by hand", "equal values", "one query", "last token", "sequence", "empty row"]
    failed = {
        line[""]: [i for i, name in enumerate(names, 1) if line[name] == "✗"]
        for line in chapter.table("table")
    }
    assert failed.pop("package") == []
    alone = [name for name, checks in FINDS.items() if len(checks) == 1]
    assert sorted(map(int, chapter.values("checks"))) == [len(alone), len(FINDS)]
    assert failed == FINDS
    known = set(FINDS) - {"softmax-batch", "minus-1e9"}
    assert known <= set(IDS), "the names are those of the gallery"


def test_what_pytorch_says(chapter: Page) -> None:
    """The sizes in each message are those of the arrays, counted by hand."""
    wanted = [
        r"Expected size .* \[2, 4\] but got: \[2, 5\]",  # 2 heads; d_k = 4 against 5 keys
        r"size of tensor a \(5\) must match the size of tensor b \(3\) at .* dimension 3",
        r"mat1 and mat2 shapes cannot be multiplied \(3x4 and 8x4\)",
        r"2D attn_mask is torch.Size\(\[5, 5\]\), but should be \(3, 3\)",
        r"Need attn_mask if specifying the is_causal hint",
        r"attn_mask dtype .* got attn_mask.dtype: long int",
        r"same dtype, but got query.dtype: c10::Half key.dtype: float",
        r"index out of range in self",
        r"probability tensor contains either `inf`, `nan` or element < 0",
        r"view size is not compatible with input tensor's size and stride",
        r"Expected target size \[1, 10\], got \[1, 3\]",
    ]
    lines = chapter.output("messages").splitlines()
    assert len(lines) == len(wanted)
    for number, (line, pattern) in enumerate(zip(lines, wanted, strict=True), start=1):
        assert re.match(rf"{number}\. .*{pattern}", line), line
    assert chapter.values("messages") == [torch.__version__.partition("+")[0]]


def test_checks_pass_torch() -> None:
    """What is right passes: PyTorch's function, which shares no code with the package."""
    names = listing()

    def sdpa(*arrays: np.ndarray) -> np.ndarray:
        query, key, value, mask = (torch.from_numpy(np.array(array)) for array in arrays)
        out = scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return out.numpy()

    assert len(names["CHECKS"]) == 7
    assert all(check(sdpa) < 1e-12 for check in names["CHECKS"])


def test_by_hand() -> None:
    """1/4 and 3/4 of the values 0 and 4 are 3; the weights of the scores 0 and ln 3 are these."""
    assert math.exp(math.log(3)) / (math.exp(0) + math.exp(math.log(3))) == pytest.approx(3 / 4)
    given: list[np.ndarray] = []

    def three(*arrays: np.ndarray) -> np.ndarray:
        given.extend(arrays)
        return np.full((1, 1, 1), 3.0)

    assert listing()["by_hand"](three) == 0
    query, key, value, _ = given
    assert query[0, 0] @ key[0].T / 4**0.5 == pytest.approx([0, math.log(3)])
    assert value[0].tolist() == [[0], [4]]


def test_exercises(chapter: Page) -> None:
    alone = [name for name, checks in FINDS.items() if checks == [1]]
    assert chapter.output("exercise-1") == f"missed without check 1: {', '.join(alone)}"
    assert chapter.column("exercise-1", "checks") == [1, 2, 3]
    for line in chapter.table("exercise-1"):
        sets = [
            chosen
            for chosen in itertools.combinations(range(1, 7), int(line["checks"]))
            if all(set(chosen) & set(checks) for checks in FINDS.values())
        ]
        wanted = "; ".join(str(chosen).strip("()") for chosen in sets)
        assert line["sets that find all ten"] == (wanted or "none")
    assert [line["failed checks"] for line in chapter.table("exercise-2")] == ["none", "7", "none"]
    # 9/10 of 4 is 3.6; √3 / (1 + √3) of 4 is 2.5359; a mean moves by 1 as its values do.
    off = [3.6 - 3, 3 - 4 * 3**0.5 / (1 + 3**0.5), math.inf, 1]
    names = ["no-scale", "wrong-divisor", "empty-row", "minus-1e9"]
    assert [list(line.values()) for line in chapter.table("exercise-3")] == [
        [name, str(FINDS[name][0]), "∞" if distance == math.inf else f"{distance:.4f}"]
        for name, distance in zip(names, off, strict=True)
    ]
    assert all(len(FINDS[name]) == 1 for name in names)
    assert [one for one in chapter.values("exercises") if "." in one][-2:] == ["2.5359", "3.6"]


def test_your_own_function(chapter: Page) -> None:
    """Without a scale the weights of the scores 0 and 2 ln 3 are 1/10 and 9/10: 3.6 in place of 3.
    The input that shows it is printed, and no other check fails."""
    title, name, query, *_ = chapter.output("own").split("\n")
    assert title == "Check 1 fails on this input:"
    assert name == "query ="
    assert query == f"[[{2 * math.log(3):.2f}, 0.00, 0.00, 0.00]]"
    first, *others = chapter.table("own")
    wanted = {"": "1 by_hand", "passed?": "✗", "off by": f"{abs(0.9 * 4 - 3):.4f}"}
    assert first == wanted
    assert [line["passed?"] for line in others] == ["✓"] * 5


ASKED = {  # by hand: of each field what is wanted, then the mistakes that it knows
    "exercise-fewer-checks": [[*FINDS.values()].count([1]), 3, 2],
    # both numbers of the answer, then those that are asked for
    "exercise-from-checks": [3.6, 4 * 3**0.5 / (1 + 3**0.5), 3.6, 4 * 3**0.5 / (1 + 3**0.5), 3.6],
}
test_what_exercises_ask = make_test_of_asked(ASKED)
