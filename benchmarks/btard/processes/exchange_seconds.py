"""How long a Byzantine round takes real peers on real links, beside an ordinary average of the same bytes."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from backend.protocols.mesh.grouping import part_bounds
from benchmarks.allreduce import SECONDS, Peer, average, linked_peers, machines
from benchmarks.btard.processes.checked_peer import CHECKED

# On few cores a process may get none for seconds.
_PATIENCE = 60.0


def exchange_rows(
    peers: int, parameters: Sequence[int], repetitions: int, mbit: float | None
) -> Iterator[dict[str, Any]]:
    """Yields the medians for each number of `parameters`, of `repetitions` turns after one warm-up.

    In each turn the same processes average `float32` in an ordinary group (benchmarks.allreduce), and do a
    whole round whose means are checked and signed. `seconds` are those of the slowest peer, `cpu_seconds`
    those of all. With `mbit` each has a line that sends and takes so many million bits a second.
    """
    rounds = count(1)
    with (
        machines(peers, mbit) as places,
        linked_peers(places, "benchmarks.btard.processes.checked_peer") as (processes, clients),
    ):
        for size in parameters:
            yield _row(processes, clients, size, repetitions, rounds)


def _row(
    processes: Sequence[Peer], clients: Sequence[str], size: int, repetitions: int, rounds: Iterator[int]
) -> dict[str, Any]:
    for place, process in enumerate(processes):
        process.say({"place": place, "values": size})
    assert {process.hear() for process in processes} == {"ready"}
    order = {
        "members": sorted(clients),
        "bounds": part_bounds(size, [1.0] * len(clients)),
        "exchange": "butterfly",
        "precision": "float32",
        "subject": "changes",
        "reducer": "mean",
        "least": len(clients) // 2 + 1,
        "most_weight": float(len(clients)),
        "patience": _PATIENCE,
        "seconds": SECONDS,
    }
    seconds: dict[int, list[float]] = {0: [], CHECKED: []}
    cores: dict[int, list[float]] = {0: [], CHECKED: []}
    for _ in range(repetitions + 1):
        for group in seconds:
            ended = average(processes, {**order, "round": next(rounds), "group": group})
            seconds[group].append(max(end["seconds"] for end in ended))
            cores[group].append(sum(end["cpu_seconds"] for end in ended))
    plain, checked = (statistics.median(found[1:]) for found in seconds.values())
    plain_cpu, checked_cpu = (statistics.median(found[1:]) for found in cores.values())
    return {
        "seconds": round(checked, 4),
        "seconds_allreduce": round(plain, 4),
        "ratio": round(checked / plain, 2),
        "cpu_seconds": round(checked_cpu, 4),
        "cpu_seconds_allreduce": round(plain_cpu, 4),
        "repetitions": repetitions,
    }
