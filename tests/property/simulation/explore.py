"""Plays many schedules: `python -m tests.property.simulation.explore --seeds FIRST END [--jobs N]`.

A schedule that fails is named with its seed; `--seeds S S+1` plays it again, the same to the last event.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from backend.stores.embedded import Stores, open_stores
from tests.property.simulation.invariants import check
from tests.property.simulation.schedules import schedule
from tests.property.simulation.simulated_run import Evidence, Tasks, play, tiny_tasks

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder in memory, where there is one: what is flushed is not slow.


@dataclass
class Explored:
    """How many of what, over some schedules; `failed` has a seed and what went wrong."""

    schedules: int = 0
    rounds: int = 0
    abandoned: int = 0
    updates: int = 0
    cut_short: int = 0
    evaluations: int = 0
    finished: int = 0
    kills: int = 0
    virtual_seconds: float = 0.0
    cpu_seconds: float = 0.0
    failed: list[tuple[int, str]] = field(default_factory=list)

    def add(self, evidence: Evidence) -> None:
        """One more."""
        self.rounds += len(evidence.rounds)
        self.abandoned += sum(one.outcome == "abandoned" for one in evidence.rounds)
        self.updates += sum(one.accepted for one in evidence.rounds)
        self.cut_short += evidence.cut_short
        self.evaluations += len(evidence.evaluations)
        self.finished += evidence.finished
        self.kills += evidence.witness.life - 1
        self.virtual_seconds += evidence.seconds

    def merge(self, other: Explored) -> None:
        """All of `other` too."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


@contextmanager
def stage() -> Iterator[tuple[Tasks, Stores]]:
    """The tiny tasks in stores of their own."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        stores = open_stores(Path(name) / "data")
        yield asyncio.run(tiny_tasks(Path(name), stores)), stores
        asyncio.run(stores.close())


class Errors(logging.Handler):
    """Collects what is logged as an error."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """See Handler."""
        self.heard.append(self.format(record))


def explore(seeds: range) -> Explored:
    """Plays the schedules of `seeds`; no error may be logged, and every invariant must hold."""
    explored, began = Explored(), time.process_time()
    errors = Errors()
    logging.getLogger("minga").setLevel(logging.WARNING)
    logging.getLogger("minga").addHandler(errors)
    with stage() as (tasks, stores):
        for seed in seeds:
            errors.heard.clear()
            try:
                evidence = play(schedule(seed), tasks, stores)
                explored.add(evidence)
                check(evidence)
                assert not errors.heard, "\n".join(errors.heard)
            except Exception:
                explored.failed.append((seed, traceback.format_exc()))
            explored.schedules += 1
    logging.getLogger("minga").removeHandler(errors)
    explored.cpu_seconds = time.process_time() - began
    return explored


def explore_in_parallel(seeds: range, jobs: int) -> Explored:
    """The same in `jobs` processes."""
    parts = [seeds[start::jobs] for start in range(jobs)]
    whole = Explored()
    with get_context("spawn").Pool(jobs) as pool:
        for part in pool.imap(explore, parts):
            whole.merge(part)
    return whole


def main() -> int:
    """Exit code 1 when a schedule failed."""
    parser = argparse.ArgumentParser(description="Plays seeded schedules of clients, network and server.")
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 10_000), metavar=("FIRST", "END"))
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    seeds = range(*options.seeds)
    found = explore(seeds) if options.jobs == 1 else explore_in_parallel(seeds, options.jobs)
    for seed, story in sorted(found.failed)[:20]:
        print(story, file=sys.stderr)
        print(
            f"again: python -m tests.property.simulation.explore --seeds {seed} {seed + 1}\n", file=sys.stderr
        )
    print(
        f"{found.schedules} schedules, {len(found.failed)} failed: {found.rounds} rounds "
        f"({found.abandoned} abandoned), {found.updates} updates counted ({found.cut_short} cut short), "
        f"{found.evaluations} evaluations, {found.finished} tasks finished, server killed "
        f"{found.kills} times, "
        f"{found.virtual_seconds / 3600:.0f} hours of virtual time, {found.cpu_seconds:.0f} s of CPU."
    )
    return int(bool(found.failed))


if __name__ == "__main__":
    sys.exit(main())
