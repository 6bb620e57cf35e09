"""How long native peers take to average: real processes, real links, no training.

Usage: python -m benchmarks.allreduce [--peers N] [--parameters P] [--precision float16]
           [--exchange butterfly] [--repetitions R] [--mbit 20] [--json]
       python -m benchmarks.allreduce --table [--json] (every size of docs/reference/costs.md)

Each peer is a separate process with a sealed WebSocket to each other one. A repetition is timed from a
peer's order to its result, and counts as the slowest peer; all must end with the same bits. `memcpy_seconds`
is what copying all bytes that go over links once takes one core of the same machine in the same run. With
--mbit each peer has a network namespace with a line that sends and takes so many million bits a second;
`line_seconds` is what the bytes of one peer need there, headers not counted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import count, product
from typing import IO, Any, get_args

from backend.numerics.precision import encoded_size
from backend.protocols.mesh.allreduce.plan import LEAST_MASKED
from backend.protocols.mesh.grouping import choose_exchange, part_bounds
from backend.wire.mesh_fields import Plain
from benchmarks.rounds import copying_seconds
from benchmarks.support.dense_task import ROOT
from tests.support.environment.network_namespaces import Network


@dataclass(frozen=True)
class Size:
    """The number of peers and the size of the average."""

    peers: int
    parameters: int
    precision: str
    exchange: str = "auto"


TABLE = [
    *(Size(*size) for size in product((4, 8), (1_000_000, 5_000_000, 10_000_000), ("float16", "float32"))),
    *(Size(peers, 1_000_000, "masked", "butterfly") for peers in (4, 8)),
]
# Hivemind 1.1.12 on the same machine, median: (peers, parameters, precision) -> seconds.
HIVEMIND = {
    (4, 1_000_000, "float16"): 0.28,
    (4, 5_000_000, "float16"): 0.90,
    (4, 10_000_000, "float16"): 1.82,
    (8, 1_000_000, "float16"): 0.58,
    (8, 5_000_000, "float16"): 1.63,
    (8, 10_000_000, "float16"): 3.32,
    (8, 1_000_000, "float32"): 0.79,
    (8, 5_000_000, "float32"): 1.84,
    (8, 10_000_000, "float32"): 3.96,
}
SECONDS, PATIENCE = 120.0, 20.0


@dataclass(frozen=True)
class Row:
    """The measurements of one size.

    `cpu_seconds` is the processor time of all peers in a repetition, `sent_bytes` what each peer sends.
    """

    peers: int
    parameters: int
    precision: str
    exchange: str
    seconds_median: float
    seconds_lowest: float
    cpu_seconds: float
    memcpy_seconds: float
    hivemind_seconds: float | None
    sent_bytes: int
    line_seconds: float | None
    repetitions: int


class Peer:
    """A peer process that communicates by lines of JSON."""

    def __init__(self, prefix: Sequence[str], host: str, module: str) -> None:
        command = [*prefix, sys.executable, "-m", module, host]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def say(self, what: object) -> None:
        stream = _open(self._process.stdin)
        stream.write(json.dumps(what) + "\n")
        stream.flush()

    def hear(self) -> Any:
        line = _open(self._process.stdout).readline()
        if not line:
            raise RuntimeError("A peer ended before its time.")
        return json.loads(line)

    def end(self) -> None:
        _open(self._process.stdin).close()
        self._process.wait(20)


@contextmanager
def linked_peers(
    machines: Sequence[tuple[Sequence[str], str]], module: str = "benchmarks.support.averaging_peer"
) -> Iterator[tuple[list[Peer], list[str]]]:
    """Starts peers that are linked with each other; yields them and their ids.

    `machines` gives for each peer the prefix of its command and the host where it listens, `module` is the
    program.
    """
    peers = [Peer(prefix, host, module) for prefix, host in machines]
    try:
        neighbours = [peer.hear() for peer in peers]
        for peer in peers:
            peer.say(neighbours)
        for peer in peers:
            assert peer.hear() == "linked"
        yield peers, [neighbour["client"] for neighbour in neighbours]
    finally:
        for peer in peers:
            peer.end()


def measure(
    peers: list[Peer],
    clients: list[str],
    size: Size,
    repetitions: int,
    numbers: Iterator[int],
    mbit: float | None,
) -> Row:
    """Averages `repetitions` times after one warm-up; `numbers` are the numbers of the rounds."""
    members, encoded = len(peers), encoded_size(size.parameters, size.precision)
    masked = size.precision == "masked"
    setting = "butterfly" if masked and size.exchange == "auto" else size.exchange
    exchange = choose_exchange(setting, members, encoded, "mean")
    full = exchange == "full"
    order = {
        "group": 0,
        "members": clients,
        "bounds": [0, size.parameters] if full else part_bounds(size.parameters, [1.0] * members),
        "exchange": exchange,
        "precision": size.precision,
        "subject": "changes",
        "reducer": "mean",
        "least": max(members // 2 + 1, LEAST_MASKED if masked else 0),
        "most_weight": float(members),
        "patience": PATIENCE,
        "seconds": SECONDS,
    }
    for position, peer in enumerate(peers):
        peer.say({"place": position, "values": size.parameters})
    assert {peer.hear() for peer in peers} == {"ready"}
    seconds, cpu_seconds = [], []
    for _ in range(repetitions + 1):
        ended = average(peers, {**order, "round": next(numbers)})
        seconds.append(max(end["seconds"] for end in ended))
        cpu_seconds.append(sum(end["cpu_seconds"] for end in ended))
    sent = encoded * (members - 1) * (1 if full else 2) // (1 if full else members)
    return Row(
        peers=members,
        parameters=size.parameters,
        precision=size.precision,
        exchange=exchange,
        seconds_median=round(statistics.median(seconds[1:]), 4),
        seconds_lowest=round(min(seconds[1:]), 4),
        cpu_seconds=round(statistics.median(cpu_seconds[1:]), 4),
        memcpy_seconds=round(copying_seconds(sent * members), 4),
        hivemind_seconds=HIVEMIND.get((members, size.parameters, size.precision)),
        sent_bytes=sent,
        line_seconds=None if mbit is None else round(sent * 8 / (mbit * 1e6), 3),
        repetitions=repetitions,
    )


def average(peers: Sequence[Peer], order: dict[str, Any]) -> list[dict[str, Any]]:
    """Runs one group and returns each peer's result; all must have the same bits of all members.

    Raises RuntimeError otherwise.
    """
    for peer in peers:
        peer.say(order)
    ended = [peer.hear() for peer in peers]
    if len({end["sha256"] for end in ended}) != 1 or any(end["fraction"] != 1.0 for end in ended):
        raise RuntimeError(f"The peers did not end with the same mean of all: {ended}")
    return ended


def _open(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def run(sizes: Sequence[Size], repetitions: int, mbit: float | None) -> Iterator[Row]:
    """Measures all sizes; sizes with the same number of peers share processes.

    Peers communicate over loopback where `mbit` is None.
    """
    numbers = count(1)
    for peers in dict.fromkeys(size.peers for size in sizes):
        with machines(peers, mbit) as peer_machines, linked_peers(peer_machines) as (processes, clients):
            for size in sizes:
                if size.peers == peers:
                    yield measure(processes, clients, size, repetitions, numbers, mbit)


@contextmanager
def machines(peers: int, mbit: float | None) -> Iterator[list[tuple[list[str], str]]]:
    """Yields for each peer the prefix of its command, and the host where it listens."""
    if mbit is None:
        yield [([], "127.0.0.1")] * peers
        return
    with Network(peers, mbit, name="g") as network:
        prefixes = [[str(word) for word in network.command(number, [])] for number in range(peers)]
        yield [(prefix, network.address(number)) for number, prefix in enumerate(prefixes)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.allreduce", description=__doc__)
    parser.add_argument("--peers", type=int, default=4)
    parser.add_argument("--parameters", type=int, default=1_000_000)
    parser.add_argument("--precision", choices=(*get_args(Plain), "masked"), default="float16")
    parser.add_argument("--exchange", choices=("auto", "full", "butterfly", "ring"), default="auto")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--mbit", type=float, help="each on a machine of its own with such a line (as root)")
    parser.add_argument("--table", action="store_true", help="measure every size of the table")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    size = Size(options.peers, options.parameters, options.precision, options.exchange)
    rows = []
    for row in run(TABLE if options.table else [size], options.repetitions, options.mbit):
        rows.append(asdict(row))
        if not options.json:
            print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    if options.json:
        medians = {name: rows[-1][name] for name in ("seconds_median", "memcpy_seconds")}
        print(json.dumps({**medians, "rows": rows}))


if __name__ == "__main__":
    main()
