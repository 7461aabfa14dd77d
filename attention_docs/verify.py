"""Run the code behind every number of a site again, and compare.

    python -m attention_docs.verify PLACE [--all] [--pages | --run]

PLACE is a site: its folder, its archive (attention-docs.zip), or its address (https://…). Its files
are compared with SHA256SUMS (at an address those of text), what pages show with numbers.json, and
numbers.json with what the listings give here, with the package that is installed. Only code that
you have already is run: the site's listings and inline expressions must be those of the checkout
that holds this package. Any other code runs only with --run, and then with all the rights that you
have. With --pages nothing runs: the files are compared with SHA256SUMS and numbers.json alone.
An address is one with https, or one of this machine. A file may have 128 MiB, all of them 2 GiB.

The standard library and NumPy are enough; a block that needs torch says so where torch is not
installed. What the words of listings and figures are in each language, numbers.json says.

Ends with 0 if every value is equal, 1 if one differs, 3 if none differs but some could not run
here, and 2 if nothing was compared: no such place, no network, another file, code of others.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import multiprocessing
import operator
import os
import platform
import re
import sys
import time
import urllib.request
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.client import HTTPException
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, TextIO
from urllib.parse import urlsplit

from attention_docs.running.block import BlockRunner
from attention_docs.running.imports import find_torch_blocks
from attention_docs.running.record import describe_text
from attention_docs.running.result import STEPS, Code
from attention_docs.running.sections import SectionError, split_sections

EQUAL, DIFFERS, NOT_RUN = "equal", "differs", "not runnable here"
LOCAL = ("localhost", "127.0.0.1", "::1")  # where plain http meets nobody on the way
NUMBERS, SUMS, LISTINGS = "numbers.json", "SHA256SUMS", "docs/listings/"
ROOT = Path(__file__).parents[1]  # where the installed package lies
TEXT = (".html", ".md", ".json", ".py", ".js", ".css", ".ipynb", ".txt", ".csv")
PATIENCE = 30  # seconds until a site counts as out of reach
SLOWEST = 600  # seconds that one file of a site may take
MOST_FILES = 10_000  # of a site
DEEPEST = 500  # elements in one another on a page
LARGEST = 128 * 2**20  # bytes of one file of a site; the archive, its largest, has half of that
LARGEST_NUMBERS = (
    16 * 2**20
)  # bytes of numbers.json, which may take twenty times as much once it is read
LARGEST_SITE = 2 * 2**30  # bytes of all files together
EXPRESSION = re.compile(r"\{\{(.+?)\}\}", re.DOTALL)
SHAPE: dict[str, type] = {
    "languages": list,
    "strings": dict,
    "locales": dict,
    "versions": dict,
    "sha256": dict,
    "pages": dict,
    "results": list,
    "reading": dict,
    "records": list,
}
PLACE: dict[str, type] = {"id": str, "slug": str, "lang": str, "page": str, "section": str}
FIELDS: dict[str, dict[str, type]] = {
    "output": {**PLACE, "block": int, "figure": str, "labels": list, "table": list},
    "inline": {**PLACE, "block": int, "expression": str, "format": str},
}
Document = dict[str, Any]
Read = Callable[[str], bytes]


class PlaceError(Exception):
    """There is nothing to compare; its lines say what was wanted and what was got."""


# --- what a site says of its numbers


def open_site(place: str) -> Read:
    """How the files of a site are read, by their paths in it; ValueError for what is too large."""
    read, left = _open_place(place), LARGEST_SITE

    def read_counted(name: str) -> bytes:
        nonlocal left
        whole = read(name)
        left -= len(whole)
        if left < 0:
            raise ValueError(f"wanted at most {LARGEST_SITE // 2**20} MiB in all, got more")
        return whole

    return read_counted


def _open_place(place: str) -> Read:
    address = urlsplit(place)
    if _is_safe(place):
        return lambda name: _fetch(place.rstrip("/") + "/" + name)
    if address.scheme == "http":
        raise PlaceError(
            f"wanted an address with https, got {place}: anyone on the way can change it"
        )
    path = Path(place)
    if path.is_dir():
        return lambda name: _read_below(path, name)
    if not path.is_file():
        raise PlaceError(f"wanted a site's folder, its archive or its address, got {place}")
    if not zipfile.is_zipfile(path):
        raise PlaceError(f"wanted an archive of a site (.zip), got {place}")
    names = zipfile.ZipFile(path).namelist()
    above = min((n.removesuffix(NUMBERS) for n in names if n.endswith(NUMBERS)), default="")

    def read_member(name: str) -> bytes:
        with zipfile.ZipFile(path) as archive, archive.open(above + name) as member:
            return _read_limited(member)

    return read_member


def _is_safe(address: str) -> bool:
    """Whether an address is one with https, or one of this machine."""
    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOCAL)


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only where the first address could have led."""

    def redirect_request(
        self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: str
    ) -> Any:
        """The next request; ValueError where anyone on the way could change what it brings."""
        if not _is_safe(newurl):
            raise ValueError(f"wanted an address with https, got a redirect to {newurl}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _fetch(url: str) -> bytes:
    end, whole = time.monotonic() + SLOWEST, bytearray()
    with urllib.request.build_opener(_SafeRedirects).open(url, timeout=PATIENCE) as answer:
        while part := answer.read1(2**16):
            whole += part
            _check_size(len(whole))
            if time.monotonic() > end:
                raise ValueError(f"wanted the file within {SLOWEST} s")
    return bytes(whole)


def _read_below(folder: Path, name: str) -> bytes:
    """A file of a folder; ValueError for one that lies elsewhere."""
    file = (folder / name).resolve()
    if not file.is_relative_to(folder.resolve()):
        raise ValueError(f"wanted a file of {folder}, got {name}")
    with file.open("rb") as stream:
        return _read_limited(stream)


def _read_limited(stream: IO[bytes]) -> bytes:
    """A whole file; ValueError where it is too large, whatever its header said."""
    whole = stream.read(LARGEST + 1)
    _check_size(len(whole))
    return whole


def _check_size(size: int) -> None:
    if size > LARGEST:
        raise ValueError(f"wanted at most {LARGEST // 2**20} MiB, got more")


def read_file(read: Read, name: str) -> bytes:
    """A file of a site; PlaceError where it is not there."""
    try:
        return read(name)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, HTTPException) as error:
        message = f"{type(error).__name__}: {error}"
        raise PlaceError(f"wanted {name} of the site, got {message}") from None


def parse_document(raw: bytes) -> Document:
    """The content of numbers.json; PlaceError for any other file."""
    if len(raw) > LARGEST_NUMBERS:
        raise PlaceError(f"{NUMBERS} must have at most {LARGEST_NUMBERS // 2**20} MiB, got more")
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise PlaceError(f"{NUMBERS} must be JSON, got {error}") from None
    if not isinstance(document, dict):
        raise PlaceError(f"{NUMBERS} must be an object, got {type(document).__name__}")
    _check_kind(document, SHAPE, NUMBERS)
    for slug, blocks in document["pages"].items():
        if not _is_nested(blocks, [[str]]):
            raise PlaceError(
                f"{NUMBERS} must hold lists of sections for {slug}, got {blocks!r:.80}"
            )
    if not document["languages"] or not _is_nested(document["languages"], [str]):
        raise PlaceError(f"{NUMBERS} must name languages, got {document['languages']!r:.80}")
    for slug, tables in document["strings"].items():
        if not isinstance(tables, dict) or not _is_nested([*tables.values()], [dict]):
            raise PlaceError(
                f"{NUMBERS} must hold tables of strings for {slug}, got {tables!r:.80}"
            )
    for number, record in enumerate(document["records"], start=1):
        where = f"record {number} of {NUMBERS}"
        kind = record.get("kind") if isinstance(record, dict) else None
        if kind not in FIELDS:
            raise PlaceError(f"{where} must be an output or an inline value, got {record!r:.80}")
        _check_kind(record, {"text": str, "values": list, "sha256": str} | FIELDS[kind], where)
    return document


def _is_nested(found: Any, wanted: Any) -> bool:
    """Whether something is lists of lists … of one kind."""
    if isinstance(wanted, list):
        return isinstance(found, list) and all(_is_nested(one, wanted[0]) for one in found)
    return isinstance(found, wanted)


def _check_kind(found: Mapping[str, Any], wanted: Mapping[str, type], where: str) -> None:
    for name, kind in wanted.items():
        if not isinstance(found.get(name), kind):
            got = type(found[name]).__name__ if name in found else "nothing"
            raise PlaceError(f'{where} must hold "{name}", a {kind.__name__}, got {got}')


def find_changed_files(read: Read, text_alone: bool) -> Iterator[str]:
    """The files of a site that are not those of the build, or are gone; or of those with text."""
    lines = read_file(read, SUMS).decode(errors="replace").splitlines()
    if len(lines) > MOST_FILES:
        raise PlaceError(f"{SUMS} must name at most {MOST_FILES:,} files, got {len(lines):,}")
    for line in lines:
        digest, _, name = line.partition("  ")
        if text_alone and not name.endswith(TEXT):
            continue
        try:
            if hashlib.sha256(read_file(read, name)).hexdigest() != digest:
                yield f"{name}: not the file that the build has written"
        except PlaceError as error:
            yield str(error)


# --- what a page shows

HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
BOXES = {"inside", "result", "exercise"}
VOID = {"br", "col", "hr", "img", "input", "source", "wbr"}


@dataclass
class Output:
    """What an output shows: printed texts, rows of tables, and what figures say of themselves."""

    printed: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)


class Shown(HTMLParser):
    """The numbers that a page shows.

    Attributes:
        outputs: by their ids.
        values: inline values by their ids; one in a formula is a part of its text.
        formulas: the text of the formulas of a heading, or of a box but not of boxes in it.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.outputs: dict[str, Output] = {}
        self.values: dict[str, str] = {}
        self.formulas: dict[str, str] = {}
        self._open: list[tuple[str, str, set[str]]] = []
        self._heading = ""
        self.feed(html[html.find("<article") : html.rfind("</article>")])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin what the element begins."""
        given = {key: value or "" for key, value in attrs}
        name, classes = given.get("id", ""), set(given.get("class", "").split())
        if tag not in VOID:
            self._open.append((tag, name, classes))
        if len(self._open) > DEEPEST:
            raise PlaceError(f"wanted at most {DEEPEST} elements in one another, got more")
        if tag in HEADINGS:
            self._heading = name
        if tag == "div" and "output" in classes:
            self.outputs[name] = Output()
        if tag == "span" and "value" in classes:
            self.values[name] = ""
        if output := self._output():
            match tag:
                case "pre":
                    output.printed.append("")
                case "tr":
                    output.rows.append([])
                case "td" | "th" if output.rows:
                    output.rows[-1].append("")
                case "svg" if given.get("aria-label"):
                    output.labels.append(given["aria-label"])

    def handle_endtag(self, tag: str) -> None:
        """End the element, and what it holds."""
        places = [number for number, (name, *_) in enumerate(self._open) if name == tag]
        if places:
            del self._open[places[-1] :]

    def handle_data(self, data: str) -> None:
        """Take the text to where it is shown."""
        tags = {tag for tag, *_ in self._open}
        for tag, name, classes in self._open:
            if tag == "span" and "value" in classes:
                self.values[name] += data
        if "math" in tags:
            boxes = [n for tag, n, classes in self._open if tag == "div" and n and BOXES & classes]
            place = boxes[-1] if boxes else self._heading
            self.formulas[place] = self.formulas.get(place, "") + squeezed(data)
        if output := self._output():
            if "pre" in tags and output.printed:
                output.printed[-1] += data
            elif tags & {"td", "th"} and output.rows:
                output.rows[-1][-1] += data

    def _output(self) -> Output | None:
        if any("block" in classes for _, _, classes in self._open):  # its code may stand in it
            return None
        names = [name for _, name, classes in self._open if "output" in classes]
        return self.outputs.get(names[-1]) if names else None


def squeezed(text: str) -> str:
    """Without spaces, and with the hyphen for a minus sign: formulas set both their own way."""
    return "".join(text.split()).replace("−", "-")


def printed(text: str) -> str:
    """An inline value as Python prints it: sentences have minus signs and ∞."""
    return text.replace("−", "-").replace("∞", "inf")


def touched(document: Document, read: Read) -> Iterator[tuple[Document, str]]:
    """What pages show otherwise than numbers.json says: the record, and how it differs."""
    place = operator.itemgetter("page", "lang", "slug")
    for (page, lang, slug), found in itertools.groupby(document["records"], place):
        try:
            shown = Shown(read_file(read, f"{page.strip('/')}/index.html".lstrip("/")).decode())
        except PlaceError as error:
            yield from ((record, str(error)) for record in found)
            continue
        known = set()
        for record in found:
            known.add(record["id"])
            if reason := _shown(record, shown):
                yield record, f"the page {page} {reason}"
        for name in [*shown.outputs, *shown.values]:
            if name not in known:
                record = {"slug": slug, "lang": lang, "id": name}
                yield record, f"the page {page} shows it, and {NUMBERS} has no record of it"


def _shown(record: Document, shown: Shown) -> str:
    """How a page shows a record otherwise, or ""; of a formula what comes after is left."""
    name, section, text = record["id"], record["section"], record["text"]
    if record["kind"] == "inline":
        if name in shown.values:
            return _unlike(text, printed(shown.values[name]))
        _, found, rest = shown.formulas.get(section, "").partition(squeezed(text))
        shown.formulas[section] = rest if found else shown.formulas.get(section, "")
        return "" if found else f"lacks {text!r} in the formulas of #{section}"
    if name not in shown.outputs:
        return f"lacks {name}"
    output = shown.outputs[name]
    pieces = [
        _unlike(text, "\n".join(one.rstrip("\n") for one in output.printed)),
        _unlike(_lines(record["table"]), _lines(output.rows)),
        _unlike("\n".join(record["labels"]), "\n".join(output.labels)),
    ]
    return "; ".join(filter(None, pieces))


def _unlike(said: str, shows: str) -> str:
    """The first line in which two texts differ, or ""."""
    lines = itertools.zip_longest(said.split("\n"), shows.split("\n"), fillvalue="")
    return next((f"shows {two!r}, {NUMBERS} has {one!r}" for one, two in lines if one != two), "")


def _lines(rows: Sequence[Sequence[str]]) -> str:
    """Rows as lines; d_k and dₖ stand in a table as d with a small k."""
    text = "\n".join(" | ".join(cell.strip() for cell in row) for row in rows)
    return text.replace("_", "").replace("ₖ", "k")


# --- whose code it is


def find_foreign_code(document: Document, root: Path = ROOT) -> Iterator[str]:
    """What a site would run that the checkout does not hold: listings, and inline expressions."""
    for path, digest in document["sha256"].items():
        if path.startswith(LISTINGS) and (".." in path or _hash_file(root, path) != digest):
            yield path
    docs = root / "docs"
    known: dict[str, set[str]] = {}
    for file in docs.glob("*/**/*.md"):
        slug = "/".join(file.relative_to(docs).with_suffix("").parts[1:])
        found = EXPRESSION.findall(file.read_text(encoding="utf-8"))
        known.setdefault(slug, set()).update(map(squeezed, found))
    for record in document["records"]:
        if record["kind"] != "inline":
            continue
        expression, spec = record["expression"], record["format"]
        written = squeezed(f"{expression}:{spec}" if spec else expression)
        if written not in known.get(record["slug"], ()):
            yield f"{{{{ {expression} }}}} of {record['slug']}"


def _hash_file(root: Path, path: str) -> str:
    """The SHA-256 of a file below a folder; "" where there is none, or where it lies elsewhere."""
    file = (root / path).resolve()
    if not file.is_relative_to(root.resolve()) or not file.is_file():
        return ""
    return hashlib.sha256(file.read_bytes()).hexdigest()


# --- running a page


@dataclass(frozen=True)
class Job:
    """The blocks of a page, and after each of them (0: before the first) the inline values."""

    slug: str
    blocks: list[list[Code]]
    values: list[list[tuple[str, str]]]
    languages: tuple[str, ...]
    strings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    locales: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a block gave here, by language: or why not, as a fault or as what is missing."""

    text: Mapping[str, str] = field(default_factory=dict)
    figure: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[tuple[str, str], str]] = field(default_factory=dict)
    fault: str = ""
    missing: str = ""


def make_job(slug: str, document: Document, read: Read) -> Job:
    """A page to run; PlaceError where a listing is missing or is not the one that was run."""
    texts: dict[str, str] = {}

    def read_code(place: str) -> Code:
        name, _, section = place.partition(":")
        path = LISTINGS + name
        if name not in texts:
            raw = read_file(read, path.removeprefix("docs/"))
            if hashlib.sha256(raw).hexdigest() != document["sha256"].get(path):
                raise PlaceError(f"{path} is not the file that the site was built from")
            texts[name] = raw.decode("utf-8")
        try:
            first_line, found = split_sections(texts[name])[section]
        except (SectionError, KeyError) as error:
            raise PlaceError(f"{path} must hold the section {section}, got {error}") from None
        return Code(found, path, first_line)

    blocks = [[read_code(place) for place in block] for block in document["pages"][slug]]
    values: list[set[tuple[str, str]]] = [set() for _ in blocks]
    for record in document["records"]:
        inline = record["kind"] == "inline" and record["slug"] == slug
        if (
            inline
            and not record["expression"].startswith("site.")
            and 0 < record["block"] <= len(blocks)
        ):
            values[record["block"] - 1].add((record["expression"], record["format"]))
    return Job(
        slug,
        blocks,
        [sorted(wanted) for wanted in values],
        tuple(document["languages"]),
        document["strings"].get(slug, {}),
        document["locales"],
    )


def run_job(job: Job) -> list[Outcome]:
    """Run the blocks of a page in order; without torch, those that need it are left out."""
    warnings.simplefilter("ignore")  # other versions may warn of other things
    running = BlockRunner(job.languages, strings=job.strings, locales=job.locales)
    codes = ["\n".join(code.code for code in block) for block in job.blocks]
    heavy = find_torch_blocks(codes) if find_spec("torch") is None else [False] * len(codes)
    found: list[Outcome] = []
    failed = ""
    for number, (block, values) in enumerate(zip(job.blocks, job.values, strict=True), start=1):
        if heavy[number - 1]:
            found.append(Outcome(missing="torch is not installed"))
            continue
        if failed:
            found.append(Outcome(fault=failed))
            continue
        result = running.run(block)
        if result.error:
            failed = f"block {number} failed: {result.error.splitlines()[0]}"
            found.append(Outcome(fault=failed))
            continue
        result = running.add_values(result, values)
        errors = {one: error.splitlines()[0] for one, error in result.value_errors.items()}
        found.append(
            Outcome(
                {lang: result.get_text(lang) for lang in job.languages},
                {lang: drawing.alt for lang, drawing in result.figure.items()},
                {lang: "\n".join(drawing.labels) for lang, drawing in result.figure.items()},
                {lang: {**result.get_values(lang), **errors} for lang in job.languages},
            )
        )
    return found


def run_pages(document: Document, read: Read) -> dict[str, Any]:
    """What the blocks of each page give here, or in one word why the page cannot be run.

    Each page has a fresh process of its own, as in the build.
    """
    found: dict[str, Any] = {}
    jobs = []
    for slug, blocks in document["pages"].items():
        try:
            if blocks:
                jobs.append(make_job(slug, document, read))
        except PlaceError as error:
            found[slug] = str(error)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # as in the build: sums have one order
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    context = multiprocessing.get_context("spawn")
    most = min(len(jobs), os.cpu_count() or 1) or 1

    def run_alone(one: Job) -> list[Outcome]:
        # A pool for each: one pool of processes for one task each can wait for ever (CPython 3.11).
        with ProcessPoolExecutor(1, context) as fresh:
            return fresh.submit(run_job, one).result()

    with ThreadPoolExecutor(most) as pool:
        waiting = {one.slug: pool.submit(run_alone, one) for one in jobs}
        for slug, future in waiting.items():
            try:
                found[slug] = future.result()
            except BrokenProcessPool:
                found[slug] = "the process that ran this page died"
    return found


# --- comparing


@dataclass(frozen=True)
class Verdict:
    """What has become of one value: equal, differs, or not runnable here, and why."""

    slug: str
    lang: str
    id: str
    state: str
    reason: str = ""

    def __str__(self) -> str:
        return (
            f"{self.state}: {self.slug}#{self.id} ({self.lang}){self.reason and ': '}{self.reason}"
        )


def compare_records(
    document: Document, found: Mapping[str, Any] | None, pages: Iterable[tuple[Document, str]] = ()
) -> Iterator[Verdict]:
    """What has become of each value of a site.

    `found` is what its blocks gave here, None where none was run; `pages` tell how the pages differ
    from numbers.json.
    """
    counts = {lang: count_site(document, lang) for lang in document["languages"]}
    on_pages = {(one["lang"], one["slug"], one["id"]): reason for one, reason in pages}
    for record in document["records"]:
        place = record["lang"], record["slug"], record["id"]
        state, reason = _compare_hash(record)
        if found is not None and state == EQUAL:
            blocks = found.get(record["slug"], [])
            state, reason = _compare_record(record, blocks, counts[record["lang"]])
        if shown := on_pages.pop(place, ""):
            state, reason = DIFFERS, f"{reason}; {shown}" if state == DIFFERS else shown
        yield Verdict(record["slug"], record["lang"], record["id"], state, reason)
    for (lang, slug, name), reason in on_pages.items():
        yield Verdict(slug, lang, name, DIFFERS, reason)
    recorded = {(r["lang"], r["slug"], r["block"]) for r in document["records"] if "figure" in r}
    for slug, blocks in (found or {}).items():
        for number, one in enumerate(blocks if isinstance(blocks, list) else [], start=1):
            for lang in document["languages"] if any(one.text.values()) or one.figure else ():
                if (lang, slug, number) not in recorded:
                    reason = f"printed here, and {NUMBERS} has no record of it"
                    yield Verdict(slug, lang, f"block-{number}", DIFFERS, reason)


def count_site(document: Document, lang: str) -> dict[str, str]:
    """What a site says of itself in a language: `site.pages`, `site.path_minutes` and so on.

    Minutes are sums over the lengths of chapters, which the build has measured.
    """
    first = document["languages"][0]
    kinds = Counter(r["kind"] for r in document["records"] if r["lang"] == first)
    results = document["results"]
    found = {
        "pages": len(document["pages"]),
        "blocks": sum(map(len, document["pages"].values())),
        "outputs": kinds["output"],
        "values": kinds["inline"],
        "steps": STEPS,
        "results": len(results),
        "computed": sum("uncomputed" not in one for one in results),
        "proved": sum("proved" in one for one in results),
    }
    reading = document["reading"]
    minutes = {slug: one["minutes"] for slug, one in reading["chapters"].get(lang, {}).items()}
    found |= {f'minutes["{slug}"]': number for slug, number in minutes.items()}
    found["path_minutes"] = sum(minutes.get(slug, 0) for slug in reading["path"])
    return {f"site.{name}": str(number) for name, number in found.items()}


def _compare_hash(record: Document) -> tuple[str, str]:
    """Whether text, numbers and hash of a record are one thing."""
    described = describe_text(record["text"])
    if described == {name: record[name] for name in described}:
        return EQUAL, ""
    return DIFFERS, 'its "values" or "sha256" are not those of its "text"'


def _compare_record(record: Document, blocks: Any, counts: Mapping[str, str]) -> tuple[str, str]:
    """The state of one record, and the reason."""
    text = record["text"]
    if record.get("expression") in counts:
        return _find_difference(text, counts[record["expression"]])
    if isinstance(blocks, str):
        return DIFFERS, blocks
    if not 0 < record["block"] <= len(blocks):
        return DIFFERS, f"the page has no block {record['block']}"
    block = blocks[record["block"] - 1]
    if block.missing or block.fault:
        return (NOT_RUN, block.missing) if block.missing else (DIFFERS, block.fault)
    lang = record["lang"]
    if record["kind"] == "inline":
        here = block.values[lang].get((record["expression"], record["format"]), "")
        return _find_difference(text, here)
    pairs = [
        (text, block.text[lang]),
        (record["figure"], block.figure.get(lang, "")),
        ("\n".join(record["labels"]), block.labels.get(lang, "")),
    ]
    found = (_find_difference(there, here) for there, here in pairs)
    return next((one for one in found if one[0] == DIFFERS), (EQUAL, ""))


def _find_difference(there: str, here: str) -> tuple[str, str]:
    """Whether two texts are equal; if not, the first line in which they differ."""
    if there == here:
        return EQUAL, ""
    old, new = there.splitlines(), here.splitlines()
    pairs = zip(old, new, strict=False)
    number = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(old), len(new)))
    lines = [one[number] if number < len(one) else "" for one in (old, new)]
    return DIFFERS, f"line {number + 1}: published {lines[0]!r}, here {lines[1]!r}"


# --- telling


def compare_surroundings(document: Document) -> Iterator[str]:
    """What is not as it was in the build: versions, files of the package, the lock."""
    for name, built in document["versions"].items():
        try:
            here = platform.python_version() if name == "python" else version(name).split("+")[0]
        except PackageNotFoundError:
            here = "none"
        if here != built:
            yield f"{name}: built with {built}, here {here}"
    for path, digest in document["sha256"].items():
        file = ROOT / path
        listing, lock = path.startswith(LISTINGS), path == "requirements.lock"
        if listing or (lock and not file.is_file()):  # an installed package has no lock beside it
            continue
        here = _hash_file(ROOT, path)
        if not here:
            yield f"{path}: not in the package that is installed here"
        elif here != digest:
            yield f"{path}: not the file that the site was built from"


def format_report(found: Sequence[Verdict], everything: bool) -> Iterator[str]:
    """The report: each value that is not equal, page by page the counts, and the sum."""
    reasons: Counter[tuple[str, str]] = Counter()
    for one in found:
        if everything or one.state == DIFFERS:
            yield str(one)
        elif one.state == NOT_RUN:
            reasons[one.slug, one.reason] += 1
    for (slug, reason), number in reasons.items():
        yield f"{NOT_RUN}: {slug}, {number} values: {reason}"
    states = Counter(one.state for one in found)
    yield ", ".join(f"{states[state]} {state}" for state in (EQUAL, DIFFERS, NOT_RUN))


def _describe_foreign(place: str, foreign: Sequence[str]) -> tuple[str, str]:
    """Why nothing was run, and what to do."""
    more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
    return (
        f"{place} holds code that is not that of this checkout: {', '.join(foreign[:3])}{more}.",
        "It would run here with all your rights. Read it, then add --run; or add --pages to compare"
        f" the pages with {NUMBERS} and run nothing.",
    )


def _print_line(line: str, file: TextIO | None = None) -> None:
    """Print a line that holds texts of the site; what would steer the terminal is escaped."""
    kept = (c if c.isprintable() else f"\\x{ord(c):02x}" for c in line)
    print("".join(kept), file=file)


def _read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m attention_docs.verify",
        description=(__doc__ or "").split("\n\n", 2)[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("place", help="folder, archive or address of a site")
    parser.add_argument("--all", action="store_true", help="report equal values too")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--pages", action="store_true", help="compare the pages, run nothing")
    what.add_argument("--run", action="store_true", help="run code that this checkout lacks")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit status."""
    chosen = _read_arguments(arguments)
    try:
        read = open_site(chosen.place)
        document = parse_document(read_file(read, NUMBERS))
        foreign = [] if chosen.pages or chosen.run else [*find_foreign_code(document)]
        if foreign:
            raise PlaceError(*_describe_foreign(chosen.place, foreign))
        changed = [*find_changed_files(read, text_alone="://" in chosen.place)]
    except PlaceError as error:
        for line in error.args:
            _print_line(line, sys.stderr)
        return 2
    for line in compare_surroundings(document):
        _print_line(line)
    ran = None if chosen.pages else run_pages(document, read)
    found = list(compare_records(document, ran, touched(document, read)))
    for line in (*(f"{DIFFERS}: {one}" for one in changed), *format_report(found, chosen.all)):
        _print_line(line)
    states = {one.state for one in found}
    return 1 if DIFFERS in states or changed else 3 if NOT_RUN in states else 0


if __name__ == "__main__":
    sys.exit(main())
