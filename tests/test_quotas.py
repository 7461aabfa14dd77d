"""Every chapter of the navigation has what tests/quotas.py asks for; each lack is said in words."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from attention_docs.site.read.page import Page
from attention_docs.site.read.reader import read_page
from attention_docs.site.render.cards import GLYPHS
from tests.conftest import ROOT, SETTINGS
from tests.quotas import find_glyph_faults, find_missing

NO_CHAPTERS = {"index", "mistakes"}  # they have listings as well
CHAPTERS = sorted({path.stem for path in (ROOT / "docs/listings").glob("*.py")} - NO_CHAPTERS)


@pytest.mark.parametrize("slug", CHAPTERS)
def test_a_chapter_has_what_every_chapter_has(slug: str) -> None:
    """One that the navigation does not list yet is only told."""
    page = read_page(ROOT / "docs" / "en" / f"{slug}.md", ROOT)
    if found := find_missing(page):
        described = "\n  ".join([f"{page.path} is not a chapter yet:", *found])
        if slug in SETTINGS.order:
            pytest.fail(described, pytrace=False)
        warnings.warn(described, stacklevel=1)


def test_the_gallery_has_a_glyph_too() -> None:
    assert not [*find_glyph_faults("mistakes", GLYPHS)]


LISTING = '''"""A toy."""

# --8<-- [start:setup]
import numpy as np
# --8<-- [end:setup]

# --8<-- [start:figure]
slider("s", [])
# --8<-- [end:figure]

# --8<-- [start:writing]
begun = 1
# --8<-- [end:writing]

# --8<-- [start:writing-answer]
answer = 2
# --8<-- [end:writing-answer]

# --8<-- [start:writing-checks]
judged = begun == answer
# --8<-- [end:writing-checks]
'''
HINT = """/// hint
Look.
///

"""
ASKS = """/// asks
- Which?
    - [x] this
    - [ ] that
///
"""
EXERCISE = f"""//// exercise | Task {{n}}
    id: exercise-{{n}}
    stars: {{stars}}
    kind: pencil

Do it.

{HINT}{HINT}/// answer
Done.
///

{ASKS}////

"""
RESULT = """/// result | Claim {n}
    id: result-{n}
    relation: "="
    proof: toy
    check: figure
    test: test_toy

$a = b$.
///

"""
SETUP, FIGURE, BEGUN, ANSWER, CHECKS = (
    f'```python exec="1"\n--8<-- "toy.py:{name}"\n```\n\n'
    for name in ("setup", "figure", "writing", "writing-answer", "writing-checks")
)
WRITE = f"""//// exercise | Write it
    id: exercise-write
    stars: 2
    kind: write

{BEGUN}{HINT}{HINT}/// answer
{ANSWER}///

{CHECKS}////

"""
GUESS = """/// guess | Up or down?
    id: guess-toy

- [x] up
- [ ] down

It grows.
///

"""
CARD = """/// recall | What is {n}?
    id: recall-{n}
    see: idea

It is {n}.
///

"""
GOOD = (
    "---\ndescription: A toy.\n---\n\n# Toy { #toy }\n\nWhat is it?\n\n"
    f"## Idea {{ #idea }}\n\n{SETUP}{GUESS}{FIGURE}"
    + "".join(RESULT.format(n=n) for n in (1, 2))
    + "".join(CARD.format(n=n) for n in range(1, 4))
    + "".join(EXERCISE.format(n=n, stars=1 + n % 3) for n in range(1, 6))
    + WRITE
)
GLYPH = "<svg>" + "h3.6v3.6h-3.6z" * 16 + "</svg>"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {"docs/listings/toy.py": LISTING, "glyphs/toy.svg": GLYPH, "glyphs/a.svg": "<svg/>"}
    files["compared.py"] = 'TORCH: dict[str, object] = {"toy": len}\n'
    for name, text in files.items():
        write(tmp_path / name, text)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def read(root: Path, text: str) -> Page:
    write(root / "docs" / "en" / "toy.md", text)
    return read_page(root / "docs" / "en" / "toy.md", root)


def test_nothing_is_said_of_a_whole_chapter(root: Path) -> None:
    page = read(root, GOOD)
    assert not page.failures
    assert not find_missing(page, root / "glyphs", root / "compared.py")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (RESULT.format(n=1), "", "results: 1, wanted at least 2"),
        (EXERCISE.format(n=4, stars=2), "", "exercises: 5, wanted 6 to 9"),
        ("stars: 3", "stars: 2", "no exercise has stars: 3"),
        ("/// answer\nDone.\n///\n", "", "“Task 1” has 0 answers, wanted 1"),
        (
            GUESS + FIGURE,
            f"//// deeper | More\n    id: more\n\n{GUESS}{FIGURE}////\n",
            "has no figure to move",
        ),
        (GUESS, "", "line 15: nothing asks for a guess before the control 'figure'"),
        (GUESS, f"{GUESS}## Later {{ #later }}\n\n", "nothing asks for a guess before"),
        (CARD.format(n=2), "", "cards: 2, wanted 3 to 5"),
        ("What is it?", f"What is it?\n\n{SETUP}", "line 9: code with an import stands above"),
        (ASKS, "", "line 69: the exercise “Task 1” is not judged"),
        (HINT, "", "line 69: the exercise “Task 1” has 1 of the 2 hints"),
        (WRITE, EXERCISE.format(n=6, stars=1), "no exercise asks for a function"),
        ("id: exercise-write", "id: exercise-6", "no exercise asks for a function"),
        (CHECKS, "", "shows no section writing-checks"),
        ("What is it?\n", "", "no text stands between the title and the second heading"),
    ],
)
def test_what_a_chapter_lacks_is_said(old: str, new: str, message: str, root: Path) -> None:
    count = -1 if old.startswith("stars") else 1
    page = read(root, GOOD.replace(old, new, count))
    (found,) = find_missing(page, root / "glyphs", root / "compared.py")
    assert message in found


def test_a_function_that_is_compared_with_nothing_is_said(root: Path) -> None:
    write(root / "compared.py", 'TORCH: dict[str, object] = {"other": len}\n')
    (found,) = find_missing(read(root, GOOD), root / "glyphs", root / "compared.py")
    assert "add 'toy' to TORCH of tests/compared.py" in found


@pytest.mark.parametrize(
    ("name", "svg", "message"),
    [
        ("other", GLYPH, "no glyph toy.svg"),
        ("toy", GLYPH.replace("h3.6", "h3", 1), "is no small matrix like the others"),
        ("toy", GLYPH.replace("<svg", '<svg fill="red"'), "is no small matrix like the others"),
    ],
)
def test_what_a_glyph_lacks_is_said(name: str, svg: str, message: str, root: Path) -> None:
    (root / "glyphs" / "toy.svg").unlink()
    write(root / "glyphs" / f"{name}.svg", svg)
    (found,) = find_missing(read(root, GOOD), root / "glyphs", root / "compared.py")
    assert message in found


def test_two_chapters_with_one_glyph_are_said(root: Path) -> None:
    write(root / "glyphs" / "a.svg", GLYPH)
    (found,) = find_missing(read(root, GOOD), root / "glyphs", root / "compared.py")
    assert found == "its glyph looks like another one: a.svg, toy.svg"


def test_all_that_an_empty_chapter_lacks_is_said_at_once(root: Path) -> None:
    page = read(root, re.sub(r"\n## .*", "\n", GOOD, flags=re.S))
    assert len(find_missing(page, root / "none", root / "compared.py")) == 9
