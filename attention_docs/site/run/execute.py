"""Decide what must run, and run it while the pages are being made.

A block that stands on the pages of all languages is one block: pages with the same code share a
chain. A request for the results of a page waits for its own chain only.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import platform
import tomllib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import version
from itertools import takewhile
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

from attention_docs.running.imports import find_imports
from attention_docs.running.result import Code, Job, Result
from attention_docs.site.read.failure import Failure
from attention_docs.site.read.listing import read_string_translations
from attention_docs.site.read.page import Page
from attention_docs.site.read.pieces import Block
from attention_docs.site.run.imports import Modules
from attention_docs.site.run.worker import run_page, start_process
from attention_docs.site.store import Store, make_key

VERSIONED = ("numpy", "torch", "array-api-compat")
Formatted = tuple[str, str]  # an expression and its format
Strings = dict[str, dict[str, str]]  # of the listings of a page, by language
ReadStrings = Callable[[Path, str], Mapping[str, str] | None]
FIGURE_TABLES = ("terms", "figures")  # of the locale strings, those that figures use


@lru_cache
def read_versions() -> dict[str, str]:
    """The versions that a result depends on; read from metadata, so nothing is imported."""
    return {"python": platform.python_version()} | {name: version(name) for name in VERSIONED}


def read_public_versions() -> dict[str, str]:
    """The versions as a reader needs them: without "+cpu" and the like."""
    return {name: number.split("+")[0] for name, number in read_versions().items()}


@dataclass
class Chain:
    """Pages that hold the same code, and what is known of each of its blocks."""

    blocks: list[Block]
    keys: list[str]
    strings: Strings = field(default_factory=dict)
    pages: list[Page] = field(default_factory=list)
    values: list[set[Formatted]] = field(default_factory=list)
    languages: tuple[str, ...] = ()
    known: list[Result | None] | None = None  # not looked up yet
    running: Future[list[Result]] | None = None  # not handed to a process yet
    failures: list[Failure] = field(default_factory=list)
    turn: int = 0  # among those that run in this build, counted from 1
    ran: int = 0

    @property
    def missing(self) -> bool:
        """Whether anything of the chain must run."""
        return any(
            result is None or not wanted <= result.values.keys()
            for result, wanted in zip(self.known or (), self.values, strict=True)
        )


class Executor:
    """Runs pages, as few as possible, with a store of results and a pool of fresh processes.

    Under `mkdocs serve`, what the last build looked up is not read again: `before` is its executor.
    """

    def __init__(
        self,
        root: Path,
        languages: Iterable[str],
        cache: Path,
        warn: Callable[[str], None],
        previous: Executor | None = None,
        read_strings: ReadStrings = read_string_translations,
        locales: Mapping[str, Mapping[str, Any]] | None = None,
        partial: Iterable[str] = (),
    ) -> None:
        """Read what results depend on; nothing is looked up yet.

        `languages` begins with that of the listings; `read_strings` gives a listing's strings in
        another one, and `locales` the locale strings of languages without a file of them. In those
        that are `partial`, only translated pages have results, and strings may be missing.
        """
        self.languages = tuple(languages)
        self.partial = frozenset(partial)
        self.read_strings = read_strings
        self.locales = {
            lang: _select_figure_tables(table) for lang, table in (locales or {}).items()
        }
        self.modules = Modules(root)
        self.figure_strings = {
            lang: _read_figure_strings(root, lang)
            for lang in self.languages
            if lang not in self.locales
        }
        self.store = Store(cache, warn)
        self.chains: dict[tuple[str, ...], Chain] = {}
        self.by_path: dict[str, Chain] = {}
        # Read before any module is: one that changes meanwhile gives the next build another state.
        self.state = make_key(self.modules.hash_of_all, *self._around(self.languages))
        self.previous_chains = previous.chains if previous and previous.state == self.state else {}
        self.pool: ThreadPoolExecutor | None = None  # as many pages as there are cores

    def plan(self, pages: Iterable[Page]) -> None:
        """Find out what each block of the pages depends on; nothing is read or run."""
        alike: dict[tuple[str, ...], list[Page]] = {}
        for page in pages:
            alike.setdefault(tuple(block.code for block in page.blocks), []).append(page)
        for codes, found in alike.items():
            self.chains[codes] = self._chain(codes, found)
            self.by_path |= {page.path: self.chains[codes] for page in found}

    def _chain(self, codes: tuple[str, ...], pages: list[Page]) -> Chain:
        wanted = {page.text_lang for page in pages}
        languages = tuple(
            lang for lang in self.languages if lang in wanted or lang not in self.partial
        )
        strings = self._collect_strings(pages[0].blocks, languages)
        before = self._find_previous(codes, strings, languages)
        keys = before.keys if before else list(self._make_keys(codes, strings, languages))
        values: list[set[Formatted]] = [set() for _ in codes]
        chain = Chain(pages[0].blocks, keys, strings, pages, values, languages)
        for page in pages:
            for value in page.evaluated:
                if value.after and not value.is_site_count:
                    chain.values[value.after - 1].add((value.expression, value.spec))
        return chain

    def _around(self, languages: Iterable[str]) -> list[str]:
        """What the results in some languages depend on besides code: libraries, locale strings."""
        libraries = [f"{name} {number}" for name, number in read_versions().items()]
        own = [self.figure_strings[lang] for lang in languages if lang in self.figure_strings]
        return [*libraries, *own, json.dumps(self.locales, sort_keys=True), *languages]

    def find_key(self, page: Page) -> str:
        """What all results of a page depend on, as one word."""
        return make_key(*self.by_path[page.path].keys[-1:])

    def start(self, pages: Iterable[Page]) -> None:
        """Look up what is known of these pages, and begin to run the rest."""
        chains = {id(chain): chain for chain in (self.by_path[page.path] for page in pages)}
        waiting = [chain for chain in chains.values() if self._must_run(chain)]
        if not waiting:
            return
        self.pool = self.pool or ThreadPoolExecutor(os.cpu_count() or 1)
        context = _make_context({"numpy"}.union(*map(self._find_heavy_imports, waiting)))
        # What takes longest begins first: torch, and many blocks.
        waiting.sort(
            key=lambda chain: ("torch" in self._find_heavy_imports(chain), len(chain.blocks))
        )
        for turn, chain in enumerate(reversed(waiting), start=1):
            chain.turn = turn
            chain.running = self.pool.submit(_run_alone, context, self._make_job(chain))

    def find_position(self, page: Page) -> int:
        """When a page's results come: 0 where nothing has to run, the last of all at the end."""
        return self.by_path[page.path].turn

    def wait_for_results(self, page: Page) -> list[Result]:
        """The results of a page's blocks, once they are there; up to the first that failed."""
        if self.by_path[page.path].known is None:
            self.start([page])
        chain = self._wait_for(page)
        return list(takewhile(bool, chain.known or ()))  # type: ignore[arg-type]

    def wait_for_failures(self, page: Page) -> list[Failure]:
        """What went wrong on a page, once it has run."""
        return [failure for failure in self._wait_for(page).failures if failure.path == page.path]

    @property
    def failed(self) -> bool:
        """Whether anything that ran so far went wrong."""
        return any(chain.failures for chain in self.chains.values())

    def finish(self) -> list[Failure]:
        """What went wrong on any page, once everything has run."""
        found = [
            f for chain in self.chains.values() for f in self._wait_for(chain.pages[0]).failures
        ]
        self.close()
        return found

    def mark_used(self) -> None:
        """Mark all results as used, though not all were looked up."""
        self.store.used |= {key for chain in self.chains.values() for key in chain.keys}

    def close(self) -> None:
        """Shut down the pool; what has not begun to run will not."""
        if self.pool:
            self.pool.shutdown(cancel_futures=True)
            self.pool = None

    @property
    def ran(self) -> int:
        return sum(chain.ran for chain in self.chains.values())

    @property
    def reused(self) -> int:
        return sum(len(chain.blocks) - chain.ran for chain in self.chains.values())

    def _collect_strings(self, blocks: Iterable[Block], languages: tuple[str, ...]) -> Strings:
        """The strings of the listings of some blocks in languages other than their own."""
        listings = dict.fromkeys(section.listing for block in blocks for section in block.sections)
        found: Strings = {}
        for lang in languages[1:]:
            for path in listings:
                if (table := self.read_strings(path, lang)) is not None:
                    found.setdefault(lang, {}).update(table)
        return found

    def _find_previous(
        self, codes: tuple[str, ...], strings: Strings, languages: tuple[str, ...]
    ) -> Chain | None:
        """The chain of the same code, strings and languages in the last build."""
        chain = self.previous_chains.get(codes)
        same = chain and (chain.strings, chain.languages) == (strings, languages)
        return chain if same else None

    def _make_keys(
        self, codes: tuple[str, ...], strings: Strings, languages: tuple[str, ...]
    ) -> Iterable[str]:
        """What each block depends on: the one before it, its code, the modules imported so far."""
        runner = self.modules.hash_needed(
            ["attention_docs.site.run.worker", "attention_docs.locales"]
        )
        key = make_key(runner, *self._around(languages), json.dumps(strings, sort_keys=True))
        names: frozenset[str] = frozenset()
        for code in codes:
            names |= find_imports(code)
            key = make_key(key, self.modules.hash_needed(names), code)
            yield key

    def _must_run(self, chain: Chain) -> bool:
        """Whether the chain must run; what is known of it is looked up first."""
        if chain.known is not None:
            return False
        codes = tuple(block.code for block in chain.blocks)
        before = self._find_previous(codes, chain.strings, chain.languages)
        if before and before.known and all(before.known):
            chain.known = [*before.known]
        else:
            records = [self.store.get(key) for key in chain.keys]
            chain.known = [Result.from_record(record) if record else None for record in records]
        return chain.missing

    def _find_heavy_imports(self, chain: Chain) -> set[str]:
        return self.modules.find_third_party(chain.pages[0].code, ("torch",))

    def _make_job(self, chain: Chain) -> Job:
        return Job(
            blocks=[
                [Code(s.code, str(s.listing), s.first_line) for s in block.sections]
                for block in chain.blocks
            ],
            values=[sorted(values) for values in chain.values],
            languages=chain.languages,
            torch=bool(self._find_heavy_imports(chain)),
            strings=chain.strings,
            locales=self.locales,
        )

    def _wait_for(self, page: Page) -> Chain:
        """Wait for the chain of a page: good results are cached, the others become failures."""
        chain = self.by_path[page.path]
        running, chain.running = chain.running, None
        if not running:
            return chain
        try:
            results = running.result()
        except Exception as error:
            logging.getLogger(__name__).debug("page process", exc_info=True)
            message = f"the process that ran this page died: {error}"
            chain.failures += [
                Failure(one.path, one.blocks[0].line, message) for one in chain.pages
            ]
            return chain
        for number, result in enumerate(map(self._allow_untranslated, results)):
            for one in chain.pages:
                chain.failures += _collect_failures(one, number, result)
            if not result.error:
                self._cache_result(chain, number, result)
        return chain

    def _allow_untranslated(self, result: Result) -> Result:
        """A result; in a partial language strings may be missing, and are English."""
        untranslated = [one for one in result.untranslated if one[0] not in self.partial]
        return replace(result, untranslated=tuple(untranslated))

    def _cache_result(self, chain: Chain, number: int, result: Result) -> None:
        """Cache a result; one that differs from the cached one is a fault."""
        assert chain.known
        old = chain.known[number]
        if old is None:
            chain.ran += 1
        elif (old.text, old.figure) != (result.text, result.figure):
            chain.failures += [
                _report_change(page.path, page.blocks[number]) for page in chain.pages
            ]
            return
        else:
            languages = {*old.translated_values, *result.translated_values}
            result = replace(
                result,
                values={**old.values, **result.values},
                translated_values={
                    lang: {
                        **old.translated_values.get(lang, {}),
                        **result.translated_values.get(lang, {}),
                    }
                    for lang in sorted(languages)
                },
            )
        if not result.untranslated:
            self.store.put(chain.keys[number], result.to_record())
        chain.known[number] = result


def _read_figure_strings(root: Path, lang: str) -> str:
    """The locale strings of figures: data, which no import reveals."""
    path = root / "attention_docs" / "locales" / f"{lang}.toml"
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return json.dumps(_select_figure_tables(table))


def _select_figure_tables(table: Mapping[str, Any]) -> dict[str, Any]:
    """The locale strings that figures use."""
    return {name: table[name] for name in FIGURE_TABLES if name in table}


def _report_change(path: str, block: Block) -> Failure:
    message = f'block "{block.id}" printed something else than before although nothing changed'
    return Failure(path, block.line, message)


def _collect_failures(page: Page, number: int, result: Result) -> list[Failure]:
    """What went wrong in a block and after it, as faults of this page, at its own lines."""
    found = []
    if result.error:
        block = page.blocks[number]
        listing = block.sections[0].listing.name
        message = f'block "{block.id}" of docs/listings/{listing} failed: {result.error}'
        found.append(Failure(page.path, block.line, message))
    for value in page.values:
        error = result.value_errors.get((value.expression, value.spec))
        if error and value.after == number + 1:
            message = f"inline value {{{{ {value.expression} }}}} failed: {error}"
            found.append(Failure(page.path, value.line, message))
    found += _report_untranslated(page, number, result)
    return found


def _report_untranslated(page: Page, number: int, result: Result) -> list[Failure]:
    """The strings of a block that its listing's tables lack, reported once, at the first page."""
    first = page.blocks[number].sections[0]
    return [
        Failure(
            page.path,
            page.blocks[number].line,
            f"{text!r} has no translation: add it to [strings] of "
            f"docs/listings/{first.listing.stem}.{lang}.toml",
        )
        for lang, text in result.untranslated
        if lang == page.lang and not page.origin
    ]


def _make_context(libraries: set[str]) -> BaseContext:
    """How processes start. Where the system can fork, the libraries load once."""
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    # Pages run side by side, one core each; more threads a page would only get in each other's way.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    context = multiprocessing.get_context(method)
    if method == "forkserver":
        # It brings what torch loads at a first backward pass too, which takes as long as torch.
        late = {"torch.nn.attention.bias"} if "torch" in libraries else set()
        context.set_forkserver_preload(["__main__", "jaxtyping", *sorted(libraries | late)])
    return context


def _run_alone(context: BaseContext, job: Job) -> list[Result]:
    """What a page gives in a fresh process, which dies alone.

    It has a pool of its own: one pool of processes for one task each can lose track of a process
    that ends as soon as it has begun (CPython 3.11 pops it before it is put), and waits for ever.
    """
    with ProcessPoolExecutor(1, mp_context=context, initializer=start_process) as fresh:
        return fresh.submit(run_page, job).result()
