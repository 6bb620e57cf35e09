"""What masking costs a client and the server in a round, beside the keystreams alone and beside Flower.

Usage: python -m benchmarks.secagg [--clients N] [--parameters P] [--dropped D] [--json] (and --help)
       python -m benchmarks.secagg --table (every row of docs/reference/costs.md, one line of JSON each)

Real machines, primitives, encoding and frames in one process; no sockets, no training. A client's processor
time is the mean of those whose updates count, from the plan to what they reveal. The server's is that of the
whole round, of all its threads: from the first keys to the mean. The sum is compared with the plain one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import process_time

import numpy as np

from backend.crypto.keystream import keystream
from backend.numerics.masking.bit_packing import masked_bytes, masked_words
from backend.numerics.masking.encoding import error, weight_of
from backend.numerics.privacy.clipping import clip_factor, norm_of
from backend.numerics.vectors import Vector64
from backend.peer.rounds.masking_secrets import UnmaskedUpdate
from backend.protocols.secagg.terms import encoding_of
from backend.wire.masked_messages import Server
from benchmarks.support.masked_round import Host, masking_of, play

# Clients, parameters, rounds.
TABLE = ((8, 1_000_000, 3), (32, 1_000_000, 3), (100, 1_000_000, 1), (1000, 100_000, 1))
# Flower 1.41's SecAgg+ on a machine of the same kind: processor seconds and bytes a parameter.
FLOWER = {
    "clients": 8,
    "parameters": 1_000_000,
    "client_cpu_seconds": 0.136,
    "server_cpu_seconds": 0.29,
    "bytes_up_per_parameter": 8.0,
}


@dataclass(frozen=True)
class Report:
    """The measurements of the median round; bytes are those of frames, without socket overhead.

    `mask_cpu_seconds_floor` is the cost of the keystreams of one client's masks alone,
    `unmask_cpu_seconds_floor` that of the keystreams that the server removes. `largest_error` is the largest
    difference of a value from the plain mean of the clipped updates, `error_bound` its bound.
    """

    clients: int
    parameters: int
    dropped: int
    bits: int
    server: Server
    rounds: int
    neighbours: int
    threshold: int
    client_cpu_seconds: float
    mask_cpu_seconds_floor: float
    server_cpu_seconds: float
    unmask_cpu_seconds_floor: float
    bytes_up_per_parameter: float
    bytes_up_beside_update: int
    bytes_down: int
    largest_error: float
    error_bound: float
    flower: dict[str, float]


def measure(
    clients: int,
    parameters: int,
    dropped: int = 1,
    bits: int = 32,
    server: Server = "honest",
    rounds: int = 3,
) -> Report:
    """Runs `rounds` rounds after one warm-up. Raises AssertionError where a sum is wrong."""
    masking = masking_of(bits, server)
    client_seconds, server_seconds = [], []
    for _ in range(rounds + 1):
        with tempfile.TemporaryDirectory() as home:
            host, remaining = play(
                clients, dropped, masking, parameters, lambda n: _client_update(n, parameters), Path(home)
            )
        client_seconds.append(statistics.mean(client.meter.seconds for client in remaining))
        server_seconds.append(host.meter.seconds)
    largest, bound = _compare(host, clients, len(remaining))
    size = masked_words(parameters, host.terms.rows)
    sent = [client.bytes_up for client in remaining]
    return Report(
        clients=clients,
        parameters=parameters,
        dropped=dropped,
        bits=bits,
        server=server,
        rounds=rounds,
        neighbours=host.degree.neighbours,
        threshold=host.degree.threshold,
        client_cpu_seconds=round(statistics.median(client_seconds[1:]), 5),
        mask_cpu_seconds_floor=round((host.degree.neighbours + 1) * _keystream_seconds(size), 5),
        server_cpu_seconds=round(statistics.median(server_seconds[1:]), 5),
        unmask_cpu_seconds_floor=round(host.removed_keystreams * _keystream_seconds(size), 5),
        bytes_up_per_parameter=round(statistics.mean(sent) / parameters, 4),
        bytes_up_beside_update=max(sent) - masked_bytes(parameters, host.terms.rows, bits),
        bytes_down=host.bytes_down // clients,
        largest_error=largest,
        error_bound=bound,
        flower=FLOWER,
    )


def _client_update(number: int, parameters: int) -> UnmaskedUpdate:
    """Returns a client's update, the same in each round; every other update is clipped."""
    values = np.random.default_rng(number).standard_normal(parameters, np.float32)
    norm, examples = 0.5 if number % 2 else 2.0, 50 + number % 50
    values *= np.float32(norm / np.sqrt(parameters))
    return UnmaskedUpdate(values, examples, 0.5, [(examples / 2, float(examples))])


def _compare(host: Host, members: int, remaining: int) -> tuple[float, float]:
    """Returns the largest difference from the plain weighted mean of clipped updates, and its bound."""
    decoded, terms = host.total.decoded, host.terms
    assert decoded is not None, "nothing was unmasked"
    total: Vector64 = np.zeros(terms.parameters)
    weights = 0.0
    for number in range(remaining):
        client_update = _client_update(number, terms.parameters)
        weight = weight_of(client_update.examples, terms.examples)
        total += client_update.update * (clip_factor(norm_of(client_update.update), terms.clip) * weight)
        weights += weight
    assert decoded.unclipped == remaining // 2, "updates are missing"
    largest = float(np.abs(decoded.mean - total / weights).max())
    bound = error(encoding_of(terms, members), remaining, weights).worst
    assert largest <= bound + np.finfo(np.float32).eps, f"the sum is off by {largest}, more than {bound}"
    return largest, bound


def _keystream_seconds(words: int) -> float:
    """Returns the processor seconds to make one mask of so many words; the best of several."""
    return min(_timed(lambda: keystream(os.urandom(32), words)) for _ in range(9))


def _timed(work: Callable[[], object]) -> float:
    started = process_time()
    work()
    return process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.secagg", description=__doc__)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--parameters", type=int, default=1_000_000)
    parser.add_argument("--dropped", type=int, default=1, help="who leave after their shares came")
    parser.add_argument("--bits", type=int, default=32)
    parser.add_argument("--server", choices=("honest", "active"), default="honest")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.table:
        for clients, parameters, rounds in TABLE:
            print(json.dumps(asdict(measure(clients, parameters, rounds=rounds))), flush=True)
        return
    report = asdict(measure(args.clients, args.parameters, args.dropped, args.bits, args.server, args.rounds))
    lines = "\n".join(f"{name}: {value}" for name, value in report.items())
    print(json.dumps(report) if args.json else lines)


if __name__ == "__main__":
    main()
