"""What clients that only wait cost a server: a real one in its own process, real sockets.

Usage: python -m benchmarks.costs.idle [--scheme federated|volunteer] [--clients N] [--seconds S] [--json]

All clients join one task of the server. Of a federated one, which waits until they are ready, one never is,
so no round opens. Of a volunteer one they ask for a work unit: there is one, and its client keeps it.
Memory is what the server took for them after the last of them was in, processor time what it used while they
waited: pings and their answers. Nothing else happens in that time.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.support.dense_task import KEPT, ROOT, write_task, write_units
from benchmarks.support.server_process import MIB, Usage, serving, usage

PARAMETERS = 5010
PROCESSES = 2
# A process' descriptors besides its clients'.
SPARE = 200


@dataclass(frozen=True)
class Report:
    """The measurements of one run; received bytes are those of all clients while joining and waiting."""

    scheme: str
    clients: int
    clients_left: int
    join_seconds: float
    joins_per_second: float
    join_cpu_seconds: float
    server_rss_before_mib: float
    server_rss_mib: float
    kib_per_client: float
    idle_seconds: float
    cpu_seconds_per_minute: float
    bytes_received_per_client: int


def measure(scheme: str, clients: int, seconds: float) -> Report:
    """Connects `clients` clients and lets them wait for `seconds`."""
    _allow(clients + SPARE)
    KEPT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=KEPT) as folder:
        units = scheme == "volunteer"
        if units:
            write_units(Path(folder, "tasks"), PARAMETERS, 1, 1)
        else:
            write_task(Path(folder, "tasks"), PARAMETERS, 1, 1, min_available_clients=clients)
        with serving(Path(folder)) as (server, address):
            before = usage(server)
            shares = [len(range(first, clients, PROCESSES)) for first in range(PROCESSES)]
            groups = [
                _crowd(address, scheme, share, int(not units and not number))
                for number, share in enumerate(shares)
            ]
            joined = max(float(_line(group).split()[1]) for group in groups)
            # The last clients' state messages may still be in transit.
            time.sleep(2)
            joined_usage = usage(server)
            time.sleep(seconds)
            after = usage(server)
            ends = [json.loads(group.communicate("end\n")[0]) for group in groups]
    clients_left, received = (sum(column) for column in zip(*ends, strict=True))
    return _report(scheme, clients, joined, (before, joined_usage, after), clients_left, received)


def _allow(descriptors: int) -> None:
    """Raises this process' limit on open files, which its children inherit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < descriptors:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(descriptors, hard), hard))


def _crowd(address: str, scheme: str, clients: int, loading: int) -> subprocess.Popen[str]:
    arguments = [address, "dense", scheme, str(clients), str(loading)]
    command = [sys.executable, "-m", "benchmarks.costs.idle_clients", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _line(group: subprocess.Popen[str]) -> str:
    assert group.stdout is not None
    line = group.stdout.readline()
    assert line.startswith("joined"), "the clients ended"
    return line


def _report(
    scheme: str,
    clients: int,
    joined: float,
    used: tuple[Usage, Usage, Usage],
    clients_left: int,
    received: int,
) -> Report:
    before, joined_usage, after = used
    minutes = (after.at - joined_usage.at) / 60
    return Report(
        scheme=scheme,
        clients=clients,
        clients_left=clients_left,
        join_seconds=round(joined, 2),
        joins_per_second=round(clients / joined, 1),
        join_cpu_seconds=round(joined_usage.processor - before.processor, 2),
        server_rss_before_mib=round(before.resident / MIB, 1),
        server_rss_mib=round(after.resident / MIB, 1),
        kib_per_client=round((after.resident - before.resident) / 1024 / clients, 1),
        idle_seconds=round(60 * minutes, 1),
        cpu_seconds_per_minute=round((after.processor - joined_usage.processor) / minutes, 2),
        bytes_received_per_client=received // clients,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs.idle", description=__doc__)
    parser.add_argument("--scheme", choices=("federated", "volunteer"), default="federated")
    parser.add_argument("--clients", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    report = asdict(measure(options.scheme, options.clients, options.seconds))
    if options.json:
        print(json.dumps(report))
        return
    for name, value in report.items():
        print(f"{name:28} {value}")


if __name__ == "__main__":
    main()
