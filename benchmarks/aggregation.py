"""What aggregating updates costs: every rule of the table, beside a copy of all updates and other libraries.

Usage: python -m benchmarks.aggregation [--clients N] [--parameters P] [--f F] [--repetitions R]
           [--peers PYTHON] [--json]
       python -m benchmarks.aggregation --spool FOLDER --rule NAME [--clients N] [--parameters P] [--json]

Updates are random float32 values in one array. `cpu_seconds` is processor time of all threads,
`wall_seconds` that of a clock; each is the least of R repetitions, one of other libraries. The row `memcpy`
copies all updates once. --peers names an interpreter with ByzFL, Flower or both (pip install flwr scipy; pip
install --no-deps byzfl), which get the same updates in the same run. --spool instead keeps --memory-mib of
the updates in memory and the others in a file in FOLDER, aggregates them by one rule, and prints the peak
memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from backend.numerics.aggregators.composition import Aggregator, chain
from backend.numerics.aggregators.pre_aggregators import arc, nnm
from backend.numerics.aggregators.table import AGGREGATORS, SPECS
from backend.stores.updates.spool import UpdateSpool
from benchmarks.support.aggregation_peer import Many, random_updates, timed
from benchmarks.support.dense_task import ROOT
from benchmarks.support.server_process import MIB, usage

OURS = "minga"


@dataclass(frozen=True)
class RuleCost:
    """The measurement of one rule of one library."""

    name: str
    library: str
    cpu_seconds: float
    wall_seconds: float


def rules(clients: int, wished: int) -> Iterator[Aggregator]:
    """Every rule, and three chains, for `wished` false updates or as many as the rule bears."""
    for name, factory in AGGREGATORS.items():
        f = min(wished, SPECS[name].tolerance(clients))
        yield factory(*[f if taken == "f" else 1 for taken in SPECS[name].takes])
    trimmed = AGGREGATORS["trimmed-mean"](wished)
    yield chain(nnm(wished), trimmed)
    yield chain(nnm(wished), AGGREGATORS["geometric-median"]())
    yield chain(arc(wished), nnm(wished), trimmed)


def measured(updates: Many, f: int, repetitions: int) -> Iterator[RuleCost]:
    """Times the copy, then every rule."""
    yield RuleCost("memcpy", "numpy", *_copy_cost(updates, repetitions))
    for rule in rules(len(updates), f):
        call = partial(rule, updates)
        call()  # The first call builds networks and imports scikit-learn.
        yield RuleCost(rule.name, OURS, *timed(call, repetitions))


def _copy_cost(updates: Many, repetitions: int) -> tuple[float, float]:
    copy = updates.copy()  # Its memory is there before the first copy is timed.
    return timed(lambda: np.copyto(copy, updates), repetitions)


def peers(python: str, clients: int, parameters: int, f: int) -> Iterator[RuleCost]:
    """Times other libraries in their interpreter."""
    command = [python, "-m", "benchmarks.support.aggregation_peer", str(clients), str(parameters), str(f)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    for line in done.stdout.splitlines():
        yield RuleCost(**json.loads(line))


def spooled(folder: Path, memory: int, rule: Aggregator, clients: int, parameters: int) -> dict[str, Any]:
    """Aggregates more updates than fit `memory`, in bytes; returns the cost and the process's peak in MiB."""
    base = np.random.default_rng(2026).standard_normal(parameters, np.float32)
    with UpdateSpool(parameters, memory, folder) as spool:
        for number in range(clients):
            spool.add(np.roll(base, 7919 * number))
        cpu, wall = timed(lambda: rule(spool.rows()))
        report = asdict(RuleCost(rule.name, OURS, cpu, wall)) | {"file_bytes": spool.file_bytes}
    return report | {"peak_mib": usage(os.getpid()).peak / MIB}


def main() -> None:
    """Measures and prints."""
    args = _parser().parse_args()
    f = args.clients // 4 if args.f is None else args.f
    report: dict[str, Any] = {"clients": args.clients, "parameters": args.parameters, "f": f}
    if args.spool:
        needed = [f if taken == "f" else 1 for taken in SPECS[args.rule].takes]
        rule = AGGREGATORS[args.rule](*needed)
        report |= spooled(args.spool, args.memory_mib << 20, rule, args.clients, args.parameters)
        print(json.dumps(report, indent=None if args.json else 1))
        return
    rows = list(measured(random_updates(args.clients, args.parameters), f, args.repetitions))
    if args.peers:
        rows += peers(args.peers, args.clients, args.parameters, f)
    if args.json:
        print(json.dumps(report | {"rows": [asdict(row) for row in rows]}))
        return
    for row in rows:
        print(f"{row.library:14} {row.name:26} {row.cpu_seconds:8.3f} s CPU {row.wall_seconds:8.3f} s")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--parameters", type=int, default=5_000_000)
    parser.add_argument("--f", type=int, help="false updates to bear; a quarter of the clients unless given")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--peers", metavar="PYTHON", help="an interpreter with ByzFL or Flower")
    parser.add_argument("--spool", type=Path, metavar="FOLDER", help="aggregate from a file in this folder")
    parser.add_argument("--memory-mib", type=int, default=1024, help="with --spool")
    parser.add_argument("--rule", choices=sorted(AGGREGATORS), default="trimmed-mean", help="with --spool")
    parser.add_argument("--json", action="store_true")
    return parser


if __name__ == "__main__":
    main()
