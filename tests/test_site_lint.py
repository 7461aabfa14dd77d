"""Hard-coded results are not published."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from attention_docs.site.build import Build
from attention_docs.site.read.lint import find_listing_faults, is_constant
from attention_docs.site.read.reader import Reader
from tests.fixture_project import WEIGHTS, FixtureProject, make_environment, read_files

REFUSED = {
    'print("[[0.1, 0.2]]")': "a print of typed values",
    "print(True)": "a print of typed values",
    'print("w", text([0.0634, 0.4683], ".4f"))': "a print of typed values",
    'print(f"{0.0634:.4f}", w)': "a typed value in an f-string: 0.0634",
    'print("the answer is True")': "a print of typed values",
    "print(0 * w + 0.0634)": "a print of typed values",
}
ALLOWED = [
    'print("d_k", w)',
    'print("scores and weights")',
    "print(f\"{'name':>12} {w:.4f}\")",
    'print("layer 1 of 2")  # typed: a heading',
    "print(w == 3)",
]


def write_listing(folder: Path, code: str) -> Path:
    path = folder / "a.py"
    path.write_text(f"# --8<-- [start:a]\n{code}\n# --8<-- [end:a]\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("code", REFUSED)
def test_a_typed_result_is_refused(code: str, tmp_path: Path) -> None:
    (fault,) = find_listing_faults(write_listing(tmp_path, code))
    assert REFUSED[code] in str(fault)
    line = 2 + code.count("\n")
    assert str(fault).startswith(f"docs/listings/a.py:{line}: ")


@pytest.mark.parametrize("code", ALLOWED)
def test_what_computes_or_says_why_is_allowed(code: str, tmp_path: Path) -> None:
    assert not [*find_listing_faults(write_listing(tmp_path, code))]


@pytest.mark.parametrize(
    ("expression", "typed"),
    [
        ("2.8921", True),
        ("round(w)", False),
        ("(1, 'a')", True),
        ("w[0]", False),
        ("512 // 8", True),
        ("0 * w + 0.99", True),
        ("w * -0.0", True),
        ("w - w", True),
        ("w % w", True),
        ("0 / w", True),
        ("w // w", True),
        ("w ** 0", True),
        ("w - v", False),
        ("w / v", False),
        ("1 * w", False),
        ("w ** 2", False),
        ("w + w", False),
    ],
)
def test_a_constant_is_recognised(expression: str, typed: bool) -> None:
    assert is_constant(expression) is typed


# Text of a page and the message, or "" if the text is allowed.
TYPED = {
    "The block uses 2000 heads.": "2000 is typed",
    "It took 4,096 steps.": "4,096 is typed",
    "That is 37 % of the weight.": "37 % is typed",
    "The weight is `0.0634` there.": "0.0634 is typed",
    "$n = 4{,}096$": "4096 is typed",
    "## The weight 0.0634 { #more }": "0.0634 is typed",
    "/// deeper | The weight 0.0634\n    id: more\n///": "0.0634 is typed",
    "As Vaswani et al. (2017) and a report ([#42929](https://example.org/1)) say.": "",
    "Known since 2020. Table 3, §3.2, `001.4`, three of 12 heads, a 95 % interval.": "",
    "It was run with `batch = 512`.": "",  # the listing holds it
}


@pytest.mark.parametrize("text", TYPED)
def test_a_number_typed_where_results_stand_is_refused(text: str, project: FixtureProject) -> None:
    project.edit(WEIGHTS, 'name = "weights"', 'name = "weights"\nbatch = 512')
    project.edit("docs/en/weights.md", "## The weights", f"{text}\n\n## The weights", both=True)
    report = [message for message in project.find_faults() if "docs/en" in message]
    assert len(report) == bool(TYPED[text])
    for message in report:
        assert message.startswith(f"docs/en/weights.md:12: {TYPED[text]}: compute it")
        number = re.sub(r"[ ,%]", "", TYPED[text].removesuffix("is typed"))
        assert f"under typed: ({number}: the reason)" in message


def test_a_page_is_linted_again_when_its_context_changes(project: FixtureProject) -> None:
    """Under `serve` one reader reads again and again: a module and a twin change, the page not."""
    reader = Reader(project.root)

    def list_failures() -> list[str]:
        build = Build(project.root, print, reader=reader)
        build.read()
        return [str(failure) for failure in build.failures]

    module = "attention_docs/weights.py"
    project.write(module, "WIDTH = 5120\n")
    project.edit("docs/en/weights.md", "## The weights", "d = 5120.\n\n## The weights", both=True)
    assert list_failures() == []
    project.write(module, "WIDTH = 512\n")
    pages = [message.split(":")[0] for message in list_failures()]
    assert pages == ["docs/en/weights.md", "docs/zh/weights.md"]
    project.write(module, "WIDTH = 5120\n")
    assert list_failures() == []
    project.edit("docs/en/weights.md", "{{ weights[0]:.4f }}", "{{ weights[1]:.4f }}")
    assert list_failures()
    project.edit("docs/en/weights.md", "{{ weights[1]:.4f }}", "{{ weights[0]:.4f }}")
    assert list_failures() == []


def test_a_number_of_the_front_matter_is_refused(project: FixtureProject) -> None:
    project.edit("docs/en/weights.md", "A test page.", "The weight is 0.0634.", both=True)
    assert "docs/en/weights.md:3: 0.0634 is typed" in "\n".join(project.find_faults())


def test_a_number_may_say_why_it_is_typed(project: FixtureProject) -> None:
    page = "docs/en/weights.md"
    project.edit(page, "## The weights", "Up to 65,504.\n\n## The weights", both=True)
    why = "A test page.\ntyped:\n  65504: the largest number of float16"
    project.edit(page, "A test page.", why, both=True)
    assert project.find_faults() == []
    project.edit(page, "Up to 65,504.", "Up to the largest.", both=True)
    assert "typed: 65504 needs a reason, and to stand on the page" in "\n".join(
        project.find_faults()
    )


def test_a_result_in_a_comment_of_a_listing_is_refused(project: FixtureProject) -> None:
    project.edit(WEIGHTS, "weights = softmax(scores)", "weights = softmax(scores)  # 0.0634, …")
    assert "weights.py:14: 0.0634 is typed in a comment: print it" in "\n".join(
        project.find_faults()
    )


def test_a_build_tells_all_of_it_and_publishes_nothing(built: FixtureProject) -> None:
    """Of a listing too that was without a fault in the build before."""
    published = read_files(built.root / "site")
    built.edit("docs/en/weights.md", "{{ weights[0]:.2f }}", "{{ 0.06:.2f }}", both=True)
    built.edit("docs/listings/constants.py", "print(name", 'print("7")\nprint(name')
    report = built.build("-q").stderr
    assert "docs/en/weights.md:23: {{ 0.06 }} computes nothing" in report
    assert "docs/listings/constants.py:7: a print of typed values" in report
    assert read_files(built.root / "site") == published


def test_a_block_that_never_ends_is_a_fault_at_its_line(project: FixtureProject) -> None:
    project.edit(WEIGHTS, 'name = "weights"', 'name = "weights"\nwhile True:\n    pass')
    done = project.build("-q", ATTENTION_DOCS_LIMIT="1")
    assert done.returncode
    assert "TimeoutError: the page took more than 1 s" in done.stderr
    assert re.search(r'weights\.py", line 1[45]', done.stderr)


def test_what_runs_ends_with_a_build_that_is_killed(project: FixtureProject) -> None:
    mark, begun = f"of-{project.root.name}-{os.getpid()}", project.root / "begun"
    loop = f"open({str(begun)!r}, 'w').close()  # needs: a sign\nwhile True:\n    pass"
    project.edit(WEIGHTS, 'name = "weights"', f'name = "weights"\n{loop}')
    table = f'[strings]\n"{begun}" = "{begun}"\n[comments]\n"needs: a sign" = "needs: a sign"\n'
    project.write("docs/listings/weights.zh.toml", table)
    build = subprocess.Popen(
        [sys.executable, "-m", "mkdocs", "build", "-q"],
        cwd=project.root,
        env=make_environment(project.root, MARK=mark),
    )
    assert wait_until(begun.exists, 60)
    assert len(find_processes(mark)) > 2  # the build, the server of processes, a page
    build.send_signal(signal.SIGKILL)
    build.wait()
    assert wait_until(lambda: not find_processes(mark), 30), find_processes(mark)


def find_processes(mark: str) -> list[int]:
    """The processes that were started with this mark in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"MARK={mark}\0".encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def wait_until(holds, seconds: float) -> bool:  # type: ignore[no-untyped-def]
    end = time.monotonic() + seconds
    while not (done := holds()) and time.monotonic() < end:
        time.sleep(0.05)
    return bool(done)
