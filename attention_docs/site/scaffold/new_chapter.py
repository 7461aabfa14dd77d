"""Write a new chapter in all languages, small and passing.

python -m attention_docs.site.scaffold.new_chapter temperature [--title "Temperature"]
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

from attention_docs.site.read.settings import read_settings

TEMPLATES = Path(__file__).with_name("chapter")
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
GALLERY = "mistakes"
CELL = "M{x} {y}h3.6v3.6h-3.6z"
COMPARED = Path("tests", "test_write_it.py")
TABLE = re.compile(r"^TORCH: .*\{\n(?P<rows>.*?)^\}$", re.M | re.S)


class ScaffoldError(Exception):
    """Nothing was written; the message says what was wanted and what was got."""


def write_chapter(root: Path, name: str, title: str) -> list[Path]:
    """Write the files of a new chapter, list it where chapters are listed; return what changed."""
    _check_name(root, name)
    words = {"name": name, "title": title, "module": name.replace("-", "_")} | _glyph(name)
    written = read_settings(root).source_languages
    files = {
        f"docs/listings/{name}.py": "listing.py.template",
        f"tests/test_{name.replace('-', '_')}.py": "test.py.template",
        f"attention_docs/site/theme/.icons/chapter/{name}.svg": "glyph.svg.template",
    }
    for lang in written:
        own = lang if (TEMPLATES / f"page.{lang}.md.template").is_file() else written[0]
        files[f"docs/{lang}/{name}.md"] = f"page.{own}.md.template"
        if lang != written[0]:
            files[f"docs/listings/{name}.{lang}.toml"] = f"listing.{lang}.toml.template"
    texts = {root / path: _fill(template, words) for path, template in files.items()}
    for path in texts:
        if path.exists():
            raise ScaffoldError(f"{path.relative_to(root)} is there already")
    page = texts[root / f"docs/{written[0]}/{name}.md"]
    lists = [_list_in_navigation(root, name), *_list_in_readme(root, name, title, page)]
    lists += _list_in_torch(root, name, _fill("torch_row.py.template", words))
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return [*texts, *lists]


def _check_name(root: Path, name: str) -> None:
    if not NAME.fullmatch(name):
        raise ScaffoldError(f"NAME must be like temperature or low-rank, got {name!r}")
    if name.replace("-", "_") in sys.stdlib_module_names:
        raise ScaffoldError(f"NAME must not hide a module of the standard library, got {name!r}")
    if name in read_settings(root).order:
        raise ScaffoldError(f"the navigation has a page {name} already")


def _fill(template: str, words: Mapping[str, str]) -> str:
    path = TEMPLATES / template
    if not path.is_file():  # of a language without templates of its own
        return ""
    return Template(path.read_text(encoding="utf-8")).substitute(words)


def _glyph(name: str) -> dict[str, str]:
    """A small matrix of 16 squares, dark and light, that no other chapter is likely to have."""
    bits = int.from_bytes(hashlib.sha256(name.encode()).digest()[:2])
    cells: dict[str, str] = {"dark": "", "light": ""}
    for place in range(16):
        kind = "dark" if bits >> place & 1 else "light"
        cells[kind] += CELL.format(x=place % 4 * 4, y=place // 4 * 4)
    return cells


def _list_in_navigation(root: Path, name: str) -> Path:
    """Add the chapter after the last one but before the gallery, which gathers all chapters."""
    path = root / "mkdocs.yml"
    text = path.read_text(encoding="utf-8")
    listings = {file.stem for file in (root / "docs" / "listings").glob("*.py")} - {GALLERY}
    order = read_settings(root).order
    before = order[: order.index(GALLERY)] if GALLERY in order else order
    last = [slug for slug in before if slug in listings][-1]
    line = re.search(rf"^(?P<indent> *- ){re.escape(last)}\.md$", text, re.M)
    if line is None:
        raise ScaffoldError(f"mkdocs.yml must list {last}.md on a line of its own")
    entry = f"\n{line['indent']}{name}.md"
    path.write_text(text[: line.end()] + entry + text[line.end() :], encoding="utf-8")
    return path


def _list_in_readme(root: Path, name: str, title: str, page: str) -> list[Path]:
    """Add the chapter to the table of chapters, before the gallery, if the README has one."""
    path = root / "README.md"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    question = re.search(r"^question: (.*)$", page, re.M)
    row = re.search(rf"^\| \[.*\]\(docs/en/{GALLERY}\.md\) \|", text, re.M)
    if not (row and question):
        return []
    entry = f"| [{title}](docs/en/{name}.md) | {question[1]} |\n"
    path.write_text(text[: row.start()] + entry + text[row.start() :], encoding="utf-8")
    return [path]


def _list_in_torch(root: Path, name: str, row: str) -> list[Path]:
    """Add what PyTorch calls the same as the model answer, in alphabetical order, if asked for."""
    path = root / COMPARED
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if not (table := TABLE.search(text)):
        return []
    later = (
        one.start() for one in re.finditer(r'^    "([^"]+)":', table["rows"], re.M) if one[1] > name
    )
    place = table.start("rows") + next(later, len(table["rows"]))
    path.write_text(text[:place] + row + text[place:], encoding="utf-8")
    return [path]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 2 where nothing could be written."""
    parser = argparse.ArgumentParser(description=__doc__, prog="new_chapter")
    parser.add_argument("name")
    parser.add_argument("--title", default="")
    chosen = parser.parse_args(arguments)
    title = chosen.title or chosen.name.replace("-", " ").capitalize()
    root = Path.cwd()
    try:
        found = write_chapter(root, chosen.name, title)
    except ScaffoldError as error:
        print(error, file=sys.stderr)
        return 2
    for path in found:
        print(path.relative_to(root))
    return 0


if __name__ == "__main__":
    sys.exit(main())
