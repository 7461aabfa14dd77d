"""Decide what must run, run it, and gather what every page needs.

A block that stands on both languages' pages is one block: pages with the same code share a job.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import platform
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from attention_docs.site import depends
from attention_docs.site.failure import Failure
from attention_docs.site.run import Code, Job, run_page
from attention_docs.site.source import Block, Source
from attention_docs.site.store import Record, Store, key_of

VERSIONED = ("numpy", "torch", "array-api-compat")


@lru_cache
def versions() -> dict[str, str]:
    """The versions that a result depends on; read from metadata, so nothing is imported."""
    return {"python": platform.python_version()} | {name: version(name) for name in VERSIONED}


def public_versions() -> dict[str, str]:
    """The versions as a reader needs them: without "+cpu" and the like."""
    return {name: number.split("+")[0] for name, number in versions().items()}


@dataclass
class Chain:
    """Pages that hold the same code, and what is known of it."""

    pages: list[Source]
    blocks: list[Block]
    keys: list[str]
    values: dict[int, set[tuple[str, str]]]
    records: list[Record | None] = field(default_factory=list)

    @property
    def code(self) -> str:
        """All blocks as one script."""
        return "\n".join(block.code for block in self.blocks)

    def missing(self) -> bool:
        """Whether anything of the chain must run."""
        return any(
            record is None
            or any(f"{expr}:{spec}" not in record["values"] for expr, spec in self.values[number])
            for number, record in enumerate(self.records)
        )


@dataclass
class Results:
    """What the pages show: by page, the records of its state 0 and of its blocks."""

    records: dict[str, list[Record]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    ran: int = 0
    reused: int = 0


class Executor:
    """Runs pages, as few as possible, with a store of results and a pool of fresh processes."""

    def __init__(self, root: Path, cache: Path, warn: Callable[[str], None]) -> None:
        self.root = root
        self.store = Store(cache, warn)

    def run(self, pages: list[Source]) -> Results:
        """Results for all pages; a page with a failure has records up to it."""
        chains = self._chains(pages)
        for chain in chains:
            chain.records = [self.store.get(key) for key in chain.keys]
        results = Results()
        waiting = [chain for chain in chains if chain.missing()]
        outcomes = dict(zip(map(id, waiting), self._execute(waiting), strict=True))
        for chain in chains:
            if id(chain) in outcomes:
                self._take(chain, outcomes[id(chain)], results)
            else:
                results.reused += len(chain.blocks)
            for page in chain.pages:
                results.records[page.path] = [r for r in chain.records if r is not None]
        return results

    def _chains(self, pages: list[Source]) -> list[Chain]:
        environment = [depends.digest(["attention_docs.site.run"], self.root)]
        environment += [f"{name} {number}" for name, number in versions().items()]
        chains: dict[tuple[str, ...], Chain] = {}
        digests: dict[frozenset[str], str] = {}
        for page in pages:
            codes = tuple(block.code for block in page.blocks)
            if codes not in chains:
                keys = []
                names: frozenset[str] = frozenset()  # all that the code so far imports
                for n in range(len(codes) + 1):
                    names |= depends.imported(codes[n - 1]) if n else names
                    if names not in digests:
                        digests[names] = depends.digest(names, self.root)
                    keys.append(key_of(*environment, digests[names], *codes[:n]))
                values: dict[int, set[tuple[str, str]]] = {n: set() for n in range(len(keys))}
                chains[codes] = Chain([], page.blocks, keys, values)
            chains[codes].pages.append(page)
            for value in page.values:
                if not value.expression.startswith("site."):
                    chains[codes].values[value.after].add((value.expression, value.spec))
        return list(chains.values())

    def _execute(self, chains: list[Chain]) -> list[list[dict[str, Any]] | str]:
        """The outcomes of each chain, or what stopped its process."""
        if not chains:
            return []
        jobs = [self._job(chain) for chain in chains]
        libraries = {"numpy"}.union(
            *(depends.third_party(chain.code, self.root, ("torch",)) for chain in chains)
        )
        with _pool(len(jobs), libraries) as pool:
            futures = [pool.submit(run_page, job) for job in jobs]
            return [_result(future) for future in futures]

    def _job(self, chain: Chain) -> Job:
        return Job(
            blocks=[
                [Code(s.code, str(s.listing), s.first_line) for s in block.sections]
                for block in chain.blocks
            ],
            values={n: sorted(values) for n, values in chain.values.items()},
            torch=bool(depends.third_party(chain.code, self.root, ("torch",))),
        )

    def _take(self, chain: Chain, outcomes: list[dict[str, Any]] | str, results: Results) -> None:
        """Keep what ran well, report what did not, for every page of the chain."""
        if isinstance(outcomes, str):
            first = chain.blocks[0].line if chain.blocks else 1
            results.failures += [Failure(p.path, first, outcomes) for p in chain.pages]
            return
        for number, outcome in enumerate(outcomes):
            errors = outcome.pop("errors")
            old = chain.records[number]
            if number:
                results.ran += old is None
                results.reused += old is not None
            for page in chain.pages:
                results.failures += _failures(page, number, errors)
            if "" in errors:
                return
            if old is not None:
                if (old["text"], old["figure"]) != (outcome["text"], outcome["figure"]):
                    results.failures += [_changed(page, number) for page in chain.pages]
                    continue
                outcome["values"] = old["values"] | outcome["values"]
            self.store.put(chain.keys[number], outcome)
            chain.records[number] = outcome


def _changed(page: Source, number: int) -> Failure:
    block = page.blocks[number - 1]
    message = f'block "{block.id}" printed something else than before although nothing changed'
    return Failure(page.path, block.line, message)


def _failures(page: Source, number: int, errors: dict[str, str]) -> list[Failure]:
    """The errors of state `number` as faults of this page, at its own lines."""
    found = []
    if "" in errors:
        block = page.blocks[number - 1]
        listing = block.sections[0].listing.name
        message = f'block "{block.id}" of docs/listings/{listing} failed: {errors[""]}'
        found.append(Failure(page.path, block.line, message))
    for value in page.values:
        error = errors.get(f"{value.expression}:{value.spec}")
        if error and value.after == number:
            message = f"inline value {{{{ {value.expression} }}}} failed: {error}"
            found.append(Failure(page.path, value.line, message))
    return found


def _pool(jobs: int, libraries: set[str]) -> ProcessPoolExecutor:
    """A fresh process for every page. Where the system can fork, the libraries load once."""
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    # Pages run side by side, one core each; more threads a page would only get in each other's way.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    context = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(["__main__", *sorted(libraries)])
    return ProcessPoolExecutor(
        max_workers=min(jobs, os.cpu_count() or 1), mp_context=context, max_tasks_per_child=1
    )


def _result(future: Future[list[dict[str, Any]]]) -> list[dict[str, Any]] | str:
    try:
        return future.result()
    except Exception as error:
        logging.getLogger(__name__).debug("page process", exc_info=True)
        return f"the process that ran this page died: {error}"
