"""Which exercises the page judges, by chapter and kind: `python -m tests.judged` prints a table.
No proof is judged: the last column counts the questions about proofs.

`python -m tests.judged --browser FOLDER` types all answers to the exercises that ask for a function
into the pages of a built site, in all languages, and prints what their verdicts are.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from attention_docs.site.read.page import Page
from attention_docs.site.read.passage import Passage
from attention_docs.site.read.pieces import Box
from attention_docs.site.read.reader import read_page

ROOT = Path(__file__).parents[1]
COLUMNS = ("pencil", "predict", "bug", "proof", "write", "all", "question")


def list_exercises(page: Page) -> Iterator[tuple[Passage, str, bool]]:
    """The exercises of a page, each with its kind and whether the page asks for an answer."""
    asks = [one.line for one in page.pieces if isinstance(one, Box) and one.kind == "asks"]
    for one in page.passages:
        if one.kind == "exercise":
            kind = dict(one.options)["kind"]
            asked = any(one.line < line < one.last_line for line in asks)
            yield one, kind, asked or kind == "write"


def count_hints(page: Page, exercise: Passage) -> int:
    """How many hints an exercise has."""
    hints = [one.line for one in page.pieces if isinstance(one, Box) and one.kind == "hint"]
    return sum(exercise.line < line < exercise.last_line for line in hints)


def read_chapters() -> Iterator[Page]:
    """The English pages that have exercises."""
    for path in sorted((ROOT / "docs" / "en").glob("*.md")):
        page = read_page(path, ROOT)
        if any(one.kind == "exercise" for one in page.passages):
            yield page


def main() -> None:
    """Print a row for each chapter: of each kind, how many are judged, of how many."""
    print(f"{'':20}" + "".join(f"{kind:>12}" for kind in COLUMNS))
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for page in read_chapters():
        row: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for _, kind, asked in list_exercises(page):
            judged = asked and kind != "proof"  # a question about a proof does not judge it
            cells = {kind: judged, "all": judged} | ({"question": asked} if kind == "proof" else {})
            for counted in (row, sums):
                for column, holds in cells.items():
                    counted[column][0] += holds
                    counted[column][1] += 1
        print(_format_row(page.slug, row))
    print(_format_row("all", sums))


def _format_row(name: str, row: dict[str, list[int]]) -> str:
    cells = (f"{row[kind][0]} of {row[kind][1]}" if row[kind][1] else "" for kind in COLUMNS)
    return f"{name:20}" + "".join(f"{cell:>12}" for cell in cells)


def judge_written(site: Path) -> bool:
    """Print how many answers to written exercises get their verdict, and every other; if all do."""
    from tests.conftest import BUILT, launch, serve
    from tests.test_live_pages import keep_python
    from tests.written import judge_page, list_written

    good = True
    print(f"{'':20}{'accepted':>12}{'rejected':>12}{'seconds':>12}")
    with serve(site) as address, launch() as browser, keep_python(browser, address) as keeper:
        for lang in BUILT:
            begun, counted = perf_counter(), {"answer": [0, 0], "mistake": [0, 0]}
            for slug in list_written(site):
                print(f"{lang}/{slug}", file=sys.stderr, flush=True)
                for kind, fault in judge_page(keeper, site, slug, lang):
                    counted[kind][0] += not fault
                    counted[kind][1] += 1
                    if fault:
                        print(f"{lang}/{slug}: {fault}", flush=True)
            good &= all(right == number for right, number in counted.values())
            cells = [f"{right} of {number}" for right, number in counted.values()]
            cells.append(f"{perf_counter() - begun:.0f}")
            print(f"{lang:20}" + "".join(f"{cell:>12}" for cell in cells), flush=True)
    return good


if __name__ == "__main__":
    if sys.argv[1:2] == ["--browser"]:
        sys.exit(not judge_written(Path(sys.argv[2])))
    main()
