"""Every number in a sentence is asserted: changed on its page, it makes a test fail.

That it is the result of its expression the build sees to; only a test with a source of its own sees
that it is the right expression: `weights[0, 1]` where the sentence speaks of `weights[1, 0]`.

So a test that has read inline values and passed is called again with each of them changed, by one
in the last digit of one numeral. What a change came to goes with the test's report to the process
that collects them, which reports at the end which values no test asserts: `find_unasserted`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Value
from attention_docs.site.read.reader import read_page

NUMERAL = re.compile(r"\d+(?:[.,]\d+)*")
Change = tuple[str, str, str]  # the page's name, the id of the value, the text that it became


def list_changes(text: str) -> Iterator[str]:
    """The text with one numeral changed, each in turn; without a numeral, other words."""
    for found in NUMERAL.finditer(text):
        last = str((int(found[0][-1]) + 1) % 10)
        yield text[: found.end() - 1] + last + text[found.end() :]
    if not NUMERAL.search(text):
        yield f"not {text}"


def find_noticed_changes(
    test: Callable[[], object], asked: Iterable[tuple[Any, str]]
) -> list[Change]:
    """The changes of inline values that make a test fail, of the sections that it asked for."""
    found = []
    sections = {(page.source.slug, name): page for page, name in asked if page.source.lang == "en"}
    places = [
        (page, number) for (_, name), page in sections.items() for number in page.within(name)
    ]
    for page, number in places:
        whole = page.inline
        line, name, text = whole[number]
        for change in list_changes(text):
            page.inline = [*whole[:number], (line, name, change), *whole[number + 1 :]]
            try:
                test()
            except Exception:  # whatever says that something is wrong
                found.append((page.source.slug, name, change))
            finally:
                page.inline = whole
    return found


def find_unasserted(page: Any, found: Iterable[Change]) -> list[str]:
    """The inline values of a page that could be changed, or read by nobody, and no test failed."""
    known, source = {tuple(one) for one in found}, page.source
    faults = [
        (value, f"{text!r} became {change!r}, and no test failed")
        for (_, name, text), value in zip(page.inline, source.values, strict=True)
        for change in list_changes(text)
        if not value.is_site_count and (source.slug, name, change) not in known
    ]
    file = Path(__file__).with_name(Path(test_file(source.slug)).name)
    return in_words(source, faults, file.read_text("utf-8") if file.is_file() else "")


def in_words(page: Page, faults: Iterable[tuple[Value, str]], source: str = "") -> list[str]:
    """What is wrong with some values of a page and what to write, a text for each section.

    `source` is the page's file of tests, whose names the suggested tests must not take.
    """
    sections: dict[str, list[tuple[Value, str]]] = {}
    for value, message in faults:
        sections.setdefault(page.find_section(value.line), []).append((value, message))
    return [
        "\n".join(
            [
                *(f"{page.path}:{value.line}: {message}" for value, message in found),
                f"Extend {test_file(page.slug)}, for example:",
                "",
                *_example(page, section, dict.fromkeys(value for value, _ in found), source),
                "",
            ]
        )
        for section, found in sections.items()
    ]


def _example(page: Page, section: str, values: Iterable[Value], source: str) -> Iterator[str]:
    """The test to write for some values of a section."""
    (passage,) = (one for one in page.passages if one.id == section)
    inside = [one for one in page.values if passage.line < one.line <= passage.last_line]
    yield f"    def {_find_free_name('test_' + section.replace('-', '_'), source)}(page):"
    yield "        wanted = ...  # from a source of its own: by hand, mpmath, torch"
    for value in values:
        read = f'page("en", "{page.slug}").values("{section}")[{inside.index(value)}]'
        spec = f":{value.spec}" if value.spec else ""
        yield f'        assert {read} == f"{{wanted{spec}}}"'


def _find_free_name(name: str, source: str) -> str:
    """The name, with a number if a function of the source has it already."""
    taken = {*re.findall(r"^ *(?:async )?def (\w+)", source, re.M)}
    names = (name if number == 1 else f"{name}_{number}" for number in count(1))
    return next(one for one in names if one not in taken)


def test_file(slug: str) -> str:
    """Where the numbers of a page are asserted."""
    return f"tests/test_{slug.replace('-', '_')}.py"


def list_slugs(root: Path) -> list[str]:
    """The pages that hold inline values of their own blocks."""
    folder = root / "docs" / "en"
    pages = (read_page(path, root) for path in sorted(folder.rglob("*.md")))
    return [page.slug for page in pages if any(not value.is_site_count for value in page.values)]
