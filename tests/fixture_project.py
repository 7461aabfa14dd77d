"""A fixture project of two pages with a copy of the real package, for tests that break things."""

from __future__ import annotations

import compileall
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import IO

from attention_docs.site.build import Build
from attention_docs.site.read.confirm import stamp
from tests.conftest import LANGUAGES, QUIET, ROOT

CONFIG = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
CONSTANTS = "docs/listings/constants.py"
WEIGHTS = "docs/listings/weights.py"

FILES = {
    CONSTANTS: '''"""A listing on a package module of this test."""

# --8<-- [start:constant]
from attention_docs.constants import CONSTANT

name = "constants"
print(name, CONSTANT)
# --8<-- [end:constant]
''',
    WEIGHTS: '''"""A listing on softmax."""

# --8<-- [start:setup]
import numpy as np

from attention_docs.softmax import softmax
from attention_docs.text import text

scores = np.array([2.0, 4.0, 4.0])
# --8<-- [end:setup]

# --8<-- [start:weights]
name = "weights"
weights = softmax(scores)
print(name, text(weights, ".4f"))
# --8<-- [end:weights]
''',
    "docs/listings/constants.zh.toml": '[strings]\n"constants" = "constants"\n',
    "attention_docs/constants.py": '"""A module of the test project."""\n\nCONSTANT = 7\n',
    "docs/en/index.md": """---
question: What is it?
description: A test page.
---

# Constants { #index }

```python exec="1"
--8<-- "constants.py:constant"
```

The constant is {{ CONSTANT }}.
""",
    "docs/en/weights.md": """---
question: What is it?
description: A test page.
---

# Weights { #weights }

```python exec="1"
--8<-- "weights.py:setup"
```

## The weights { #the-weights }

```python exec="1"
--8<-- "weights.py:weights"
```

The first weight is {{ weights[0]:.4f }}, [the next](#weights "{{ weights[1]:.2f }}"),
$w = {{ weights[2]:.3f }}$.

| name | weight |
|---|---|
| {{ name }} | {{ weights[0]:.2f }} |
""",
}


def make_environment(root: Path, **more: str) -> dict[str, str]:
    """The environment in which commands use the package of a project."""
    return {**os.environ, "PYTHONPATH": str(root), **QUIET, **more}


def run_command(root: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
    """What `python -m` with a module and its arguments does and prints in a project's folder."""
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=root,
        env=make_environment(root, **more),
        capture_output=True,
        text=True,
        check=False,
    )


def start_command(
    root: Path, *command: str, log: IO[str] | int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """The same, begun and not waited for."""
    command = (sys.executable, "-m", *command)
    return subprocess.Popen(command, cwd=root, env=make_environment(root), stdout=log, stderr=log)


BUILD_OUTPUTS = ("site", ".cache/results", ".cache/pages")  # what shows that there was a build
LOG = "build.log"  # what the first build said
SHARED = ("attention_docs", "docs/assets")  # nine of ten files, and no build writes to them


@cache
def _prepare_project(folder: Path) -> Path:
    """The small project that the tests of a process copy, built once. It is compiled, as a package
    that has been used: copies keep the times of their files, and what tests start writes no
    bytecode."""
    root = folder / "small-project"
    skip = shutil.ignore_patterns("__pycache__")
    for part in SHARED:
        shutil.copytree(ROOT / part, root / part, ignore=skip)
    nav = "nav:\n  - index.md\n  - weights.md\n\n"
    config = re.sub(r"^nav:\n.*?\n\n", nav, CONFIG, flags=re.S | re.M)
    # In two languages; a test that wants another one says so.
    others = r"^ +- locale: (?!en\n|zh\n).*?(?=^ +- locale|^  -)"
    config = re.sub(others, "", config, flags=re.S | re.M)
    for locale in (root / "attention_docs" / "locales").glob("*.toml"):
        if locale.stem not in ("en", "zh"):
            locale.unlink()
    chinese = {path.replace("/en/", "/zh/"): content for path, content in FILES.items()}
    for path, content in {"mkdocs.yml": config, **FILES, **chinese}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content, encoding="utf-8")
    stamp(root)
    compileall.compile_dir(root / "attention_docs", quiet=2)
    done = build_site(root)
    assert done.returncode == 0, done.stderr
    for name in BUILD_OUTPUTS:
        (left := folder / "small-project-built" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).rename(left)
    (folder / "small-project-built" / LOG).write_text(done.stderr, encoding="utf-8")
    return root


def build_site(
    root: Path, *flags: str, site: str = "site", **more: str
) -> subprocess.CompletedProcess[str]:
    """`mkdocs build` in the folder of a project."""
    return run_command(root, "mkdocs", "build", "-d", str(root / site), *flags, **more)


GALLERY = """---
question: What is it?
description: A test page.
---

# Mistakes { #mistakes }

[There](#an-entry).

<!-- gallery: masks -->
"""

MODULE = "---\ndescription: x\n---\n\n# {0} {{ #module }}\n\n::: {0}\n"

ENTRY = """[[entry]]
id = "an-entry"
group = "masks"
en = "Heading"
zh = "Heading"
why_en = "Why."
why_zh = "Why."
place = "weights#weights"
wrong = "BLOCK"
test = "tests/test_weights.py::test_weights"
check_en = "Test it."
check_zh = "Test it."
"""


class FixtureProject:
    """The folder of the fixture project, before or after its first build."""

    def __init__(self, root: Path, *, built: bool = False) -> None:
        self.root = root
        prepared = _prepare_project(root.parent)
        own = shutil.ignore_patterns("attention_docs", "assets")
        shutil.copytree(prepared, root, dirs_exist_ok=True, ignore=own)
        for part in SHARED:
            shutil.copytree(prepared / part, root / part, copy_function=os.link)
        if built:
            shutil.copytree(prepared.with_name("small-project-built"), root, dirs_exist_ok=True)

    def add_traditional_chinese(self) -> None:
        """Add Traditional Chinese, converted from the Chinese pages by the real site's table."""
        entry = re.search(r"^ +- locale: zh-hant.*?(?=^ +- locale|^  -)", CONFIG, re.S | re.M)
        assert entry
        self.edit("mkdocs.yml", "  - autorefs:", f"{entry[0]}  - autorefs:")
        self.write("docs/zh-hant.toml", (ROOT / "docs/zh-hant.toml").read_text(encoding="utf-8"))

    def write(self, path: str, content: str) -> None:
        """Write a file of the project."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and target.stat().st_nlink > 1:
            target.unlink()  # other projects have it too
        target.write_text(content, encoding="utf-8")

    def read(self, path: str) -> str:
        """Read a file of the project."""
        return (self.root / path).read_text(encoding="utf-8")

    def edit(self, path: str, old: str, new: str, *, both: bool = False) -> None:
        """Replace text in a file, which must hold it; with `both`, in both languages, stamped."""
        for one in (path, path.replace("/en/", "/zh/")) if both else (path,):
            content = self.read(one)
            assert old in content, (one, old)
            self.write(one, content.replace(old, new))
        if both:
            self.stamp()

    def add_gallery(self, block: str) -> None:
        """Have a page of mistakes with an entry that shows this block of the page `weights`."""
        for lang in LANGUAGES:
            self.write(f"docs/{lang}/mistakes.md", GALLERY)
        self.edit("mkdocs.yml", "  - weights.md\n", "  - weights.md\n  - mistakes.md\n")
        self.write("docs/mistakes.toml", ENTRY.replace("BLOCK", block))
        self.stamp()

    def document(self, *modules: str) -> None:
        """Give modules pages of their own, as in `docs/en/api/softmax.md`."""
        for module in modules:
            name = module.rpartition(".")[2]
            for lang in LANGUAGES:
                self.write(f"docs/{lang}/api/{name}.md", MODULE.format(module))
        self.stamp()

    def stamp(self) -> None:
        """Declare the Chinese pages up to date."""
        stamp(self.root)

    def build(
        self, *flags: str, site: str = "site", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """`mkdocs build` in the project."""
        return build_site(self.root, *flags, site=site, **environment)

    def find_faults(self) -> list[str]:
        """What reading and comparing the pages finds, without mkdocs."""
        build = Build(self.root, print)
        build.read()
        return [str(failure) for failure in build.failures]

    def read_html(self, page: str, site: str = "site") -> str:
        """A built page, such as "zh/weights"."""
        return self.read(f"{site}/{page}/index.html")


def count_blocks(done: subprocess.CompletedProcess[str] | str) -> tuple[int, int]:
    """How many blocks ran and how many were reused, as the build said."""
    log = done if isinstance(done, str) else done.stderr
    match = re.search(r"Numbers: (\d+) blocks ran, (\d+) reused", log)
    assert match, log
    return int(match[1]), int(match[2])


def read_files(folder: Path) -> dict[str, bytes]:
    """Every file of a site."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
