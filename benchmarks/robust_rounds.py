"""What robust rules add to whole rounds: one server with a task for each rule, whose rounds take turns.

Usage: python -m benchmarks.robust_rounds [--clients N] [--parameters P] [--f F] [--rounds R]
           [--rules RULE [RULE ...]] [--json]

`minga serve` runs on loopback with a data folder on disk; the clients are in two other processes, train
nothing, fetch each version over HTTP, and upload updates of their own over sockets. After a first round of
each rule, R rounds are measured of each: one of `mean`, which is a task without a rule, one of the next rule,
and so on. A rule may have steps before it: `nnm+trimmed-mean`.

Of each round, `seconds` is the time from its start, when clients fetch the version, to the announcement of
the next version, `tail_seconds` the part of it after the last client had written its update, and
`cpu_seconds` the server's processor time, of all threads, user and system. Rows have the medians, and their
ratios to those of `mean`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from time import monotonic

from benchmarks.support.dense_task import KEPT, ROOT, write_task
from benchmarks.support.server_process import serving, usage

MEAN = "mean"
RULES = ("median", "trimmed-mean", "krum", "multi-krum", "geometric-median", "flame", "nnm+trimmed-mean")
WARM_UP = 1
PROCESSES = 2


@dataclass(frozen=True)
class RoundCost:
    """The measurement of one round."""

    seconds: float
    tail_seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class RuleRow:
    """The medians of the rounds of one rule, and how many times those of the mean they are."""

    rule: str
    seconds: float
    tail_seconds: float
    cpu_seconds: float
    seconds_ratio: float
    tail_ratio: float
    cpu_ratio: float


def measure(clients: int, parameters: int, f: int, rounds: int, rules: Sequence[str]) -> list[RuleRow]:
    """Runs `rounds` rounds of the mean and of each rule, in turns, after one of each to warm up."""
    names = [MEAN, *(rule for rule in rules if rule != MEAN)]
    tasks = {name: f"dense-{number}" for number, name in enumerate(names)}
    KEPT.mkdir(exist_ok=True)
    costs: dict[str, list[RoundCost]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory(dir=KEPT) as folder:
        versions = WARM_UP + rounds
        for name, task in tasks.items():
            more = "" if name == MEAN else robust_table(name, f)
            write_task(Path(folder, "tasks"), parameters, clients, versions, name=task, more=more)
        # The clients do not answer pings while they wait for their turns.
        with (
            serving(Path(folder), idle_seconds=3600) as (server, address),
            _clients(address, clients, parameters, versions, list(tasks.values())) as groups,
        ):
            for _ in range(versions):
                for name, task in tasks.items():
                    costs[name].append(_round(server, groups, task))
    medians = {name: _medians(all_costs[WARM_UP:]) for name, all_costs in costs.items()}
    return [_row(name, median, medians[MEAN]) for name, median in medians.items()]


def robust_table(name: str, f: int) -> str:
    """Returns the table [security.robust] of a rule with its steps, such as nnm+trimmed-mean."""
    *steps, rule = name.split("+")
    return f'\n[security.robust]\nrule = "{rule}"\nattackers = {f}\nbefore = {json.dumps(steps)}\n'


@contextmanager
def _clients(
    address: str, clients: int, parameters: int, versions: int, tasks: list[str]
) -> Iterator[list[subprocess.Popen[str]]]:
    """Starts the processes of clients."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.support.turn_clients",
        address,
        str(parameters),
        str(versions),
    ]
    bounds = [clients * number // PROCESSES for number in range(PROCESSES + 1)]
    groups = [
        subprocess.Popen(
            [*command, str(first), str(end - first), *tasks],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for first, end in pairwise(bounds)
        if end > first
    ]
    try:
        yield groups
    except BaseException:
        for group in groups:
            group.terminate()
        raise
    finally:
        for group in groups:
            group.communicate()


def _round(server: int, groups: list[subprocess.Popen[str]], task: str) -> RoundCost:
    """Runs the next round of a task to its end."""
    before, began = usage(server), monotonic()
    for group in groups:
        assert group.stdin is not None
        group.stdin.write(f"{task}\n")
        group.stdin.flush()
    times = [_times(group, task) for group in groups]
    announced = min(time["announced"] for time in times)
    uploaded = max(time["uploaded"] for time in times)
    processor = usage(server).processor - before.processor
    return RoundCost(announced - began, announced - uploaded, processor)


def _times(group: subprocess.Popen[str], task: str) -> dict[str, float]:
    assert group.stdout is not None
    line = group.stdout.readline()
    assert line, "the clients ended"
    times = json.loads(line)
    assert times.pop("task") == task
    return dict(times)


def _medians(costs: Sequence[RoundCost]) -> RoundCost:
    return RoundCost(
        statistics.median(cost.seconds for cost in costs),
        statistics.median(cost.tail_seconds for cost in costs),
        statistics.median(cost.cpu_seconds for cost in costs),
    )


def _row(rule: str, cost: RoundCost, mean: RoundCost) -> RuleRow:
    return RuleRow(
        rule,
        round(cost.seconds, 4),
        round(cost.tail_seconds, 4),
        round(cost.cpu_seconds, 4),
        round(cost.seconds / mean.seconds, 3),
        round(cost.tail_seconds / mean.tail_seconds, 3),
        round(cost.cpu_seconds / max(mean.cpu_seconds, 0.001), 3),
    )


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--parameters", type=int, default=5_000_000)
    parser.add_argument("--f", type=int, help="false updates to bear; a quarter of the clients unless given")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rules", nargs="+", default=RULES)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    f = args.clients // 4 if args.f is None else args.f
    rows = measure(args.clients, args.parameters, f, args.rounds, args.rules)
    if args.json:
        report = {"clients": args.clients, "parameters": args.parameters, "f": f, "rounds": args.rounds}
        print(json.dumps(report | {"rows": [asdict(row) for row in rows]}))
        return
    for row in rows:
        print(
            f"{row.rule:18} {row.seconds:7.3f} s ({row.seconds_ratio:5.2f}) tail {row.tail_seconds:7.3f} s "
            f"({row.tail_ratio:5.2f}) server {row.cpu_seconds:7.3f} s CPU ({row.cpu_ratio:5.2f})"
        )


if __name__ == "__main__":
    main()
