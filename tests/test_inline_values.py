"""Inline values use what their page has; a block prints and computes within bounds."""

from __future__ import annotations

import pytest

from attention_docs.running.block import BlockRunner
from attention_docs.running.result import Code
from attention_docs.running.watch import LARGEST
from tests.fixture_project import WEIGHTS, FixtureProject

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
