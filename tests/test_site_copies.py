"""Copies to take away: they hold what the pages hold, and they work on their own."""

from __future__ import annotations

import ast
import dis
import json
import math
import posixpath
import re
import subprocess
import sys
import types
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import lxml.html
import nbformat
import pytest

from attention_docs.colours import write_plainly
from attention_docs.locales import read_locale
from attention_docs.site.read.reader import read_page
from tests.conftest import (
    ADDRESSES,
    BUILT,
    LANGUAGES,
    PARTIAL,
    ROOT,
    SETTINGS,
    SLUGS,
    find_page_folder,
    parse_html,
    read_project,
)
from tests.fixture_project import FixtureProject
from tests.page import Page

LISTINGS = [
    path
    for path in sorted((ROOT / "docs" / "listings").glob("*.py"))
    if (ROOT / "docs" / "en" / f"{path.stem}.md").is_file()
]
CHAPTERS = [path.stem for path in LISTINGS]

# A link to a chapter, which has its number and address on a page alone.
LINKED = re.compile(r'<a [^>]*class="chapter">(<text[^>]*>)[^<]*</text></a>')

# Runs cells as a kernel does: one namespace; the value of a last expression is the cell's result.
KERNEL = """
import ast, contextlib, io, json, sys
from attention_docs.colours import write_plainly
space, done = {"__name__": "__main__"}, []
for code in json.load(sys.stdin):
    tree, printed, value = ast.parse(code), io.StringIO(), None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<cell>", "exec"), space)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), space)
    drawn = write_plainly(value.svg(sys.argv[1])) if hasattr(value, "svg") else ""
    done.append([printed.getvalue(), drawn])
json.dump(done, sys.stdout)
"""


def run_cells(codes: list[str], lang: str) -> list[list[str]]:
    """What each cell prints and draws."""
    run = subprocess.run(
        [sys.executable, "-c", KERNEL, lang],
        input=json.dumps(codes),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    done: list[list[str]] = json.loads(run.stdout)
    return done


NOTEBOOKS = [one for one in CHAPTERS if one not in ("class", "inventory")]
"""The pages with a notebook: that of the inventory would hold what is right."""
ASKING = [one for one in NOTEBOOKS if one not in ("index", "next-word")]
"""The chapters that end with exercises."""


def notebook(site: Path, lang: str, slug: str) -> dict[str, Any]:
    """The notebook that holds the whole page."""
    name = f"{slug}-answers" if slug in ASKING else slug
    return read_notebook(site, lang, name)


def read_notebook(site: Path, lang: str, name: str) -> dict[str, Any]:
    path = site / "notebooks" / lang / f"{name}.ipynb"
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def code_cells(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in document["cells"] if cell["cell_type"] == "code"]


def find_code(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def read_printed(cell: dict[str, Any]) -> str:
    return "".join("".join(o["text"]) for o in cell["outputs"] if o["output_type"] == "stream")


def read_drawn(cell: dict[str, Any]) -> str:
    data = [o["data"] for o in cell["outputs"] if o["output_type"] == "execute_result"]
    return "".join(data[0][find_kind(data[0])]) if data else ""


def find_kind(data: dict[str, Any]) -> str:
    """A drawing is SVG; a stepper or a slider is HTML."""
    return "image/svg+xml" if "image/svg+xml" in data else "text/html"


@pytest.mark.parametrize("slug", NOTEBOOKS)
def test_notebooks_hold_the_code_of_the_page_and_what_it_gave(
    slug: str, site: Path, page: Callable[[str, str], Page]
) -> None:
    """That this code is the page's, from top to bottom, is shown in test_pages."""
    for lang in LANGUAGES:
        blocks = read_page(ROOT / "docs" / lang / f"{slug}.md", ROOT).blocks
        cells = code_cells(notebook(site, lang, slug))
        assert [*map(find_code, cells)] == [b.displayed_code.strip("\n") for b in blocks]
        assert [cell["id"] for cell in cells] == [f"code-{block.id}"[:64] for block in blocks]
        path = find_page_folder(site, lang, slug) / "index.html"
        html = LINKED.sub(r"\1", write_plainly(path.read_text(encoding="utf-8")))
        shown = {f"out-{b.id}": c for b, c in zip(blocks, cells, strict=True) if c["outputs"]}
        texts = {name: read_printed(cell).rstrip("\n") for name, cell in shown.items()}
        assert texts == page(lang, slug).outputs
        drawn = [LINKED.sub(r"\1", read_drawn(cell)) for cell in shown.values()]
        drawings = [framed(one) for one in drawn if one]
        assert all(drawing in html for drawing in drawings)
        assert len(re.findall(r'<div class="(?:drawing|table-frame)">', html)) == len(drawings)


def framed(drawing: str) -> str:
    """A drawing or a table as it stands on a page."""
    kind = "table-frame" if drawing.startswith("<table") else "drawing"
    return f'<div class="{kind}">{drawing}</div>'


class WithoutStrings(ast.NodeTransformer):
    """Code in which strings say nothing; the places of an f-string have no order."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        """A string, or a docstring, without its text."""
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Tuple:
        """What stands in the places with its formats, and no text."""
        places = [piece for piece in node.values if isinstance(piece, ast.FormattedValue)]
        for place in places:
            place.value = self.visit(place.value)
        return ast.Tuple(sorted(places, key=ast.dump), ast.Load())


def statements(code: str) -> str:
    """What some code does, whatever language its strings are in."""
    return ast.dump(WithoutStrings().visit(ast.parse(code)))


@pytest.mark.parametrize("slug", NOTEBOOKS)
def test_notebooks_of_all_languages_hold_the_same_statements(slug: str, site: Path) -> None:
    """Strings and comments are translated, and nothing else."""
    codes = {lang: [*map(find_code, code_cells(notebook(site, lang, slug)))] for lang in BUILT}
    assert len(codes["en"]) > 0
    for lang, cells in codes.items():
        for ours, english in zip(cells, codes["en"], strict=True):
            assert statements(ours) == statements(english), (lang, ours)


def test_statements_differ_where_more_than_a_string_does() -> None:
    code = statements('x = {"a": f"{b:.2f} of {c}"}  # first')
    assert statements('x = {"甲": f"{c}里的 {b:.2f}"}  # 第一') == code
    assert statements('x = {"a": f"{b:.2f} of {d}"}') != code
    assert statements('x = {"a": f"{b:.3f} of {c}"}') != code
    assert statements('x = ["a", f"{b:.2f} of {c}"]') != code


TRAIN = {"language-model", "learning"}  # they take long
# The other chapters run in a browser, byte for byte, with the same cells: test_live_pages.py. A
# browser has no torch.
WITH_TORCH = {path.stem for path in LISTINGS if re.search("^import torch", path.read_text(), re.M)}
RUN = [("en", "eight-steps"), ("en", "index")]
RUN += [(lang, slug) for lang in LANGUAGES[1:] for slug in sorted(WITH_TORCH - TRAIN)]


@pytest.mark.parametrize(("lang", "slug"), RUN)
def test_a_notebook_runs_as_a_kernel_runs_it(slug: str, lang: str, site: Path) -> None:
    """English code ran for the page; translated code has not run before."""
    cells = code_cells(notebook(site, lang, slug))
    done = run_cells([find_code(cell) for cell in cells], lang)
    for cell, (text, figure) in zip(cells, done, strict=True):
        assert read_printed(cell).rstrip("\n") == text.rstrip("\n"), cell["id"]
        assert read_drawn(cell) == figure, cell["id"]


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("slug", NOTEBOOKS)
def test_notebooks_have_the_form_of_nbformat(lang: str, slug: str, site: Path) -> None:
    document = notebook(site, lang, slug)
    nbformat.validate(document, version=4, version_minor=5)
    ids = [cell["id"] for cell in document["cells"]]
    assert len(set(ids)) == len(ids)
    cells = code_cells(document)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    for output in (one for cell in cells for one in cell["outputs"] if "data" in one):
        drawn = output["data"].get("image/svg+xml")  # on its own it needs its namespace
        assert not drawn or 'xmlns="http://www.w3.org/2000/svg"' in drawn[0]


# --- notebooks without answers


def list_answers(lang: str, slug: str) -> list[str]:
    """The boxes of answers in a page's source, cut without the package's own reader."""
    source = (ROOT / "docs" / lang / f"{slug}.md").read_text(encoding="utf-8")
    return re.findall(r"^/// answer\n(.*?)^///\n", source, re.S | re.M)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("slug", ASKING)
def test_a_notebook_without_answers_holds_none(lang: str, slug: str, site: Path) -> None:
    """Neither the sentences of an answer, nor the sign at what is right, nor why it is wrong."""
    prose = read_prose(read_notebook(site, lang, slug))
    whole = read_prose(notebook(site, lang, slug))
    answers = list_answers(lang, slug)
    lines = [line for one in answers for line in re.sub(r"(?ms)^```.*?^```", "", one).split("\n")]
    marked = re.compile(r"\{\{|\]\(|^\\|\$\$")  # written otherwise in a copy; ends of formulas
    plain = [line for line in lines if len(line) > 12 and not marked.search(line)]
    assert len(answers) >= 3
    assert len([line for line in plain if line in whole]) >= 2
    assert not [line for line in plain if line in prose]
    assert "[x]" in whole
    assert not re.search(r"^ *- \[[x a-w:-]+\]", prose, re.M)
    reasons = re.findall(r"^ *- \[ \] .*? — ([^\n{]{6,})$", whole, re.M)
    assert reasons
    assert not [one for one in reasons if one in prose]
    heading = {"en": "# Check your answer", "zh": "# 检查你的答案"}[lang]
    assert heading in whole
    assert heading not in prose  # nothing in a notebook checks it
    assert prose.count("________") == whole.count("________") + count_fields(lang, slug)


@pytest.mark.parametrize("lang", BUILT)
def test_no_notebook_holds_the_key_of_the_inventory(lang: str, site: Path) -> None:
    for name in ("inventory", "class"):
        assert not (site / "notebooks" / lang / f"{name}.ipynb").exists()


def count_fields(lang: str, slug: str) -> int:
    """The items of the lists `asks` that hold a value."""
    source = (ROOT / "docs" / lang / f"{slug}.md").read_text(encoding="utf-8")
    lists = re.findall(r"^/// asks\n(.*?)^///\n", source, re.S | re.M)
    return sum(len(re.findall(r"^- .*\{\{", one, re.M)) for one in lists)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("slug", ASKING)
def test_hints_stand_at_the_end_of_a_notebook_without_answers(
    lang: str, slug: str, site: Path
) -> None:
    source = (ROOT / "docs" / lang / f"{slug}.md").read_text(encoding="utf-8")
    hints = re.findall(r"^/// hint\n(.*?)^///\n", source, re.S | re.M)
    prose = read_prose(read_notebook(site, lang, slug))
    before, _, after = prose.partition('<a id="hints"></a>')
    firsts = [text.strip().split("\n")[0] for text in hints]
    firsts = [text for text in firsts if not re.search(r"\{\{|\]\(", text)]
    assert firsts or slug == "mistakes"
    assert all(text in after for text in firsts)
    assert not [text for text in firsts if len(text) > 30 and text in before]


WRITTEN = [slug for slug in ASKING if slug != "mistakes"]
TASK = ("code-writing", "code-writing-answer", "code-writing-checks")


@pytest.mark.parametrize("slug", ASKING)
def test_a_notebook_without_answers_needs_none_of_them(slug: str, site: Path) -> None:
    """No cell takes a name that only an answer sets; one that is packed is not shown."""
    asked = {cell["id"]: find_code(cell) for cell in code_cells(read_notebook(site, "en", slug))}
    whole = {cell["id"]: find_code(cell) for cell in code_cells(notebook(site, "en", slug))}
    left_out = whole.keys() - asked.keys()
    assert len(left_out) >= 1
    bound = {name for code in asked.values() for name in list_names(code, *SETS)}
    only = {n for one in left_out for n in list_names(whole[one], *SETS)} - bound
    assert only
    assert not [n for code in asked.values() for n in list_names(code, *TAKES) if n in only]
    assert all(asked[name] == whole[name] for name in asked.keys() - {*TASK})


def list_names(code: str, *does: str) -> set[str]:
    """The names that code takes from its page, or sets there."""
    pending, found = [compile(code, "<cell>", "exec")], set()
    while pending:
        one = pending.pop()
        pending += [inner for inner in one.co_consts if isinstance(inner, types.CodeType)]
        found |= {step.argval for step in dis.get_instructions(one) if step.opname in does}
    return found


TAKES, SETS = ("LOAD_NAME", "LOAD_GLOBAL"), ("STORE_NAME", "STORE_GLOBAL")


@pytest.mark.parametrize("slug", WRITTEN)
def test_a_notebook_without_answers_judges(slug: str, site: Path) -> None:
    """As it stands the judge sees a mistake; with the model answer it sees that it is right."""
    cells = code_cells(notebook(site, "en", slug))
    whole = {cell["id"]: find_code(cell) for cell in cells}
    asked = {cell["id"]: find_code(cell) for cell in code_cells(read_notebook(site, "en", slug))}
    start, answer, judging = (asked[name] for name in TASK)
    model = whole[TASK[1]]
    assert model not in f"{start}{answer}{judging}"
    assert "b64decode" in answer
    assert "Task(" not in judging
    functions = [n for n in ast.parse(model).body if isinstance(n, ast.FunctionDef)]
    (written,) = (n.name for n in ast.parse(start).body if isinstance(n, ast.FunctionDef))
    called = functions[-1].name
    before = find_needed([find_code(cell) for cell in cells], whole[TASK[2]], model, start)
    show = f"print(repr({ast.unparse(ast.parse(judging).body[-1])}))"
    solved = re.sub(rf"\b{called}\b", written, model)
    done = run_cells([*before, start, answer, judging, show, solved, show], "en")
    *_, quiet, first, _, last = (text for text, _ in done)
    assert not quiet
    assert "✗" in first
    assert "✓" in last


BY_HAND = {
    "eight-steps": """def your_attention(Q, K, V):
    rows = np.array([[np.exp(sum(a * b for a, b in zip(q, k))) for k in K] for q in Q])
    return rows @ V / rows.sum(axis=1, keepdims=True)""",
    "softmax": """def your_softmax(scores):
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)""",
    "masking": """def your_mask(n):
    return np.array([[key <= query for key in range(n)] for query in range(n)])""",
    "multi-head": """def your_heads(x, h):
    width = len(x[0]) // h
    return np.array([[row[i * width : (i + 1) * width] for row in x] for i in range(h)])""",
}
"""The functions of the lab, written here."""


@pytest.mark.parametrize("lang", BUILT)
def test_the_lab_is_one_notebook_that_judges(lang: str, site: Path) -> None:
    """It runs from top to bottom; each judge sees what is not written yet, and what is right."""
    document = read_notebook(site, lang, "lab")
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"])
    codes = {cell["id"]: find_code(cell) for cell in code_cells(document)}
    starts = [name.removesuffix("-code-writing") for name in codes if name.endswith("-writing")]
    assert starts == [*BY_HAND]
    needed = "\n".join(code for name, code in codes.items() if name.endswith("-needed"))
    assert {*re.findall(r"import (\w+)", needed)} == {"numpy", "softmax"}  # nothing of chapters
    anchors = re.findall(r'<a id="([^"]+)', read_prose(document))
    assert len({*anchors}) == len(anchors) >= len(BY_HAND)
    solved = {f"{slug}-code-writing": code for slug, code in BY_HAND.items()}
    for cells, sign in ((codes, "✗"), (codes | solved, "✓")):
        done = run_cells([show_last(code) for code in cells.values()], "en")
        printed = dict(zip(cells, (text for text, _ in done), strict=True))
        verdicts = [printed[f"{slug}-code-writing-checks"] for slug in BY_HAND]
        assert all(sign in one for one in verdicts), verdicts
    prose = read_prose(document)
    assert prose.index(BY_HAND_HINTS[lang]) > prose.rindex("your_heads")


BY_HAND_HINTS = {"en": "## Hints", "zh": "## 提示", "zh-hant": "## 提示"}


def show_last(code: str) -> str:
    """Code that prints what its last line gives, if that is the call of a judge."""
    last = code.rstrip().rpartition("\n")[2]
    return f"{code}\nprint(repr({last}))" if last.startswith("judge(") else code


def find_needed(codes: list[str], *last: str) -> list[str]:
    """The cells that others need, in their order, however far that goes."""
    wanted = {name for code in last for name in list_names(code, *TAKES)}
    found = []
    for code in reversed(codes[: codes.index(last[-1])]):
        if wanted & list_names(code, *SETS):
            found.append(code)
            wanted |= list_names(code, *TAKES)
    return found[::-1]


def read_prose(document: dict[str, Any]) -> str:
    cells = (c for c in document["cells"] if c["cell_type"] == "markdown")
    return "\n\n".join("".join(cell["source"]) for cell in cells)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("slug", SLUGS)
def test_copies_hold_all_of_the_page(
    lang: str, slug: str, site: Path, page: Callable[[str, str], Page]
) -> None:
    source = read_project().pages[lang][slug].text
    copy = (find_page_folder(site, lang, slug) / "index.html.md").read_text(encoding="utf-8")
    texts = [copy]
    if slug in NOTEBOOKS:
        texts.append(read_prose(notebook(site, lang, slug)))
    tree = parse_html(find_page_folder(site, lang, slug) / "index.html")
    values = tree.findall(".//article//span[@class='value']")
    values.sort(key=lambda one: int(one.get("id").removeprefix("value-")))
    for text in texts:
        position = 0
        for value in values:  # in the order of the Markdown
            assert not re.search(r"(?<![\w)\]])-[\d.]", value.text_content())  # a minus sign
            printed = value.text_content().replace("−", "-").replace("∞", "inf")
            position = text.index(printed, position)
        anchors = re.findall(r'<a id="([\w-]+)"></a>', text)
        assert set(re.findall(r"^##+ .* \{ #([\w-]+) \}$", source, re.M)) <= set(anchors)
        outside = re.sub(r"^(`{3,}).*?^\1$|`[^`\n]*`", "", text, flags=re.S | re.M)
        assert not re.search(
            r"\{\{ |--8<--|^\?\?\?|^!!!|\{ [.#]|^:::|[\ue000\ue001]", outside, re.M
        )
        assert outside.count("$$") % 2 == 0
        titles = re.findall(r'^ *(?:\?{3}|!{3}) \w+ "(.*)"$', source, re.M)
        assert all(title in text for title in titles)
    for frame in tree.iterfind(".//article//div[@class='output']"):
        assert page(lang, slug).output(frame.get("id")[4:]) in copy
        for drawing in frame.iterfind(".//svg[@aria-label]"):
            assert all(one in copy for one in split_label(drawing.get("aria-label"), lang))


def split_label(label: str, lang: str) -> list[str]:
    """What a screen reader says of a drawing, without the ends of a matrix: a copy has it whole."""
    ends = read_locale(lang)["figures"]["heatmaps"]["ends"]
    pattern = re.sub(r"\\\{\w+\\\}", ".*?", re.escape(ends))
    return [part.strip() for part in re.split(pattern, label)]


def test_links_of_the_copies_lead_somewhere(site: Path) -> None:
    copies = [*site.rglob("*.html.md"), *site.rglob("*.ipynb"), site / "llms.txt"]
    whole = [path for path in copies if not {*PARTIAL} & {*path.relative_to(site).parts}]
    assert len(whole) == len(BUILT) * (len(SLUGS) + len(NOTEBOOKS) + len(ASKING) + 1) + 1  # the lab
    for path in copies:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            text = read_prose(json.loads(text))
        text = re.sub(r"(?ms)^```.*?^```$|\$[^$]*\$|`[^`\n]*`", "", text)
        for link in re.findall(r'\]\(([^)\s]+)\)|href="([^"]+)"', text):
            target, _, anchor = (link[0] or link[1]).partition("#")
            if target.startswith("http"):
                continue
            other = path.parent / target.partition("?")[0] if target else path
            assert other.is_file(), (path, target)
            if anchor and other.suffix == ".md":
                assert f'<a id="{anchor}"></a>' in other.read_text(encoding="utf-8"), (path, link)


def test_llms_txt_lists_every_page_in_all_languages(site: Path) -> None:
    title, _, summary, *rest = (site / "llms.txt").read_text(encoding="utf-8").split("\n")
    assert re.fullmatch("# .+", title)
    assert re.fullmatch("> .+", summary)
    found: dict[str, list[str]] = {}
    for line in rest:
        if line.startswith("## "):
            found[line[3:]] = []
        elif line.startswith("- "):
            match = re.fullmatch(r"- \[.+\]\((.+)\): .+", line)
            assert match, line
            found[list(found)[-1]].append(match[1].removeprefix(ADDRESSES["SITE_URL"]))
    assert list(found) == ["English", "简体中文", "繁體中文"]
    for lang, links in zip(BUILT, found.values(), strict=True):
        wanted = {
            find_page_folder(site, lang, slug).relative_to(site) / "index.html.md" for slug in SLUGS
        }
        assert {Path(link) for link in links} == wanted
        assert len(links) == len(wanted)


ASKED = "//*[@class='exercise' or @class='guess' or @class='recall-note']"


@pytest.mark.parametrize(("lang", "words"), [("en", "Take it with you"), ("zh", "带走本页")])
def test_every_page_offers_its_copies(lang: str, words: str, site: Path) -> None:
    for slug in SLUGS:
        tree = parse_html(find_page_folder(site, lang, slug) / "index.html")
        (line,) = tree.iterfind(".//article//p[@class='takeaway']")
        assert line.text_content().startswith(words)
        links = [link.get("href") for link in line.iter("a")]
        ends = [Path(link).name for link in links]
        chapter = [f"{slug}.ipynb"] if slug in NOTEBOOKS else []
        chapter += [f"{slug}.py"] if slug in CHAPTERS else []
        if slug in ASKING:
            chapter.insert(1, f"{slug}-answers.ipynb")
        bank = [f"{slug}.xml"] if tree.xpath(ASKED) else []
        home = ["attention-docs.zip"] if slug == "index" else []
        book = [Path(link).name for link in links if link.endswith(".epub")]
        assert bool(book) == (slug in SETTINGS.navigation.chapters)
        paper = ["answers", "exercises"] if tree.xpath("//*[@class='exercise']") else []
        paper = [f"?print={kind}" for kind in paper]
        paper += ["?slides"] if slug in CHAPTERS else []
        assert ends == [*chapter, "index.html.md", *bank, *book, *home, *paper]
        folder = find_page_folder(site, lang, slug)
        assert all((folder / link).is_file() for link in links if link not in paper)


class Links:
    """The links and ids of a page. Full addresses are left out: they stand for search engines."""

    def __init__(self, content: bytes) -> None:
        page = lxml.html.document_fromstring(content.decode())
        self.ids = set(page.xpath("//@id"))
        links = page.xpath("//@href | //@src")
        self.links = [link for link in links if link and not re.match(r"[a-z]+:", link)]


def check_zip(path: Path) -> set[str]:
    """Every link within the zip names a file in it; the names of its files."""
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        pages = {n: Links(archive.read(n)) for n in names if n.endswith(".html")}
    assert len(pages) >= 4
    for name, page in pages.items():
        for link in page.links:
            target, _, anchor = link.partition("#")
            target = target.partition("?")[0]
            goal = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(target)))
            goal = goal if target else name
            assert not target.startswith("/"), (name, link)
            assert goal in names, (name, link)
            if anchor and goal == name:
                assert unquote(anchor) in page.ids, (name, link)
    assert len({name.split("/")[0] for name in names}) == 1  # it unpacks into one folder
    rest = [name for name in names if "/live/" not in name]  # Python for the browser has archives
    rest = [name for name in rest if not name.endswith("/qti.zip")]
    assert not any(name.endswith((".zip", ".map", "404.html")) for name in rest)
    return {name.partition("/")[2] for name in names}


def test_zip_opens_from_disk(site: Path) -> None:
    names = check_zip(site / "attention-docs.zip")
    for lang in LANGUAGES:
        for slug in SLUGS:
            assert (find_page_folder(site, lang, slug) / "index.html").relative_to(
                site
            ).as_posix() in names
        assert {f"notebooks/{lang}/{slug}.ipynb" for slug in NOTEBOOKS} <= names


@pytest.mark.parametrize("address", ["", "https://example.org/attention/"])
def test_zip_of_a_site_with_and_without_an_address(project: FixtureProject, address: str) -> None:
    project.document("attention_docs.softmax")  # origins link to it
    project.edit("mkdocs.yml", "  - weights.md", "  - weights.md\n  - api/softmax.md")
    done = project.build(SITE_URL=address)
    assert done.returncode == 0, done.stderr
    check_zip(project.root / "site" / "attention-docs.zip")


def test_links_to_the_web_where_there_is_an_address(project: FixtureProject) -> None:
    for lang in LANGUAGES:
        project.edit(f"docs/{lang}/weights.md", "The first", "[Home](index.md#index): the first")
    project.stamp()
    done = project.build(SITE_URL="https://example.org/a/", REPO_URL="https://example.org/r")
    assert done.returncode == 0, done.stderr
    text = read_prose(notebook(project.root / "site", "zh", "weights"))
    assert "[Weights](https://example.org/a/zh/weights/)" in text
    assert "[Home](https://example.org/a/zh/#index): the first" in text
    assert 'pip install "attention-docs @ git+https://example.org/r"' in text


BOXES = """
//// exercise | A question
    id: asked
    stars: 1
    kind: pencil

Asked, with a fence:

```text
/// hint
```

/// answer

Answered.

```python exec="1"
--8<-- "weights.py:answer"
```

More. `{{ not a value }}` and `[no](link.md)`.
///
////

!!! note "A note"

    Noted.

After.

## Last { #last }
"""

WANTED = """<a id="asked"></a>

### 练习 1.1 A question

Asked, with a fence:

```text
/// hint
```

#### 答案

Answered.

```python
answer = 6 * 7
print(answer)
```

```text
42
```

More. `{{ not a value }}` and `[no](link.md)`.

**A note**

Noted.

After.

<a id="last"></a>

## Last
"""


def test_plain_markdown_of_boxes(project: FixtureProject) -> None:
    listing = project.read("docs/listings/weights.py")
    section = "\n# --8<-- [start:answer]\nanswer = 6 * 7\nprint(answer)\n# --8<-- [end:answer]\n"
    project.write("docs/listings/weights.py", listing + section)
    for lang in LANGUAGES:
        path = f"docs/{lang}/weights.md"
        project.write(path, project.read(path) + BOXES)
    project.stamp()
    done = project.build()
    assert done.returncode == 0, done.stderr
    assert WANTED in project.read("site/zh/weights/index.html.md")


@pytest.mark.long
def test_a_script_shows_its_tables_and_pictures_when_it_is_run_as_a_page() -> None:
    """One key leads by 4 among 1,024: its weight is e⁴ over e⁴ + 1,023."""
    listing = ROOT / "docs" / "listings" / "softmax.py"
    command = [sys.executable, "-m", "attention_docs.running", str(listing)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (line,) = re.findall("^τ = 1, Δ = 4, n = 1,024: .*$", done.stdout, re.M)
    leading = math.exp(4) / (math.exp(4) + 1023)
    assert f"{leading:.4f} for the key that leads" in line
    assert "0.0507" in line
