"""What it costs to send a share of the parameters in each round: real updates of models/digits.

Usage: python -m benchmarks.masking.sparse_updates [--rounds N] [--json]

Fifteen clients, one for each shard, train `--rounds` rounds of federated averaging, for each share: encoded
with 32 bits, summed up and decoded. What is not sent is added to the client's next update, or (`kept` false)
lost. `bytes_up` is what a client sends in a round, `longest` the norm of the longest update, to which it is
clipped, and `accuracy` that on held-out examples after each round.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import Any

import numpy as np

from backend.numerics.masking.bit_packing import FULL_BITS
from backend.numerics.masking.encoding import Encoding
from backend.numerics.masking.sparse import Residual, block_count, choose
from benchmarks.masking.bit_packing import Training, clip_above_all, decoded_sum
from benchmarks.support.native_step import use_one_core

# Shares of the parameters, and whether clients keep what they do not send as a residual.
CASES = ((1.0, True), (0.5, True), (0.25, True), (0.25, False))

_generator = np.random.default_rng(2)


def play(training: Training, rounds: int, share: float, keeps_residual: bool) -> dict[str, Any]:
    """Trains with this share of the parameters."""
    weights, accuracies, size, longest_sent = training.first, [], 0, []
    residuals = [Residual() for _ in range(training.clients)]
    for number in range(rounds):
        count = block_count(len(weights))
        chosen = choose(len(weights), share, _generator.integers(0, 2**32, count, dtype=np.uint32))
        clients = []
        for part, residual in enumerate(residuals):
            contribution = training.contribution(weights, number, part)
            residual_update = residual.own(number, len(weights)) if keeps_residual else np.float32(0)
            sent, unsent = chosen.split(contribution.update + residual_update)
            residual.keep(number, unsent)
            clients.append(dataclasses.replace(contribution, update=sent))
        clip = clip_above_all(clients)
        encoding = Encoding(len(clients), len(clients[0].update), 0, FULL_BITS, clip)
        weights = weights + chosen.spread(decoded_sum(encoding, clients).mean)
        accuracies.append(training.accuracy(weights))
        longest_sent.append(clip)
        size = encoding.bytes
    return {
        "share": share,
        "kept": keeps_residual,
        "bytes_up": size,
        "longest": max(longest_sent),
        "accuracy": accuracies,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.masking.sparse_updates", description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    use_one_core()
    training = Training()
    results = [play(training, options.rounds, share, keeps_residual) for share, keeps_residual in CASES]
    print(json.dumps(results) if options.json else json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
