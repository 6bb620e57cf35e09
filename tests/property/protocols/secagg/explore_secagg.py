"""Plays many schedules: `python -m tests.property.protocols.secagg.explore_secagg --seeds FIRST END [--jobs
N]`.

A schedule that fails is named with its seed; `--seeds S S+1` plays it again, the same to the last byte.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from dataclasses import fields
from multiprocessing import get_context

from tests.support.protocols.secagg.schedules import Evidence, Player, schedule

Found = tuple[Evidence, list[tuple[int, str]]]


def explore(seeds: range) -> Found:
    """All schedules of `seeds`: what came of them together, and which failed how."""
    whole, failed = Evidence(), []
    for seed in seeds:
        try:
            merge(whole, Player(schedule(seed)).play())
        except Exception:  # However a seed fails, the others are played, and it is told.
            failed.append((seed, traceback.format_exc()))
    return whole, failed


def merge(whole: Evidence, part: Evidence) -> None:
    """Adds up."""
    for field in fields(Evidence):
        setattr(whole, field.name, getattr(whole, field.name) + getattr(part, field.name))


def main() -> int:
    """Exit code 1 when a schedule failed."""
    parser = argparse.ArgumentParser(description="Plays seeded schedules of masked rounds.")
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 10_000), metavar=("FIRST", "END"))
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    parts = [range(*options.seeds)[start :: options.jobs] for start in range(options.jobs)]
    whole, failed = Evidence(), []
    with get_context("spawn").Pool(options.jobs) as pool:
        for evidence, failures in pool.imap(explore, parts):
            merge(whole, evidence)
            failed += failures
    for seed, story in sorted(failed)[:20]:
        print(
            f"{story}again: python -m tests.property.protocols.secagg.explore_secagg "
            f"--seeds {seed} {seed + 1}\n",
            file=sys.stderr,
        )
    print(
        f"{len(range(*options.seeds))} schedules, {len(failed)} failed: {whole.done} rounds unmasked with "
        f"{whole.updates} updates, {whole.failed} failed closed, {whole.without_updates} had no update, "
        f"{whole.broken} connections broken, {whole.excluded} clients left out."
    )
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
