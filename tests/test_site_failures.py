"""Nothing fails silently: a fault stops the build, names file and line, publishes nothing."""

from __future__ import annotations

import itertools
import re

import pytest

from tests.mini import CONSTANTS, WEIGHTS, Project

pytestmark = pytest.mark.site
FLAGS = [tuple(filter(None, flags)) for flags in itertools.product(("", "-q"), ("", "--strict"))]
PAGE = "docs/en/weights.md"

FAULTS = {
    # name: (file, old, new, what the message must hold)
    "missing section": (
        PAGE,
        "weights.py:weights",
        "weights.py:weight",
        'en/weights.md:15: docs/listings/weights.py has no section "weight"',
    ),
    "missing listing": (
        PAGE,
        "weights.py:weights",
        "wights.py:weights",
        "en/weights.md:15: wights.py",
    ),
    "malformed option": (
        PAGE,
        'exec="1"\n--8<-- "weights.py:w',
        'exec="1" source="abov"\n--8<-- "weights.py:w',
        'en/weights.md:14: option source="abov" is none of',
    ),
    "unknown option": (
        PAGE,
        'exec="1"\n--8<-- "weights.py:w',
        'exec="1" sesion="a"\n--8<-- "weights.py:w',
        'en/weights.md:14: option sesion="a" is none of',
    ),
    "another language": (
        PAGE,
        '```python exec="1"\n--8<-- "weights.py:w',
        '```bash exec="1"\n--8<-- "weights.py:w',
        'en/weights.md:14: wanted ```python exec="1"',
    ),
    "code in a page": (
        PAGE,
        '--8<-- "weights.py:weights"',
        "print(1)",
        "en/weights.md:15: a block holds include lines alone",
    ),
    "failing value": (
        PAGE,
        "{{ weights[0]:.4f }}",
        "{{ wieghts[0]:.4f }}",
        "en/weights.md:18: inline value {{ wieghts[0] }} failed: NameError",
    ),
    "value without digits": (
        PAGE,
        "{{ weights[0]:.4f }}",
        "{{ weights[0] }}",
        "en/weights.md:18: inline value {{ weights[0] }} failed: TypeError: floats are printed",
    ),
    "malformed value": (
        PAGE,
        "{{ weights[0]:.4f }}",
        "{{ weights[0:.4f }}",
        "en/weights.md:18: wanted {{ expression:spec }}",
    ),
    "unclosed value": (
        PAGE,
        "{{ weights[0]:.4f }}",
        "{{ weights[0]:.4f }",
        "en/weights.md:18: an inline value",
    ),
    "value in a heading": (
        PAGE,
        "## The weights",
        "## The {{ name }}",
        "en/weights.md:12: a heading holds no inline value",
    ),
    "formula": (
        PAGE,
        "$w = ",
        "$\\frac{w = ",
        "en/weights.md:19: formula: Unexpected end of input",
    ),
    "broken link": (
        PAGE,
        "(#weights ",
        "(nowhere.md ",
        "en/weights.md:18: Doc file 'en/weights.md' contains a link 'nowhere.md'",
    ),
    "broken anchor": (
        PAGE,
        "(#weights ",
        "(#nowhere ",
        "en/weights.md:18: Doc file 'en/weights.md' contains a link '#nowhere'",
    ),
    "heading without id": (
        PAGE,
        " { #the-weights }",
        "",
        "en/weights.md:12: this heading has no { #id }",
    ),
    "unpaired marker": (
        WEIGHTS,
        "# --8<-- [end:setup]\n",
        "",
        "en/weights.md:9: docs/listings/weights.py:11: [start:weights] does not pair",
    ),
    "raw float": (
        WEIGHTS,
        'text(weights, ".4f")',
        "weights",
        'en/weights.md:14: block "weights" of docs/listings/weights.py failed: TypeError',
    ),
    "raw float in an f-string": (
        WEIGHTS,
        'text(weights, ".4f")',
        'f"{weights[0]}"',
        'en/weights.md:14: block "weights" of docs/listings/weights.py failed: TypeError',
    ),
    "warning": (
        WEIGHTS,
        "weights = softmax(scores)",
        "weights = softmax(scores)\nnp.log(np.zeros(1))",
        "failed: RuntimeWarning: divide by zero",
    ),
    "generator without seed": (
        WEIGHTS,
        "weights = softmax(scores)",
        "weights = softmax(scores)\nnp.random.default_rng()",
        "failed: ValueError: a published block states its seed",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_stops_the_build_and_names_its_place(project: Project, name: str) -> None:
    assert project.build().returncode == 0
    published = project.html("weights")
    path, old, new, message = FAULTS[name]
    project.edit(path, old, new, both="/en/" in path)
    done = project.build("-q")
    assert done.returncode == 1
    assert message in done.stderr
    assert project.html("weights") == published


@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
def test_a_block_that_raises_fails_under_every_flag(
    project: Project, flags: tuple[str, ...]
) -> None:
    project.edit(WEIGHTS, "scores = np.array([2.0, 4.0, 4.0])", "scores = np.array([2, 4, 4])")
    done = project.build(*flags)
    assert done.returncode == 1
    for place in ("en/weights.md:14", "docs/zh/weights.md:15"):  # one line more: its stamp
        head = f'{place}: block "weights" of docs/listings/weights.py failed: '
        assert head + "TypeError: scores must hold real floats, got int64" in done.stderr
    # The traceback goes from the listing's own line into the package.
    assert re.search(
        r'listings/weights.py", line 14, in <module>\n +weights = softmax', done.stderr
    )
    assert re.search(
        r'attention_docs/softmax.py", line \d+, in softmax\n +xp = floats', done.stderr
    )
    assert re.search(
        r'attention_docs/checks.py", line \d+, in floats\n +raise TypeError', done.stderr
    )
    assert "site/run.py" not in done.stderr


def test_all_faults_are_reported_and_not_the_first_alone(project: Project) -> None:
    project.edit(CONSTANTS, "print(name, CONSTANT)", "1 / 0")
    project.edit("docs/en/weights.md", "{{ name }}", "{{ nome }}", both=True)
    project.edit("docs/zh/weights.md", "(#weights ", "(#nothing ")
    project.edit("docs/zh/weights.md", ":setup", ":sett")
    done = project.build()
    assert done.returncode == 1
    for message in (
        "docs/en/index.md:8: block",
        "ZeroDivisionError",
        "en/weights.md:23: inline value {{ nome }}",
        "docs/zh/weights.md:10: docs/listings/weights.py has no section",
    ):
        assert message in done.stderr


def test_a_page_without_twin_and_a_stale_translation(project: Project) -> None:
    project.write("docs/zh/alone.md", "---\ntitle: x\n---\n\n# x { #alone }\n")
    project.edit("docs/en/weights.md", "The first weight is", "Now the first weight is")
    done = project.build()
    assert done.returncode == 1
    assert "docs/zh/alone.md:1: has no twin docs/en/alone.md" in done.stderr
    stale = "docs/zh/weights.md:13: the English text changed in #the-weights: bring this page"
    assert stale in done.stderr


def test_a_process_that_dies_is_a_fault_of_its_page(project: Project) -> None:
    project.edit(CONSTANTS, "print(name, CONSTANT)", "import os\n\nos._exit(3)")
    done = project.build()
    assert done.returncode == 1
    assert "docs/en/index.md:8: the process that ran this page died" in done.stderr
