"""What whole rounds cost a server: a real one in its own process, real sockets, clients that train nothing.

Usage: python -m benchmarks.rounds [--clients N] [--parameters P] [--rounds R] [--json]
       python -m benchmarks.rounds --table (every size of docs/reference/costs.md, one line of JSON each)

Clients live in other processes; each downloads every version over HTTP and uploads a whole update over its
socket. The server is `minga serve` on loopback with a data folder on disk, and its processor time is what
the system counts for the process and all its threads. Memory is read after the warm-up and at the end.
`memcpy_cpu_seconds` is what copying the bytes of one round once costs on the same machine in the same run.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise, product
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.support.dense_task import KEPT, ROOT, write_task
from benchmarks.support.server_process import MIB, Usage, serving, usage

WARM_UP = 3
PROCESSES = 2
# The table's sizes. Each is measured for as many rounds as transfer about TABLE_BYTES of updates.
TABLE_CLIENTS, TABLE_PARAMETERS = (2, 8, 32, 128), (100_000, 1_058_634, 5_000_000, 25_000_000)
TABLE_BYTES, TABLE_ROUNDS = 4 << 30, 20


@dataclass(frozen=True)
class Report:
    """The measurements of one run; seconds and bytes are per round."""

    clients: int
    parameters: int
    rounds: int
    round_seconds_median: float
    server_cpu_seconds_per_round: float
    server_user_seconds_per_round: float
    server_system_seconds_per_round: float
    server_rss_growth_mib: float
    server_rss_mib: float
    server_peak_rss_mib: float
    bytes_received_per_round: int
    bytes_sent_per_round: int
    memcpy_cpu_seconds: float
    cpu_in_memcpys: float


def measure(clients: int, parameters: int, rounds: int, warm_up: int = WARM_UP) -> Report:
    """Runs `rounds` rounds after `warm_up` others."""
    KEPT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=KEPT) as folder:
        versions = warm_up + rounds
        write_task(Path(folder, "tasks"), parameters, clients, versions)
        # The clients do not answer pings while they download.
        with serving(Path(folder), idle_seconds=3600) as (server, address):
            usages, traffic = _take_part(server, address, clients, parameters, versions, warm_up)
    return _report(clients, parameters, usages, traffic)


def _take_part(
    server: int, address: str, clients: int, parameters: int, versions: int, warm_up: int
) -> tuple[list[Usage], list[tuple[int, int]]]:
    """Returns the server's usage and all clients' (sent, received) bytes per version.

    Both start at the last warm-up version.
    """
    shares = [len(range(first, clients, PROCESSES)) for first in range(min(PROCESSES, clients))]
    command = [sys.executable, "-m", "benchmarks.support.update_clients", address, "dense"]
    groups = [
        subprocess.Popen(
            [*command, str(share), str(parameters), str(versions)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for share in shares
    ]
    usages: list[Usage] = []
    lines = groups[0].stdout
    assert lines is not None
    while len(usages) <= versions - warm_up:
        line = lines.readline()
        assert line.startswith("version"), f"the clients ended: {line}"
        if int(line.split()[1]) >= warm_up:
            usages.append(usage(server))
    totals = np.sum([json.loads(group.communicate()[0].splitlines()[-1]) for group in groups], axis=0)
    return usages, [(int(sent), int(received)) for sent, received in totals[warm_up - 1 :]]


def _report(clients: int, parameters: int, usages: list[Usage], traffic: list[tuple[int, int]]) -> Report:
    rounds, first, last = len(usages) - 1, usages[0], usages[-1]
    sent, received = ((end - begin) // rounds for begin, end in zip(traffic[0], traffic[-1], strict=True))
    user, system = (last.user - first.user) / rounds, (last.system - first.system) / rounds
    copying = copying_seconds(sent + received)
    seconds = [after.at - before.at for before, after in pairwise(usages)]
    return Report(
        clients=clients,
        parameters=parameters,
        rounds=rounds,
        round_seconds_median=round(statistics.median(seconds), 4),
        server_cpu_seconds_per_round=round(user + system, 4),
        server_user_seconds_per_round=round(user, 4),
        server_system_seconds_per_round=round(system, 4),
        server_rss_growth_mib=round((last.resident - first.resident) / MIB, 2),
        server_rss_mib=round(last.resident / MIB, 1),
        server_peak_rss_mib=round(last.peak / MIB, 1),
        bytes_received_per_round=sent,
        bytes_sent_per_round=received,
        memcpy_cpu_seconds=round(copying, 4),
        cpu_in_memcpys=round((user + system) / copying, 2),
    )


def table() -> Iterator[Report]:
    """Measures every number of clients with every number of parameters, the cheapest first."""
    for clients, parameters in sorted(product(TABLE_CLIENTS, TABLE_PARAMETERS), key=math.prod):
        rounds = min(TABLE_ROUNDS, max(1, TABLE_BYTES // (4 * clients * parameters)))
        yield measure(clients, parameters, rounds, min(WARM_UP, rounds))


def copying_seconds(length: int) -> float:
    """Returns the processor time to copy `length` bytes once; the median of five.

    The blocks are larger than every cache.
    """
    source, target = np.ones(64 * MIB, np.uint8), np.zeros(64 * MIB, np.uint8)
    seconds: list[float] = []
    for _ in range(5):
        before, remaining = process_time(), length
        while remaining > 0:
            part = min(remaining, len(source))
            np.copyto(target[:part], source[:part])
            remaining -= part
        seconds.append(process_time() - before)
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rounds", description=__doc__)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--parameters", type=int, default=1_058_634)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    parser.add_argument("--table", action="store_true", help="measure every size of the table")
    options = parser.parse_args()
    if options.table:
        for cell in table():
            print(json.dumps(asdict(cell)), flush=True)
        return
    report = asdict(measure(options.clients, options.parameters, options.rounds))
    if options.json:
        print(json.dumps(report))
        return
    for name, value in report.items():
        print(f"{name:34} {value}")


if __name__ == "__main__":
    main()
