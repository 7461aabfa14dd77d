"""A listing uses what is the same everywhere, and leaves the package as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from attention_docs.running.block import BlockRunner
from attention_docs.running.result import Code
from attention_docs.running.watch import LARGEST
from attention_docs.site.read.isolation import find_isolation_faults, list_public_functions
from tests.conftest import ROOT
from tests.fixture_project import WEIGHTS, FixtureProject
from tests.test_site_lint import write_listing

SOFTMAX = "from attention_docs.softmax import softmax\n"
REFUSED = {
    "import time": "does not import time",
    "import random": "does not import random",
    "from os import environ": "does not import os",
    "import os as o": "does not import os",
    "from urllib.request import urlopen": "does not import urllib",
    "import socket": "does not import socket",
    "import subprocess as s": "does not import subprocess",
    "from pathlib import Path": "does not import pathlib",
    "import inspect as i\ni.os.environ": "does not use os, got inspect.os.environ",
    "import inspect\ni = inspect\ni.sys.argv": "does not use sys, got inspect.sys.argv",
    "from inspect import os": "does not use os, got inspect.os",
    "open('/etc/hostname').read()": "does not use open",
    "load = open": "does not use open",
    "x = __import__('os').environ": "does not use __import__, got __import__",
    "x = hash('a')": "does not use hash",
    "exec('import os')": "does not import os",
    "exec('op' + 'en')": "exec takes code as a string, got exec('op' + 'en')",
    "import numpy as n\nn.load('a.npy')": "does not use numpy.load",
    "import numpy as np\nx = np.random.normal(3)": "seed), got numpy.random.normal",
    "import numpy as np\nr = np.random": "default_rng(seed), got numpy.random",
    "from numpy import random": "default_rng(seed), got numpy.random",
    "from attention_docs.verify import urllib": "does not use attention_docs.verify",
    SOFTMAX + "softmax = lambda x: x / x.sum()": "softmax is attention_docs.softmax.softmax here",
    SOFTMAX + "def softmax(x): return x": "softmax is attention_docs.softmax.softmax here",
    SOFTMAX + "def f(softmax): return 1": "softmax is attention_docs.softmax.softmax here",
    SOFTMAX + "for softmax in (1, 2): pass": "softmax is attention_docs.softmax.softmax here",
    SOFTMAX + "from torch import softmax": "softmax is attention_docs.softmax.softmax here",
    "def softmax(x): return x / x.sum()": "softmax is a function of attention_docs: import it",
    "softmax = lambda x: x / x.sum()": "softmax is a function of attention_docs: import it",
    "import attention_docs.softmax as a\na.softmax = len": "not change what it imports: attention_",
    "import attention_docs.softmax\nattention_docs.softmax.softmax = 1": "not change what it impo",
    "from attention_docs import softmax as m\ns = m\ndel s.softmax": "not change what it imports",
    "from attention_docs.eight_steps import INPUTS\nINPUTS[0] = 1": "not change what it imports",
    SOFTMAX + "setattr(softmax, 'a', 1)": "does not use setattr",
}
ALLOWED = [
    "import time  # needs: the chapter is about clocks",
    "import numpy as np\nrng = np.random.default_rng(0)\nrng.normal(3)",
    "import numpy as np\nx = np.zeros(3)\nx[0] = 1\ndel x",
    "class Counted:\n    total = 0\nCounted.total += 1",
    "def id(x): return x\nid(1)",
    "from attention_docs.eight_steps import INPUTS\nx = INPUTS.copy()\nx[0] = 1",
    "exec('from torch import nn')",
    SOFTMAX + "weights = softmax([1.0])",
    "softmax = 3",  # no function
]


@pytest.mark.parametrize("code", REFUSED)
def test_what_differs_elsewhere_or_replaces_the_package_is_refused(
    code: str, tmp_path: Path
) -> None:
    (fault,) = find_isolation_faults(write_listing(tmp_path, code), list_public_functions(ROOT))
    line = 2 + code.count("\n")
    assert str(fault).startswith(f"docs/listings/a.py:{line}: ")
    assert REFUSED[code] in str(fault)


@pytest.mark.parametrize("code", ALLOWED)
def test_what_gives_the_same_everywhere_is_allowed(code: str, tmp_path: Path) -> None:
    assert find_isolation_faults(write_listing(tmp_path, code), list_public_functions(ROOT)) == []


def test_a_function_that_the_package_gets_is_looked_for_in_listings(
    project: FixtureProject,
) -> None:
    """Though the listing is the same as in the build before."""
    project.edit(WEIGHTS, 'name = "weights"', 'name = "weights"\ndef halved(x):\n    return x / 2')
    assert project.find_faults() == []
    project.write(
        "attention_docs/constants.py", "CONSTANT = 7\n\n\ndef halved(x):\n    return x / 2\n"
    )
    (fault,) = project.find_faults()
    assert fault.startswith("docs/listings/weights.py:14: halved is a function of attention_docs")


VALUES = {
    "weights[0] / 2:.4f": "",
    "max(weights):.4f": "",
    "len(weights)": "",
    "(weights > 0).sum()": "",
    "(softmax(scores) - weights).max():.1f": "",
    "float('0.0634'):.4f": "uses float: no block above sets it",
    "__import__('os').getcwd()": "uses __import__: no block above sets it",
    "open('/etc/hostname').read()": "uses open: no block above sets it",
    "0 * weights[0] + 0.0634:.4f": "computes nothing: type it, or name what a block has",
    "weights[0] - weights[0] + 0.0634:.4f": "computes nothing",
    "weights[0] ** 0 * 0.0634:.4f": "computes nothing",
    "weights[0] / weights[0] * 0.0634:.4f": "computes nothing",
    "np.exp(-2.7583):.4f": "depends on nothing that a block above or the package has computed",
    "np.load('a.npy')[weights.size]": "a listing does not use numpy.load",
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
