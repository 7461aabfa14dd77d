"""Nothing fails silently: a fault stops the build, names file and line, publishes nothing."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from tests.conftest import LANGUAGES
from tests.fixture_project import CONSTANTS, WEIGHTS, FixtureProject

FLAGS = [tuple(filter(None, flags)) for flags in itertools.product(("", "-q"), ("", "--strict"))]

# By the step that finds them: name: (old, new, line, what the message must hold). A fault of the
# listing is reported at the line of the block, or of the include line.
PAGE = {
    "reading": {
        "unknown name": ("{{ weights[0]:.4f }}", "{{ wieghts[0]:.4f }}", 18, "uses wieghts: no"),
        "missing section": (
            ":weights", ":weight", 15, 'docs/listings/missing-section.py has no section "weight"',
        ),
        "missing listing": (
            '"missing-listing.py:weights', '"wights.py:weights', 15,
            "wights.py:1: there is no listing",
        ),
        "malformed option": (
            'exec="1"\n--8<-- "malformed-option.py:w',
            'exec="1" source="abov"\n--8<-- "malformed-option.py:w',
            14,
            'option source="abov" is none of',
        ),
        "unknown option": (
            'exec="1"\n--8<-- "unknown-option.py:w',
            'exec="1" sesion="a"\n--8<-- "unknown-option.py:w', 14, 'option sesion="a" is none of',
        ),
        "another language": (
            '```python exec="1"\n--8<-- "another-language.py:w',
            '```bash exec="1"\n--8<-- "another-language.py:w', 14, 'wanted ```python exec="1"',
        ),
        "code in a page": (
            '--8<-- "code-in-a-page.py:weights"', "print(1)", 15,
            "a block holds include lines alone",
        ),
        "malformed value": (
            "{{ weights[0]:.4f }}", "{{ weights[0:.4f }}", 18, "wanted {{ expression:spec }}",
        ),
        "unclosed value": (
            "{{ weights[0]:.4f }}", "{{ weights[0]:.4f }", 18, "an inline value",
        ),
        "value in a heading": (
            "## The weights", "## The {{ name }}", 12, "a heading holds no inline value",
        ),
        "value before any block": (
            "# Weights {", "{{ name }}\n\n# Weights {", 6,
            "stands before any block: nothing has run yet",
        ),
        "heading without id": (" { #the-weights }", "", 12, "this heading has no { #id }"),
        "text after a fence": (
            "```\n\nThe first weight is", "```\nThe first weight is", 14,
            "a fence needs a blank line after it",
        ),
        "text before a fence": (
            "{ #the-weights }\n", "{ #the-weights }\n\nThe weights:", 15,
            "a fence needs a blank line before it",
        ),
        "fence without end": (
            "| name | weight |", "```text\n| name | weight |", 21, "this fence is never closed",
        ),
    },
    "running": {
        "failing value": (
            "{{ weights[0]:.4f }}", "{{ weights[7]:.4f }}", 18,
            "inline value {{ weights[7] }} failed: IndexError",
        ),
        "value without digits": (
            "{{ weights[0]:.4f }}", "{{ weights[0] }}", 18,
            "inline value {{ weights[0] }} failed: TypeError: floats are printed",
        ),
    },
    "expanding": {
        "group without entries": (
            "## The weights", "<!-- works: films -->\n\n## The weights", 12,
            "works: wanted one of papers, lectures, documentation, got",
        ),
    },
    "rendering": {
        "typed decimal": (
            "{{ weights[0]:.4f }}, [", "0.0635, [", 18,
            "0.0635 was typed, and no block of this page prints it: write {{ expression:.4f }}",
        ),
        "typed vector": (
            "The first weight", "Of the weights [0.0634, 0.4683, 0.4682] the first", 18,
            "[0.0634, 0.4683, 0.4682] was typed, and no block of this page prints it",
        ),
        "typed matrix": (
            "$w = ", "$\\begin{bmatrix} 1 & 9 \\end{bmatrix} = ", 19,
            "[1 , 9] was typed, and no block of this page prints it",
        ),
        "typed tensor": ("The first weight", "Of array([w]) the first", 18, "array([ was typed"),
        "formula": ("$w = ", "$\\frac{w = ", 19, "formula: "),
        "unknown command": ("$w = ", "$\\nothing w = ", 19, "formula: "),
        "broken link": ("(#weights ", "(nowhere.md ", 18, "contains a link 'nowhere.md'"),
        "script": ("$w = ", "<script>f()</script>\n$w = ", 19, "holds no <script>"),
        "event": ("$w = ", "<b onclick=f()>x</b>\n$w = ", 19, "no code of its own, got onclick"),
        "attribute": ("$w = ", "*x*{ onclick=f }\n$w = ", 19, "no code of its own, got onclick"),
        "address that runs": ("$w = ", "[x](javascript:f)\n$w = ", 19, "mailto, got javascript:"),
        "picture in an address": ("$w = ", "![x](data:a,b)\n$w = ", 19, "mailto, got data:"),
        "style that covers": ("$w = ", "*x*{ style=inset:0 }\n$w = ", 19, "figure, got inset:0"),
        "broken anchor": ("(#weights ", "(#nowhere ", 18, "contains a link '#nowhere'"),
        "value without blanks": (
            "{{ weights[0]:.4f }}", "{{weights[0]:.4f}}", 18,
            "left in the page: {{weights[0]:.4f}}",
        ),
    },
}  # fmt: skip
LISTING = {
    "reading": {
        "unpaired marker": (
            "# --8<-- [end:setup]\n", "", 9,
            "docs/listings/unpaired-marker.py:11: [start:weights] does not pair",
        ),
    },
    "running": {
        "raw float": ('text(weights, ".4f")', "weights", 14, "failed: TypeError"),
        "raw float in an f-string": (
            'text(weights, ".4f")', 'f"{weights[0]}"', 14, "failed: TypeError",
        ),
        "warning": (
            "weights = softmax(scores)", "weights = softmax(scores)\nnp.log(np.zeros(1))", 14,
            "failed: RuntimeWarning: divide by zero",
        ),
        "generator without seed": (
            "weights = softmax(scores)", "weights = softmax(scores)\nnp.random.default_rng()", 14,
            "failed: ValueError: a published block states its seed",
        ),
        # Draws without a seed are seen though nothing of them is printed.
        "draws from numpy": (
            "weights = softmax(scores)",
            "weights = softmax(scores)\nvars(np.random)['normal'](3)",
            14,
            "a published block states its seed, got draws from np.random",
        ),
        "draws from python": (
            "weights = softmax(scores)",
            "weights = softmax(scores)\n__import__('random').random()",
            14,
            "a published block states its seed, got draws from random",
        ),
        "draws from torch": (
            "weights = softmax(scores)",
            "import torch\n\nweights = softmax(scores)\ntorch.nn.Linear(2, 2)",
            14,
            "a published block states its seed, got draws from torch",
        ),
        "process that dies": (
            "weights = softmax(scores)",
            "import os\n\nweights = softmax(scores)\nos._exit(3)",
            8,
            "the process that ran this page died",
        ),
    },
}  # fmt: skip


WORDS = {  # what else such a listing needs: its words in Chinese
    "draws from numpy": '[strings]\n"normal" = "normal"\n',
    "draws from python": '[strings]\n"random" = "random"\n',
}


def add_fault(project: FixtureProject, step: str) -> list[tuple[str, str]]:
    """A page of its own for every fault of a step; where each is reported, and how."""
    wanted = []
    for path, faults in (("page", PAGE[step]), ("listing", LISTING.get(step, {}))):
        for name, (old, new, line, message) in faults.items():
            slug = name.lower().replace(" ", "-")
            listing = project.read(WEIGHTS)
            page = project.read("docs/en/weights.md").replace("weights.py", f"{slug}.py")
            if path == "listing":
                assert old in listing, name
                listing = listing.replace(old, new)
            else:
                assert old in page, name
                page = page.replace(old, new)
            project.write(f"docs/listings/{slug}.py", f"{listing}\nfault = {name!r}\n")
            if name in WORDS:
                project.write(f"docs/listings/{slug}.zh.toml", WORDS[name])
            for lang in LANGUAGES:
                project.write(f"docs/{lang}/{slug}.md", page)
            wanted.append((f"docs/en/{slug}.md:{line}: ", message))
    nav = "".join(f"  - {Path(place).stem}.md\n" for place, _ in wanted)
    project.edit("mkdocs.yml", "  - weights.md\n", f"  - weights.md\n{nav}")
    project.stamp()
    return wanted


@pytest.mark.parametrize("step", PAGE)
def test_every_fault_of_a_step_stops_the_build_and_names_its_place(
    built: FixtureProject, step: str
) -> None:
    published = built.read_html("weights")
    wanted = add_fault(built, step)
    done = built.build("-q")
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    for place, message in wanted:
        assert [line for line in lines if place in line and message in line], (place, done.stderr)
    named = {re.findall(r"docs/\w\w/([\w-]+)\.md", line)[0] for line in lines}
    assert named == {Path(place.split(":")[0]).stem for place, _ in wanted}  # and no other page
    assert built.read_html("weights") == published
    assert not list(built.root.glob("site.*"))


@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
def test_a_block_that_raises_fails_under_every_flag(
    built: FixtureProject, flags: tuple[str, ...]
) -> None:
    built.edit(WEIGHTS, "scores = np.array([2.0, 4.0, 4.0])", "scores = np.array([2, 4, 4])")
    done = built.build(*flags)
    assert done.returncode == 1
    for place in ("en/weights.md:14", "docs/zh/weights.md:19"):  # five lines more: its stamps
        head = f'{place}: block "weights" of docs/listings/weights.py failed: '
        assert head + "TypeError: scores must be an array of real floats, got int64" in done.stderr
    # The traceback goes from the listing's own line into the package.
    assert re.search(
        r'listings/weights.py", line 14, in <module>\n +weights = softmax', done.stderr
    )
    assert re.search(r'attention_docs/signatures.py", line \d+, in _check_kind\n', done.stderr)
    assert "site/run" not in done.stderr
    assert "running/" not in done.stderr


def test_a_wrong_line_in_a_list_is_told_once_and_nothing_that_follows_from_it(
    project: FixtureProject,
) -> None:
    """The page of the gallery and every link to its entries would be at fault as well."""
    link = "The first weight [is](mistakes.md#an-entry)"
    project.edit("docs/en/weights.md", "The first weight is", link, both=True)
    project.add_gallery("weight")
    done = project.build("-q")
    assert done.returncode == 1
    causes = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    wanted = 'docs/mistakes.toml:2: an-entry: docs/en/weights.md has no block "weight"'
    assert [cause.split("  ")[-1] for cause in causes] == [wanted]
    assert "1 fault; nothing was published" in done.stdout


def test_all_faults_are_reported_and_not_the_first_alone(project: FixtureProject) -> None:
    project.edit("docs/zh/weights.md", ":setup", ":sett")
    project.edit("docs/zh/index.md", "{{ CONSTANT }}", "{{ CONSTANT }")
    found = "\n".join(project.find_faults())
    assert "docs/zh/weights.md:14: docs/listings/weights.py has no section" in found
    assert "docs/zh/index.md:15: an inline value" in found


def test_a_page_without_translation_and_a_stale_translation(project: FixtureProject) -> None:
    project.write("docs/zh/alone.md", "# x { #alone }\n")
    project.write("docs/en/lonely.md", "# x { #lonely }\n")
    project.edit("docs/en/weights.md", "The first weight is", "Now the first weight is")
    found = "\n".join(project.find_faults())
    assert "docs/zh/alone.md:1: has no translation docs/en/alone.md" in found
    assert "docs/en/lonely.md:1: has no translation docs/zh/lonely.md" in found
    assert "docs/zh/weights.md:17: the English text changed in #the-weights: bring this" in found


def test_a_good_project_has_no_fault(project: FixtureProject) -> None:
    assert project.find_faults() == []
    project.edit(CONSTANTS, "name = ", "# A comment.\nname = ")
    table = '[comments]\n"A comment." = "注释。"\n[strings]\n"constants" = "constants"\n'
    project.write("docs/listings/constants.zh.toml", table)
    assert project.find_faults() == []


def test_a_page_that_the_navigation_lacks_is_a_fault(project: FixtureProject) -> None:
    project.edit("mkdocs.yml", "  - weights.md\n", "")
    done = project.build("-q")
    assert done.returncode
    for lang in LANGUAGES:
        assert f"docs/{lang}/weights.md:1: is in no part of the navigation" in done.stderr
