"""A listing imports what is the same everywhere; inline values use what their page has."""

from __future__ import annotations

from pathlib import Path

import pytest

from attention_docs.running.block import BlockRunner
from attention_docs.running.result import Code
from attention_docs.running.watch import LARGEST
from attention_docs.site.read.isolation import find_isolation_faults
from tests.fixture_project import WEIGHTS, FixtureProject

REFUSED = {
    "import time": "time",
    "import os as o": "os",
    "from os import environ": "os",
    "import urllib.request": "urllib",
    "def f():\n    from pathlib import Path": "pathlib",
}
ALLOWED = [
    "import time  # needs: the chapter is about clocks",
    "import numpy as np\nfrom collections.abc import Iterable",
    "from attention_docs.softmax import softmax",
]


def write_listing(folder: Path, code: str) -> Path:
    path = folder / "a.py"
    path.write_text(f"# --8<-- [start:a]\n{code}\n# --8<-- [end:a]\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("code", REFUSED)
def test_what_differs_elsewhere_is_not_imported(code: str, tmp_path: Path) -> None:
    (fault,) = find_isolation_faults(write_listing(tmp_path, code))
    line = 2 + code.count("\n")
    assert str(fault).startswith(f"docs/listings/a.py:{line}: ")
    assert f"does not import {REFUSED[code]}; " in str(fault)


@pytest.mark.parametrize("code", ALLOWED)
def test_what_gives_the_same_everywhere_is_allowed(code: str, tmp_path: Path) -> None:
    assert [*find_isolation_faults(write_listing(tmp_path, code))] == []


VALUES = {
    "weights[0] / 2:.4f": "",
    "max(weights):.4f": "",
    "len(weights)": "",
    "(weights > 0).sum()": "",
    "(softmax(scores) - weights).max():.1f": "",
    "float('0.0634'):.4f": "uses float: no block above sets it",
    "__import__('os').getcwd()": "uses __import__: no block above sets it",
    "open('/etc/hostname').read()": "uses open: no block above sets it",
    "np.exp(-2.7583):.4f": "depends on nothing that a block above or the package has computed",
    "name_of_nothing": "uses name_of_nothing: no block above sets it",
}


@pytest.mark.parametrize("value", VALUES)
def test_an_inline_value_depends_on_what_its_page_has_computed(
    value: str, project: FixtureProject
) -> None:
    page = "docs/en/weights.md"
    project.edit(page, "{{ name }}", f"{{{{ {value} }}}}", both=True)
    line = project.read(page).split("\n").index(f"| {{{{ {value} }}}} | {{{{ weights[0]:.2f }}}} |")
    report = [fault for fault in project.find_faults() if "docs/en" in fault]
    assert len(report) == bool(VALUES[value])
    for fault in report:
        assert fault.startswith(f"docs/en/weights.md:{line + 1}: {{{{ ")
        assert VALUES[value] in fault


def test_an_inline_value_waits_for_the_block_that_sets_its_name(project: FixtureProject) -> None:
    project.edit("docs/en/weights.md", "## The weights", "{{ weights[0]:.1f }}\n\n## The weights")
    report = "\n".join(project.find_faults())
    assert "weights.md:12: {{ weights[0] }} uses weights: no block above sets it" in report


@pytest.mark.parametrize("to", ["", ", file=sys.stdout"])
def test_a_block_prints_no_more_than_a_page_holds(to: str) -> None:
    """Its first language has 16 bytes a line, and so just as much as there may be."""
    code = f"import sys\nfor i in range({{}}):\n    print(f'{{{{i:015d}}}}'{to})"
    most = LARGEST // 16
    result = BlockRunner(["en"]).run([Code(code.format(most), "a.py", 1)])
    assert result.error == ""
    assert len(result.text) == LARGEST - 1  # all but the last end of line
    result = BlockRunner(["en"]).run([Code(code.format(most + 1), "a.py", 1)])
    assert result.error.startswith("ValueError: a block prints at most 65,536 bytes, got more")
    assert 'File "a.py", line 3' in result.error


def test_a_block_that_computes_long_says_so(project: FixtureProject) -> None:
    begin = 'name = "weights"'
    project.edit(WEIGHTS, begin, f"{begin}\nfor _ in range(10**7):\n    pass")
    said = project.build("-q", ATTENTION_DOCS_SLOW="0.05").stderr
    assert "docs/listings/weights.py:13: this block took 0 s of computing" in said
    assert "constants.py" not in said
