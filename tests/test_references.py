"""A work has one author and one year wherever it is named, and a symbol has one shape."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from attention_docs.site.read.page import Page
from attention_docs.site.read.reader import parse_page, read_page
from attention_docs.site.render import citations
from tests.conftest import LANGUAGES, ROOT, each_language

PAGES = sorted(path for lang in LANGUAGES for path in (ROOT / "docs" / lang).glob("*.md"))

# --- works

NAME = r"(?:[A-Z][\w'’-]+|bloc97)"
NAMES = rf"(?P<names>{NAME}(?:(?:, {NAME})* and {NAME}| et al\.| ?等)?)"
IN_DOCSTRING = re.compile(rf'{NAMES} (?P<year>(?:1[89]|20)\d\d)\b(?:, "(?P<title>[^"]+)")?')
IN_SENTENCE = re.compile(rf"{NAMES}人?(?:'s)?(?: ?[(（]|, )(?P<year>(?:1[89]|20)\d\d)[)）]")
LABEL = re.compile(r"(?P<names>.+?) ?[(（](?P<year>\d{4})[)）][,，] ?(?P<rest>.+)")
IN_LATIN = re.compile(r"[^（）]+（([^（）]+)）")
MORE = re.compile(r" et al\.$| ?等$")


@dataclass(frozen=True)
class Citation:
    """What somewhere is said of a work.

    Attributes:
        place: where.
        names: surnames of its authors; "" for one that is not written in Latin letters.
        more: whether there are others.
        year: when it came out.
        work: its address or title, "" where only the names tell.
    """

    place: str
    names: tuple[str, ...]
    more: bool
    year: str
    work: str

    def fits(self, other: Citation) -> bool:
        """Whether both can be said of one work."""
        pairs = [*zip(self.names, other.names, strict=False)]
        lengths = len(self.names), len(other.names)
        enough = lengths[0] == lengths[1] or (self.more if lengths[0] < lengths[1] else other.more)
        same = all(one == two or not one or not two for one, two in pairs)
        return self.year == other.year and enough and same

    def __str__(self) -> str:
        return f"{self.place}: {', '.join(self.names)}{' et al.' * self.more} {self.year}"


def surnames(names: str) -> tuple[tuple[str, ...], bool]:
    """The surnames in a list of authors, and whether it goes on."""
    alone = IN_LATIN.sub(r"\1", MORE.sub("", names))
    people = re.split(r", and |, | and |、| 与 | 和 ", alone)
    found = (person.split(" ")[-1] if re.search("[A-Za-z]", person) else "" for person in people)
    return tuple(found), bool(MORE.search(names))


def of_pages(paths: Iterable[Path], change: tuple[str, str] = ("", "")) -> Iterator[Citation]:
    """The works that pages list under their sources; a test changes what they say."""
    for path in paths:
        name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        changed = change[0] and change[0] in text
        page = (
            parse_page(Page(name, text.replace(*change)), ROOT)
            if changed
            else read_page(path, ROOT)
        )
        for item in citations.list_sources(page):
            for address, label, _ in citations.parse_works(citations.split_citation(item)[0]):
                if said := LABEL.match(label):
                    title = re.split("[,，]", said["rest"])[0]
                    work = address if address.startswith("http") else title
                    place = f"{name}:{page.find_line(item)}"
                    yield Citation(place, *surnames(said["names"]), said["year"], work)


def titles(paths: Iterable[Path]) -> dict[str, str]:
    """The works that pages list under their sources, by their titles in small letters."""
    found = {}
    for path in paths:
        for item in citations.list_sources(read_page(path, ROOT)):
            for address, label, _ in citations.parse_works(citations.split_citation(item)[0]):
                link = citations.LINK.search(label)
                if link or (said := LABEL.match(label)):
                    title = link["text"] if link else re.split("[,，]", said["rest"])[0]
                    found[title.lower()] = address if link else title
    return found


def of_docstrings(known: dict[str, str]) -> Iterator[Citation]:
    """The works that docstrings of the package name as their sources; `known` are titles."""
    for path in sorted((ROOT / "attention_docs").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if "/site/" in name:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                text = ast.get_docstring(node) or ""
                source = re.search(r"^Source:\n(.*?)(?:\n\n|\Z)", text, re.M | re.S)
                for said in IN_DOCSTRING.finditer(" ".join(source[1].split()) if source else ""):
                    title = (said["title"] or "").lower()
                    works = (work for one, work in known.items() if title and one.startswith(title))
                    work = next(works, title)
                    place = f"{name}:{node.lineno}"
                    yield Citation(place, *surnames(said["names"]), said["year"], work)


def of_sentences(paths: Iterable[Path]) -> Iterator[Citation]:
    """The works that sentences name by author and year."""
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
            if not line.startswith("- "):
                for said in IN_SENTENCE.finditer(line):
                    place = f"{path.relative_to(ROOT).as_posix()}:{number}"
                    yield Citation(place, *surnames(said["names"]), said["year"], "")


def conflicts(listed: list[Citation], named: list[Citation]) -> list[str]:
    """Citations that do not fit those of the same work, or any work with that author and year."""
    works = [*listed, *(one for one in named if one.work)]
    found = []
    for number, one in enumerate(works):
        same = (other for other in works[:number] if other.work == one.work)
        found += [f"{one}, but {other}" for other in same if not one.fits(other)][:1]
    for one in named:
        if not one.work and not any(one.fits(work) for work in works):
            found.append(f"{one}, which is the author and year of no work that is listed")
    return found


@pytest.fixture(scope="module")
def named() -> list[Citation]:
    return [*of_docstrings(titles(PAGES)), *of_sentences(PAGES)]


def test_a_work_has_one_author_and_one_year(named: list[Citation]) -> None:
    listed = [*of_pages(PAGES)]
    assert len(listed) > 250
    assert sum(bool(one.work) for one in named) > 60
    assert conflicts(listed, named) == []


@pytest.mark.parametrize(
    ("english", "chinese", "changed"),
    [
        ("Yejin Choi (2020)", "Yejin Choi（2020）", ("2020", "2018")),
        ("Lewis, Yann Dauphin", "Lewis、Yann Dauphin", ("Dauphin", "Weston")),
        ("Dao et al. (2022)", "Dao 等（2022）", ("Dao", "Rao")),
    ],
)
def test_another_year_or_author_is_seen(
    english: str, chinese: str, changed: tuple[str, str], named: list[Citation]
) -> None:
    """In both languages alike: what else names the work tells."""
    listed = []
    for lang, old in (("en", english), ("zh", chinese)):
        paths = [path for path in PAGES if f"/{lang}/" in str(path)]
        assert any(old in path.read_text(encoding="utf-8") for path in paths)
        listed += of_pages(paths, (old, old.replace(*changed)))
    described = conflicts(listed, named)
    assert described
    assert all(changed[0] in one and changed[1] in one for one in described)


# --- shapes

# Where a symbol of the notation is an argument or the result of a function, and what else its axes
# are called there. An axis that comes before those of the notation is one of heads or of a batch.
SIGNATURES: dict[str, tuple[str, str, dict[str, str]]] = {
    "Q": ("attention_function.attention", "query", {}),
    "K": ("attention_function.attention", "key", {}),
    "V": ("attention_function.attention", "value", {}),
    "O": ("attention_function.attention", "return 0", {}),
    "A": ("attention_function.attention", "return 1", {}),
    "S": ("score_functions.scaled_dot", "return", {}),
    r"\tilde S": ("masking.apply_mask", "return", {}),
    "W_Q": ("learning.self_attention_backward", "w_query", {}),
    "W_K": ("learning.self_attention_backward", "w_key", {}),
    "W_V": ("learning.self_attention_backward", "w_value", {}),
    "W_q": ("score_functions.additive", "W_q", {}),
    "W_k": ("score_functions.additive", "W_k", {}),
    "w": ("score_functions.additive", "w", {}),
    r"\hat Q": ("matrix_form.column_attention", "query", {}),
    "P": ("matrix_form.permutation_matrix", "return", {}),
    "J": ("softmax.softmax_jacobian", "return", {}),
    "R_s": ("positions.rotation", "return", {}),
    "W_{UK}": ("generation.latent_attention", "W_uk", {}),
    "W_{UV}": ("generation.latent_attention", "W_uv", {}),
    "W_1": ("transformer_block.feed_forward", "W_1", {}),
    "W_2": ("transformer_block.feed_forward", "W_2", {"d_out": "d_model"}),
    r"\gamma": ("transformer_block.layer_norm", "gamma", {"d": "d_model"}),
    r"\beta": ("transformer_block.layer_norm", "beta", {"d": "d_model"}),
    r"\Phi": ("in_pieces.linear_attention", "query", {"n_q": "n"}),
}


def signed(function: str, argument: str) -> list[str]:
    """The axes of an argument in a signature."""
    module, _, name = function.rpartition(".")
    found = getattr(importlib.import_module(f"attention_docs.{module}"), name)
    kind, _, number = argument.partition(" ")
    hint = get_type_hints(inspect.unwrap(found))[kind]
    if not hasattr(hint, "dim_str"):  # of a tuple, or of an argument that may be None
        hint = get_args(hint)[int(number or 0)]
    return list(hint.dim_str.replace("...", "").split())


def shapes(lang: str) -> dict[str, list[str]]:
    """The shapes that the notation gives to symbols, as lists of axes."""
    page = read_page(ROOT / "docs" / lang / "notation.md", ROOT)
    found = {}
    for symbol, shape, *_ in (cells for cells in page.rows() if len(cells) == 4):
        plain = re.sub(r"\\text\{(\w+)\}", r"\1", shape.strip("$"))
        found[symbol.strip("$")] = plain.split(r" \times ")
    return found


@each_language
@pytest.mark.parametrize("symbol", SIGNATURES)
def test_a_shape_of_the_notation_is_that_of_the_signature(symbol: str, lang: str) -> None:
    function, argument, names = SIGNATURES[symbol]
    wanted = [names.get(axis, axis) for axis in signed(function, argument)]
    got = shapes(lang)[symbol]
    place = f"docs/{lang}/notation.md: ${symbol}$"
    assert got == wanted[-len(got) :], f"{place}: wanted {wanted} as in {function}, got {got}"
