"""Run one page's code in a process of its own, and see what it draws on and calls."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from attention_docs.running.block import BlockRunner
from attention_docs.running.result import Job, Result
from attention_docs.site.run import calls

LIMIT = 1800
"""Seconds that a page may take, on a slow machine too: an endless loop is a fault, not a wait."""

SLOW = 60
"""Seconds of computing from which on a block says how many it took: readers run it again."""


def start_process() -> None:
    """A process notes what it calls; it ends with the build, which may be killed without a word."""
    calls.start_recording()
    parent = multiprocessing.parent_process()
    assert parent

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextlib.contextmanager
def _limit_time(seconds: int) -> Iterator[None]:
    """Stop what takes too long at the line where it is, on systems that can."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError(f"the page took more than {seconds} s")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def run_page(job: Job) -> list[Result]:
    """Run the blocks in order; the list ends with the first one that fails."""
    with _limit_time(int(os.environ.get("ATTENTION_DOCS_LIMIT", LIMIT))):
        return _run_blocks(job)


def _run_blocks(job: Job) -> list[Result]:
    warnings.simplefilter("error")  # a warning in a published block is a fault in it
    seeds: list[str] = []
    _record_seeds(seeds, with_torch=job.torch)
    chance = _GeneratorWatch(job.torch)
    running = BlockRunner(job.languages, strings=job.strings, locales=job.locales)
    from attention_docs.site.run.vacuous_checks import refuse_vacuous_check  # which brings NumPy

    running.check_observers.append(refuse_vacuous_check)
    results: list[Result] = []
    slow = float(os.environ.get("ATTENTION_DOCS_SLOW", SLOW))
    for block, values in zip(job.blocks, job.values, strict=True):
        seeds.clear()
        calls.clear_calls()
        begun = time.process_time()  # not the clock on the wall: the machine may have other work
        result = running.run(block)
        if (took := time.process_time() - begun) > slow:
            where = f"docs/listings/{Path(block[0].listing).name}:{block[0].first_line}"
            message = f"{where}: this block took {took:.0f} s of computing, more than {slow:.0f}"
            print(message, file=sys.stderr)
        functions = calls.list_calls()
        if not result.error:
            result = replace(
                running.add_values(result, values), error=chance.find_unseeded_draws(seeds)
            )
        results.append(replace(result, seeds=tuple(seeds), functions=functions))
        if result.error:
            break
    return results


class _GeneratorWatch:
    """Watches the generators that are shared by everything in a process."""

    def __init__(self, with_torch: bool) -> None:
        self.with_torch = with_torch
        self.seeded = False  # torch's, by a block of this page
        self.before = self._read_states()

    def _read_states(self) -> tuple[bytes, ...]:
        import random

        import numpy as np

        _, numbers, *rest = cast("tuple[Any, ...]", np.random.get_state())
        states = [repr(random.getstate()).encode(), numbers.tobytes() + repr(rest).encode()]
        if self.with_torch:
            import torch

            states.append(torch.get_rng_state().numpy().tobytes())
        return tuple(states)

    def find_unseeded_draws(self, seeds: list[str]) -> str:
        """What is wrong if a block has drawn from one of them without a seed, or ""."""
        self.seeded = self.seeded or any(seed.startswith("torch.manual_seed") for seed in seeds)
        before, self.before = self.before, self._read_states()
        names = ("random", "np.random", "torch")
        for name, old, new in zip(names, before, self.before, strict=False):
            if old != new and not (name == "torch" and self.seeded):
                return f"ValueError: a published block states its seed, got draws from {name}"
        return ""


def _record_seeds(seeds: list[str], with_torch: bool) -> None:
    """Note every seed that is set, and refuse a generator without one."""
    import numpy as np

    make: Callable[..., Any] = np.random.default_rng

    def default_rng(seed: Any = None) -> Any:
        if seed is None:
            raise ValueError("a published block states its seed: default_rng(0), got default_rng()")
        seeds.append(f"numpy.random.default_rng({seed})")
        return make(seed)

    np.random.default_rng = default_rng
    if with_torch:
        import torch

        seed_all, plain = torch.manual_seed, torch.Generator

        def manual_seed(seed: int) -> Any:
            seeds.append(f"torch.manual_seed({seed})")
            return seed_all(seed)

        class Generator(plain):  # type: ignore[misc]
            def manual_seed(self, seed: int) -> Any:
                seeds.append(f"torch.Generator().manual_seed({seed})")
                return super().manual_seed(seed)

        torch.manual_seed = manual_seed
        torch.Generator = Generator  # type: ignore[misc]
