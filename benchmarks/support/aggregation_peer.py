"""Times the rules of ByzFL and Flower, in an interpreter of their own.

Usage: PYTHON -m benchmarks.support.aggregation_peer CLIENTS PARAMETERS F (prints a JSON object for each rule)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

Many = NDArray[np.float32]
Call = Callable[[], object]


def random_updates(clients: int, parameters: int) -> Many:
    """The same float32 updates [clients, parameters] for every library."""
    return np.random.default_rng(2026).standard_normal((clients, parameters), np.float32)


def timed(call: Call, repetitions: int = 1) -> tuple[float, float]:
    """The least processor seconds, of all threads, and the least seconds of a clock."""
    cpu, wall = [], []
    for _ in range(repetitions):
        before, began = process_time(), perf_counter()
        call()
        cpu.append(process_time() - before)
        wall.append(perf_counter() - began)
    return min(cpu), min(wall)


def byzfl_calls(updates: Many, f: int) -> Iterator[tuple[str, Call]]:
    """ByzFL's rules, by our names. Nothing if it is not installed."""
    from benchmarks.support import byzfl_rules

    try:
        rules, pre_rules = byzfl_rules.load()
    except ImportError:
        return
    made: dict[str, Any] = {
        "mean": rules.Average(),
        "median": rules.Median(),
        "trimmed-mean": rules.TrMean(f),
        "meamed": rules.Meamed(f),
        "krum": rules.Krum(f),
        "multi-krum": rules.MultiKrum(f),
        "geometric-median": rules.GeometricMedian(),
        "centered-clip": rules.CenteredClipping(L=5),
    }
    if len(updates) <= 16:  # It tries all subsets.
        made["mda"] = rules.MDA(f)
    for name, rule in made.items():
        yield name, partial(rule, updates)
    yield "nnm + trimmed-mean", lambda: rules.TrMean(f)(pre_rules.NNM(f)(updates))


def flower_calls(updates: Many, f: int) -> Iterator[tuple[str, Call]]:
    """Flower's rules, by our names. Nothing if it is not installed."""
    try:
        from flwr.server.strategy import aggregate
    except ImportError:
        return
    results = [([row], 10) for row in updates]
    yield "mean", lambda: aggregate.aggregate(results)
    yield "median", lambda: aggregate.aggregate_median(results)
    yield "trimmed-mean", lambda: aggregate.aggregate_trimmed_avg(results, f / len(updates))
    yield "krum", lambda: aggregate.aggregate_krum(results, f, 0)
    yield "multi-krum", lambda: aggregate.aggregate_krum(results, f, len(updates) - f)
    if len(updates) >= 4 * f + 3 and len(updates) <= 16:
        yield "bulyan", lambda: aggregate.aggregate_bulyan(results, f, aggregate.aggregate_krum, to_keep=0)


def main() -> None:
    """Prints a line for each rule."""
    clients, parameters, f = map(int, sys.argv[1:])
    updates = random_updates(clients, parameters)
    for library, calls in (("byzfl", byzfl_calls), ("flwr", flower_calls)):
        for name, call in calls(updates, f):
            cpu, wall = timed(call)
            row = {"name": name, "library": f"{library} {metadata.version(library)}"}
            print(json.dumps(row | {"cpu_seconds": cpu, "wall_seconds": wall}), flush=True)


if __name__ == "__main__":
    main()
