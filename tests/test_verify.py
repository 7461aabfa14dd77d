"""`python -m attention_docs.verify`: what it says of a small site written by hand, and of ours."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
import zipfile
from contextlib import suppress
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attention_docs import verify
from attention_docs.locales import read_locale
from tests.conftest import BUILT, ROOT, Handler

pytestmark = pytest.mark.long

LISTING = '''"""A listing."""

# --8<-- [start:setup]
import numpy as np

from attention_docs.figures import bar_chart
from attention_docs.text import text

third = np.ones(1) / 3
# --8<-- [end:setup]

# --8<-- [start:shown]
print("a third is", text(third, ".4f"))
print("three of them", text(3 * third, ".1f"))
bar_chart(["one", "two"], {"": [1, 2]}, ylabel="weight", spec="d")
# --8<-- [end:shown]

# --8<-- [start:heavy]
half = np.ones(2) / 2
# --8<-- [end:heavy]

# --8<-- [start:after]
print(text(half, ".2f"))
# --8<-- [end:after]
'''
REPORT = "a third is [0.3333]\nthree of them [1.0]"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def record(name: str, block: int, text: str, values: list[float], **more: Any) -> dict[str, Any]:
    kind = "inline" if "expression" in more else "output"
    own = {"id": name, "kind": kind, "slug": "small", "lang": "en", "block": block}
    own |= {"page": "/small/", "section": "top"}
    own |= {"table": [], "labels": []} if kind == "output" else {}
    return own | {"text": text, "values": values, "sha256": digest(text)} | more


def document(alt: str) -> dict[str, Any]:
    """What numbers.json says of the listing: worked out by hand but for the words of a figure."""
    file = "attention_docs/text.py"
    return {
        "languages": ["en"],
        "strings": {},
        "locales": {},
        "versions": {"numpy": np.__version__},
        "sha256": {"docs/listings/small.py": digest(LISTING), file: digest_of(ROOT / file)},
        "pages": {
            "small": [[f"small.py:{name}"] for name in ("setup", "shown", "heavy", "after")],
            "empty": [],
        },
        "results": [],
        "reading": {
            "path": ["small", "empty"],
            "chapters": {"en": {"small": {"minutes": 3}, "empty": {"minutes": 4}}},
        },
        "records": [
            record("out-shown", 2, REPORT, [0.3333, 1.0], figure=alt, labels=[alt]),
            record("value-1", 2, "0.67", [0.67], expression="2 * third[0]", format=".2f"),
            record("value-2", 3, "4", [4.0], expression="site.blocks", format=""),
            record("out-after", 4, "[0.50, 0.50]", [0.5, 0.5], figure=""),
        ],
    }


def digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="session")
def alt() -> str:
    from attention_docs.figures import bar_chart

    return bar_chart(["one", "two"], {"": [1, 2]}, ylabel="weight", spec="d").alt("en")


PAGE = """<!doctype html>
<p>In front of the article nothing counts: <span class="value" id="value-1">9</span></p>
<article><h1 id="top">Thirds</h1>
<div class="output" id="out-shown"><pre><span></span><code>a third is [0.3333]
three of them [1.0]
</code></pre><svg role="img" aria-label="ALT"><text>1</text></svg><img src="a.png" alt="">
<div class="tools"><div class="block" data-block="shown"><pre>print(1 / 3)</pre></div></div></div>
<p>Of 2 thirds <span class="value" id="value-1">0.67</span>, <math><mi>n</mi><mo>=</mo>
<mn>4</mn></math>.<br></p>
<div class="output" id="out-after"><pre><code>[0.50, 0.50]</code></pre></div>
</article>
"""


class SmallSite:
    """A small site in a folder."""

    def __init__(self, folder: Path, alt: str) -> None:
        self.folder = folder
        self.document = document(alt)
        (folder / "listings").mkdir()
        (folder / "small").mkdir()
        self.page = PAGE.replace("ALT", alt)
        self.write("listings/small.py", LISTING)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8", newline="\n")

    def verify(self, *flags: str, place: str = "") -> int:
        """Run its code, which is not that of this checkout."""
        self.save()
        run = [] if "--pages" in flags else ["--run"]
        return verify.main([place or str(self.folder), *run, *flags])

    def save(self) -> None:
        self.write("numbers.json", json.dumps(self.document))
        self.write("small/index.html", self.page)
        names = ("numbers.json", "listings/small.py", "small/index.html")
        there = {n: self.folder / n for n in names if (self.folder / n).is_file()}
        sums = (f"{digest_of(path)}  {name}\n" for name, path in there.items())
        self.write("SHA256SUMS", "".join(sums))

    def needs_torch(self) -> None:
        """Have the last number made by torch, whose import takes seconds."""
        heavy = LISTING.replace("half = np.ones", "import torch\n\nhalf = torch.ones")
        self.write("listings/small.py", heavy)
        self.document["sha256"]["docs/listings/small.py"] = digest(heavy)

    @property
    def shown(self) -> dict[str, Any]:
        """The record of the output with two lines and a figure."""
        first: dict[str, Any] = self.document["records"][0]
        return first


@pytest.fixture
def small(tmp_path: Path, alt: str) -> SmallSite:
    return SmallSite(tmp_path, alt)


# --- equal


def test_a_sentence_has_minus_signs_where_python_prints_hyphens() -> None:
    records = [record("value-1", 3, "-inf, -0.67", [], expression="least", format="")]
    for text, faults in {"−∞, −0.67": 0, "−∞, 0.67": 1}.items():
        page = f'<article><h1 id="top">Least</h1><span class="value" id="value-1">{text}</span>'
        found = [*verify.touched({"records": records}, lambda name, page=page: page.encode())]
        assert len(found) == faults


def test_minutes_are_those_of_the_language(
    small: SmallSite, capsys: pytest.CaptureFixture[str]
) -> None:
    """The path takes 3 and 4 minutes in one language, 9 and 4 in the other."""
    made = {"small": {"minutes": 9}, "empty": {"minutes": 4}}
    locales = {"made": read_locale("en").table}
    small.document |= {"languages": ["en", "made"], "locales": locales}
    small.document["reading"]["chapters"]["made"] = made
    asked = {"expression": "site.path_minutes", "format": ""}
    page = '<article><h1 id="top">Times</h1><p>{}</p></article>'
    one, two, three, four = (
        f'<span class="value" id="value-{n}">{text}</span>'
        for n, text in {1: 7, 2: 3, 3: 13, 4: 7}.items()
    )
    small.page = page.format(one + two)
    (small.folder / "made").mkdir()
    small.write("made/index.html", page.format(three + four))
    small.document["records"] = [
        record("value-1", 3, "7", [7.0], **asked),
        record("value-2", 3, "3", [3.0], expression='site.minutes["small"]', format=""),
        record("value-3", 3, "13", [13.0], **asked) | {"lang": "made", "page": "/made/"},
        record("value-4", 3, "7", [7.0], **asked) | {"lang": "made", "page": "/made/"},
    ]
    assert small.verify("--all") == 1
    lines = capsys.readouterr().out.splitlines()
    states = [line.split(":")[0] for line in lines if "value-" in line]
    assert states == ["equal", "equal", "equal", "differs"]


def test_a_language_brings_its_own_words(
    small: SmallSite, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of figures under "locales", those of the listing under "strings"."""
    own = read_locale("en").table | {"terms": {"weight": "share"}}
    small.document |= {"languages": ["en", "made"], "locales": {"made": own}}
    small.document["strings"] = {"small": {"made": {"a third is": "one of three is"}}}
    theirs = [one | {"lang": "made", "page": "/made/"} for one in small.document["records"]]
    printed = REPORT.replace("a third is", "one of three is")
    theirs[0] |= {"text": printed, "sha256": digest(printed)}
    theirs[0]["figure"] = theirs[0]["figure"].replace("weight", "share")
    theirs[0]["labels"] = [theirs[0]["figure"]]
    small.document["records"] += theirs
    (small.folder / "made").mkdir()
    made = small.page.replace("a third is", "one of three is").replace("weight", "share")
    small.write("made/index.html", made)
    assert small.verify() == 0
    theirs[0]["figure"] = theirs[0]["figure"].replace("share", "weight")
    assert small.verify() == 1
    assert "differs: small#out-shown (made): line " in capsys.readouterr().out
    small.document["strings"] = {"small": []}
    assert small.verify() == 2


def test_a_folder(small: SmallSite, capsys: pytest.CaptureFixture[str]) -> None:
    small.needs_torch()
    assert small.verify("--all") == 0
    lines = [f"equal: small#{r['id']} (en)" for r in small.document["records"]]
    wanted = [*lines, "4 equal, 0 differs, 0 not runnable here"]
    assert capsys.readouterr().out.splitlines() == wanted


def test_an_archive_and_an_address(small: SmallSite, tmp_path: Path) -> None:
    """The archive holds the site in a folder of its own; another zip is no archive of a site."""
    assert small.verify() == 0
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("numbers.json", "listings/small.py", "small/index.html", "SHA256SUMS"):
            archive.write(small.folder / name, f"attention-docs/{name}")
    assert verify.main([str(packed), "--run"]) == 0
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Handler, directory=str(small.folder))
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert verify.main([f"http://127.0.0.1:{server.server_port}/", "--run"]) == 0
        server.shutdown()


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package and what pip brings along, and nothing else: no torch."""
    folder = tmp_path_factory.mktemp("installed")
    (folder / "attention_docs").symlink_to(ROOT / "attention_docs")
    libraries = Path(np.__file__).parents[1]
    for name in ("numpy", "array_api_compat", "jaxtyping", "wadler_lindig"):
        for path in libraries.glob(f"{name}*"):
            (folder / path.name).symlink_to(path)
    return folder


def test_with_numpy_alone(small: SmallSite, installed: Path) -> None:
    """What needs torch, or uses what it has made, cannot run; all else is equal."""
    small.needs_torch()
    small.save()
    done = subprocess.run(
        [sys.executable, "-S", "-m", "attention_docs.verify", str(small.folder), "--run", "--all"],
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=small.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    assert "not runnable here: small#out-after (en): torch is not installed" in done.stdout
    assert done.stdout.endswith("3 equal, 0 differs, 1 not runnable here\n")


# --- different


@pytest.mark.parametrize(
    "change", [{"text": "a third is 0.3"}, {"values": [0.3333, 1.1]}, {"sha256": digest("")}]
)
def test_a_change_without_its_hash(small: SmallSite, change: dict[str, Any]) -> None:
    """The text, the numbers in it and its hash are one thing."""
    small.shown.update(change)
    found = verify.compare_records(small.document, {})
    (verdict,) = [one for one in found if one.id == "out-shown"]
    assert verdict.state == verify.DIFFERS
    assert verdict.reason == 'its "values" or "sha256" are not those of its "text"'


TOUCHED = {  # what is changed on the page alone, where, and how it is told
    ("0.67</span>", "0.68</span>"): ("value-1", "shows '0.68', numbers.json has '0.67'"),
    ("[1.0]", "[1.1]"): (
        "out-shown",
        "shows 'three of them [1.1]', numbers.json has 'three of them",
    ),
    ("[0.50, 0.50]", "[0.5, 0.5]"): ("out-after", "shows '[0.5, 0.5]', numbers.json has '[0.50"),
    ("<mn>4</mn>", "<mn>5</mn>"): ("value-2", "lacks '4' in the formulas of #top"),
    ('aria-label="', 'aria-label="9 '): ("out-shown", "shows '9 Bar chart"),
    ('id="out-after"', 'id="out-later"'): ("out-after", "lacks out-after"),
    ("</article>", '<span class="value" id="value-3">7</span></article>'): (
        "value-3",
        "shows it, and numbers.json has no record of it",
    ),
    ("<pre><code>[0.50", "<table><tr><td>7</td></tr></table><pre><code>[0.50"): (
        "out-after",
        "shows '7', numbers.json has ''",
    ),
}


@pytest.mark.parametrize("change", TOUCHED)
def test_a_page_that_was_touched_is_named(
    small: SmallSite, capsys: pytest.CaptureFixture[str], change: tuple[str, str]
) -> None:
    """Though numbers.json is that of the build."""
    assert change[0] in small.page
    small.page = small.page.replace(*change)
    assert small.verify() == 1
    name, report = TOUCHED[change]
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(f"differs: small#{name} (en): the page /small/ {report}")


def test_a_page_that_is_missing(small: SmallSite, capsys: pytest.CaptureFixture[str]) -> None:
    small.save()
    (small.folder / "small" / "index.html").unlink()
    assert verify.main([str(small.folder), "--pages"]) == 1
    assert "wanted small/index.html of the site, got" in capsys.readouterr().out


def test_a_file_that_is_not_that_of_the_build_is_named(
    small: SmallSite, capsys: pytest.CaptureFixture[str]
) -> None:
    small.save()
    small.write("listings/small.py", LISTING + "# edited")
    assert verify.main([str(small.folder), "--pages"]) == 1
    differs = "differs: listings/small.py: not the file that the build has written"
    assert capsys.readouterr().out.splitlines()[0] == differs


CHANGES = [  # of each record: its text and values, and what is printed here
    (REPORT.replace("1.0", "1.1"), [0.3333, 1.1], "'three of them [1.0]'"),
    ("0.68", [0.68], "'0.67'"),
    ("5", [5.0], "'4'"),
    ("[0.50, 0.51]", [0.5, 0.51], "'[0.50, 0.50]'"),
]


def test_changed_values_with_their_hashes(
    small: SmallSite, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is reported, and only what has changed."""
    found = verify.run_pages(small.document, verify.open_site(str(small.folder)))
    records = small.document["records"]
    before = [dict(one) for one in records]
    for number, (text, values, _) in enumerate(CHANGES):
        records[number].update(text=text, values=values, sha256=digest(text))
        states = [one.state for one in verify.compare_records(small.document, found)]
        assert states == [verify.DIFFERS if i == number else verify.EQUAL for i in range(4)]
        records[number] = before[number]
    for one, (text, values, _) in zip(records, CHANGES, strict=True):
        one.update(text=text, values=values, sha256=digest(text))
    assert small.verify() == 1
    out = capsys.readouterr().out
    for text, _, here in CHANGES:
        assert f"published {text.splitlines()[-1]!r}, here {here}" in out
    assert out.endswith("0 equal, 4 differs, 0 not runnable here\n")


def test_a_changed_figure(small: SmallSite, capsys: pytest.CaptureFixture[str]) -> None:
    small.shown["figure"] = small.shown["figure"].replace("2", "3")
    assert small.verify() == 1
    assert "differs: small#out-shown (en)" in capsys.readouterr().out


def test_a_changed_listing_does_not_run(
    small: SmallSite, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = small.folder / "ran"
    changed = LISTING.replace("third = ", f"open({str(ran)!r}, 'w')\nthird = ")
    small.write("listings/small.py", changed)
    assert small.verify() == 1
    out = capsys.readouterr().out
    assert "docs/listings/small.py is not the file that the site was built from" in out
    assert out.endswith("1 equal, 3 differs, 0 not runnable here\n")  # the count needs no listing
    assert not ran.exists()


def test_a_listing_that_is_missing_or_lacks_a_section(
    small: SmallSite, capsys: pytest.CaptureFixture[str]
) -> None:
    small.document["pages"]["small"][1] = ["small.py:gone"]
    assert small.verify() == 1
    report = "docs/listings/small.py must hold the section gone, got 'gone'"
    assert report in capsys.readouterr().out
    (small.folder / "listings" / "small.py").unlink()
    assert small.verify() == 1
    assert "wanted listings/small.py of the site, got FileNotFoundError" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("print(text(third / nothing, 'd'))", "block 2 failed: NameError: name 'nothing'"),
        ("__import__('os')._exit(3)", "the process that ran this page died"),
    ],
)
def test_a_block_that_fails(
    small: SmallSite, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    changed = LISTING.replace('print("three', f'{line}\nprint("three')
    small.write("listings/small.py", changed)
    small.document["sha256"]["docs/listings/small.py"] = digest(changed)
    assert small.verify() == 1
    assert message in capsys.readouterr().out


def test_an_output_without_a_record(small: SmallSite, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever takes out what is wrong is found too."""
    del small.document["records"][0]
    assert small.verify() == 1
    report = "differs: small#block-2 (en): printed here, and numbers.json has no record of it"
    assert report in capsys.readouterr().out


def test_another_package_and_other_versions_are_reported(
    small: SmallSite, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are a reason, not a difference: the values decide."""
    small.document["versions"] = {"numpy": "1.0", "no-such-library": "2.0"}
    small.document["sha256"] |= {"attention_docs/text.py": "0", "attention_docs/gone.py": "0"}
    assert small.verify() == 0
    assert capsys.readouterr().out.splitlines() == [
        f"numpy: built with 1.0, here {np.__version__}",
        "no-such-library: built with 2.0, here none",
        "attention_docs/text.py: not the file that the site was built from",
        "attention_docs/gone.py: not in the package that is installed here",
        "4 equal, 0 differs, 0 not runnable here",
    ]


# --- whose code runs


def test_code_of_others_does_not_run(
    small: SmallSite, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Neither a listing nor an inline expression that the checkout lacks."""
    ran = tmp_path / "ran"
    changed = LISTING.replace("third = ", f"open({str(ran)!r}, 'w')\nthird = ")
    small.write("listings/small.py", changed)
    small.document["sha256"]["docs/listings/small.py"] = digest(changed)
    small.save()
    assert verify.main([str(small.folder)]) == 2
    wanted = "holds code that is not that of this checkout: docs/listings/small.py, {{ 2 * third[0]"
    assert wanted in capsys.readouterr().err
    assert not ran.exists()
    assert small.verify("--run") == 0
    assert ran.exists()


def make_checkout(small: SmallSite, folder: Path) -> Path:
    """A checkout that holds the code of the small site."""
    (folder / "docs" / "listings").mkdir(parents=True)
    (folder / "docs" / "en").mkdir()
    (folder / "docs" / "listings" / "small.py").write_text(LISTING, encoding="utf-8")
    page = "{{ 2 * third[0]:.2f }} and {{ site.blocks }}, not print(third)"
    (folder / "docs" / "en" / "small.md").write_text(page, encoding="utf-8")
    return folder


def test_code_of_the_checkout_is_nobody_elses(small: SmallSite, tmp_path: Path) -> None:
    root = make_checkout(small, tmp_path / "checkout")
    assert [*verify.find_foreign_code(small.document, root)] == []
    small.document["records"][1]["expression"] = "print(third)"
    found = ["{{ print(third) }} of small"]
    assert [*verify.find_foreign_code(small.document, root)] == found
    small.document["records"][1] |= {"expression": "2 * third[0]", "format": ".999999f"}
    assert [*verify.find_foreign_code(small.document, root)] == ["{{ 2 * third[0] }} of small"]
    small.document["records"][1]["expression"] = "print(third)"
    small.document["sha256"]["docs/listings/../../../outside.py"] = digest("")
    (tmp_path / "outside.py").write_text("", encoding="utf-8")
    found.insert(0, "docs/listings/../../../outside.py")
    assert [*verify.find_foreign_code(small.document, root)] == found


def test_a_name_that_a_site_chose_is_no_expression(
    small: SmallSite, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What a site says of itself is looked up, whatever the names of its pages are."""
    ran = tmp_path / "ran"
    name = f'"] if not open({str(ran)!r}, "w") else site.minutes["'
    small.document["reading"]["chapters"] = {"en": {name: {"minutes": 1}}}
    small.document["records"][1] |= {"expression": f'site.minutes["{name}"]', "format": ""}
    small.save()
    assert verify.main([str(small.folder)]) == 2
    assert "{{ site.minutes[" in capsys.readouterr().err
    assert small.verify("--run") == 1
    assert not ran.exists()


def test_what_never_ends_is_given_up(
    small: SmallSite, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elements in one another, a list of files, a file that comes byte by byte."""
    published = small.page
    small.page = published.replace("<article>", "<article>" + "<div>" * 600)
    assert small.verify("--pages") == 1
    assert "wanted at most 500 elements in one another" in capsys.readouterr().out
    small.page = published
    assert small.verify("--pages") == 0
    sums = small.folder / "SHA256SUMS"
    sums.write_text(sums.read_text() * verify.MOST_FILES)
    assert verify.main([str(small.folder), "--pages"]) == 2
    assert "SHA256SUMS must name at most 10,000 files" in capsys.readouterr().err

    class Dripping(Handler):
        def do_GET(self) -> None:  # noqa: N802
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                for _ in range(50):
                    self.wfile.write(b" ")
                    time.sleep(0.1)

    monkeypatch.setattr(verify, "SLOWEST", 1)
    with ThreadingHTTPServer(("127.0.0.1", 0), Dripping) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert verify.main([f"http://127.0.0.1:{server.server_port}/"]) == 2
        server.shutdown()
    assert "wanted the file within 1 s" in capsys.readouterr().err


def test_pages_alone_run_nothing(
    small: SmallSite, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "run_pages", None)
    assert small.verify("--pages") == 0
    small.page = small.page.replace("[1.0]", "[1.1]")
    assert small.verify("--pages") == 1
    assert "shows 'three of them [1.1]'" in capsys.readouterr().out


def test_large_files_are_not_read(
    small: SmallSite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A small archive may hold a large file, and its header may lie."""
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("numbers.json", " " * (verify.LARGEST + 1))
    assert packed.stat().st_size < 2**17
    assert verify.main([str(packed)]) == 2
    assert "ValueError: wanted at most 128 MiB, got more" in capsys.readouterr().err


def test_all_files_together_are_limited(
    small: SmallSite, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "LARGEST_SITE", 100 * 2**20)
    with (small.folder / "zeros").open("wb") as sparse:
        sparse.truncate(60 * 2**20)
    assert small.verify("--pages") == 0
    sums = small.folder / "SHA256SUMS"
    zeros = hashlib.sha256(bytes(60 * 2**20)).hexdigest()
    sums.write_text(sums.read_text() + f"{zeros}  zeros\n{zeros}  ./zeros\n")
    assert verify.main([str(small.folder), "--pages"]) == 1
    (fault,) = [one for one in capsys.readouterr().out.splitlines() if "zeros" in one]
    assert fault.endswith(
        "./zeros of the site, got ValueError: wanted at most 100 MiB in all, got more"
    )


def test_a_redirect_leads_to_no_plain_http(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Leading(Handler):
        def do_GET(self) -> None:  # noqa: N802
            self.send_response(302)
            self.send_header("Location", "http://attention.example/numbers.json")
            self.end_headers()

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Leading, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert verify.main([f"http://127.0.0.1:{server.server_port}/"]) == 2
        server.shutdown()
    wanted = "wanted an address with https, got a redirect to http://attention.example/numbers.json"
    assert wanted in capsys.readouterr().err


def test_a_name_leads_to_no_file_outside(
    small: SmallSite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (small.folder.parent / "outside").write_text("a secret")
    assert small.verify("--pages") == 0
    sums = small.folder / "SHA256SUMS"
    sums.write_text(sums.read_text() + f"{digest('a secret')}  ../outside\n")
    assert verify.main([str(small.folder), "--pages"]) == 1
    assert "wanted ../outside of the site, got ValueError" in capsys.readouterr().out


def test_plain_http_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert verify.main(["http://attention.example/"]) == 2
    assert capsys.readouterr().err.startswith("wanted an address with https, got http://attention")


def test_what_a_site_says_does_not_steer_the_terminal(
    small: SmallSite, capsys: pytest.CaptureFixture[str]
) -> None:
    small.document["sha256"]["attention_docs/\x1b[2J.py"] = "0"
    small.document["sha256"]["../../etc/hostname"] = "0"
    assert small.verify("--pages") == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "attention_docs/\\x1b[2J.py: not in the package" in out
    assert "../../etc/hostname: not in the package" in out
    small.document["records"][0]["id"] = "x\n4000 equal, 0 differs"
    assert small.verify("--pages", "--all") == 1
    lines = capsys.readouterr().out.splitlines()
    assert not any(line.startswith("4000") for line in lines)
    assert any("small#x\\x0a4000 equal" in line for line in lines)


# --- nothing to compare

OTHERS = [
    ("[" * 200_000, "numbers.json must be JSON, got maximum recursion depth"),
    (" " * (16 * 2**20 + 1), "numbers.json must have at most 16 MiB, got more"),
    ("not JSON", "numbers.json must be JSON, got Expecting value"),
    ("[1]", "numbers.json must be an object, got list"),
    ('{"name": "x"}', 'numbers.json must hold "languages", a list, got nothing'),
    ({"pages": []}, 'numbers.json must hold "pages", a dict, got list'),
    ({"pages": {"x": [1]}}, "numbers.json must hold lists of sections for x, got [1]"),
    ({"languages": []}, "numbers.json must name languages, got []"),
    ({"records": ["x"]}, "record 1 of numbers.json must be an output or an inline value, got 'x'"),
    ({"records": [{"kind": "output"}]}, 'record 1 of numbers.json must hold "text", a str, got'),
]


@pytest.mark.parametrize(("foreign", "message"), OTHERS, ids=[report for _, report in OTHERS])
def test_another_file(
    small: SmallSite, capsys: pytest.CaptureFixture[str], foreign: Any, message: str
) -> None:
    whole = foreign if isinstance(foreign, str) else json.dumps(small.document | foreign)
    small.write("numbers.json", whole)
    assert verify.main([str(small.folder)]) == 2
    assert capsys.readouterr().err.startswith(message)


def test_no_site_no_archive_no_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "site.zip").write_bytes(b"no zip")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme", "")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{free.getsockname()[1]}"
    for place, report in [
        (tmp_path, "wanted numbers.json of the site, got FileNotFoundError"),
        (tmp_path / "gone", "wanted a site's folder, its archive or its address, got "),
        (tmp_path / "site.zip", "wanted an archive of a site (.zip), got "),
        (tmp_path / "other.zip", "wanted numbers.json of the site, got KeyError"),
        (closed, "wanted numbers.json of the site, got URLError"),
        ("http://", "wanted an address with https, got "),
        ("https://", "wanted numbers.json of the site, got "),
    ]:
        assert verify.main([str(place)]) == 2
        assert capsys.readouterr().err.startswith(report)


# --- the built site


@pytest.mark.site
def test_numbers_json_knows_its_sources(numbers_json: dict[str, Any]) -> None:
    """Every listing, the lock, and every module that a listing names, by SHA-256."""
    known = numbers_json["sha256"]
    assert {path: digest_of(ROOT / path) for path in known} == known
    listings = {f"docs/listings/{path.name}" for path in (ROOT / "docs/listings").glob("*.py")}
    wanted = {*listings, "requirements.lock", "attention_docs/softmax.py"}
    wanted |= {"attention_docs/nn/multi_head.py", "attention_docs/checks.py"}
    assert wanted <= known.keys()
    assert not [path for path in known if "/publish/" in path or "/render/" in path]


@pytest.mark.site
def test_a_chapter_of_the_built_site(site: Path, numbers_json: dict[str, Any]) -> None:
    """The site itself, for one chapter; `.ci/run` verifies all of it."""
    own = [one for one in numbers_json["records"] if one["slug"] == "eight-steps"]
    assert {one["lang"] for one in own} == set(BUILT)
    blocks = {"eight-steps": numbers_json["pages"]["eight-steps"]}
    part = numbers_json | {"records": own, "pages": blocks}
    read = verify.open_site(str(site))
    found = list(
        verify.compare_records(part, verify.run_pages(part, read), verify.touched(part, read))
    )
    assert len(found) == len(own) > 90
    assert {one.state for one in found} == {verify.EQUAL}
