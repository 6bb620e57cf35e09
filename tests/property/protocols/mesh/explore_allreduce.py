"""Plays many schedules: `python -m tests.property.protocols.mesh.explore_allreduce --seeds FIRST END [--jobs
N]`, with `--masked` of groups that mask.

A schedule that fails is named with its seed; `--seeds S S+1` plays it again, the same to the last event.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from functools import partial
from multiprocessing import get_context

from tests.support.protocols.allreduce.check import check, check_end
from tests.support.protocols.allreduce.schedules import schedule


def play(seed: int, counts: Counter[str], *, masked: bool = False) -> None:
    """One schedule; AssertionError where something that must hold does not."""
    played = schedule(seed, masked=masked)
    world = played.world
    world.run(world.order.seconds + 2 * world.order.patience + 1.0)
    results = check(world)
    check_end(played)
    counts["groups"] += 1
    counts["groups with a result"] += bool(results)
    counts["groups with a result in spite of faults"] += bool(results and played.told)
    counts["members"] += len(world.members)
    counts["results"] += len(results)
    counts["events"] += len(world.log)


def explore(seeds: Iterable[int], *, masked: bool = False) -> tuple[Counter[str], list[tuple[int, str]]]:
    """How many of what, and the seeds that failed, with what went wrong."""
    counts: Counter[str] = Counter()
    failed = []
    for seed in seeds:
        try:
            play(seed, counts, masked=masked)
        except Exception:  # Whatever a schedule brings to light is told, with its seed.
            failed.append((seed, traceback.format_exc()))
    return counts, failed


def main() -> int:
    """Tells what was played; 1 where a schedule failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 400), metavar=("FIRST", "END"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--masked", action="store_true", help="groups whose pieces are masked")
    given = parser.parse_args()
    first, end = given.seeds
    began = time.perf_counter()
    counts: Counter[str] = Counter()
    failed: list[tuple[int, str]] = []
    portions = [range(start, end, given.jobs) for start in range(first, min(first + given.jobs, end))]
    with get_context("spawn").Pool(given.jobs) as pool:
        for some, wrong in pool.map(partial(explore, masked=given.masked), portions):
            counts.update(some)
            failed += wrong
    for seed, error in failed[:5]:
        print(f"seed {seed}:\n{error}", file=sys.stderr)
        print(*schedule(seed, masked=given.masked).told, sep="\n", file=sys.stderr)
    print(*(f"{count} {what}" for what, count in counts.items()), sep=", ", end="")
    print(f" in {time.perf_counter() - began:.0f} s; failed: {[seed for seed, _ in failed] or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
