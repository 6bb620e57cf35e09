"""What telling updates in whole numbers costs in precision and time: real updates of models/digits.

Usage: python -m benchmarks.masking.bit_packing [--rounds N] [--json]

Fifteen clients, one for each shard, train `--rounds` rounds of federated averaging: once with their updates
as they are, and once for each number of bits, encoded, summed up modulo 2^bits and decoded. `error` is the L2
norm of what encoding changed in a round's mean, as a fraction of the mean's, by members of the roster and
bits; more than fifteen members tell the fifteen updates several times, each time rounded again. Updates are
clipped to the norm of the longest. `unrotated` is what the same bits would do without a rotation. `ms` is the
CPU time of a million values.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from backend.numerics.masking.bit_packing import Words, pack_update, unpack_update
from backend.numerics.masking.encoding import Decoded, Encoding, MaskedContribution, decode, encode
from backend.numerics.masking.rotation import sign_words
from backend.numerics.vectors import Vector, Vector64
from benchmarks.support.native_step import use_one_core

BUILT = Path(__file__).parents[2] / "models" / "digits" / "built"
BITS = (32, 24, 20, 18, 16)
MEMBERS = (3, 10, 100, 1000)
MILLION = 1_000_000

_generator = np.random.default_rng(1)


def decoded_sum(encoding: Encoding, clients: Iterable[MaskedContribution]) -> Decoded:
    """Returns the server's decoded sum of all clients' packed words.

    Masks are left out, since they would cancel.
    """
    signs = _random(sign_words(encoding.parameters))
    total = np.zeros(encoding.words, np.uint32)
    for contribution in clients:
        words = _random(encoding.words)
        encode(encoding, contribution, words, signs)
        sent = pack_update(words, encoding.parameters, encoding.bits)
        total += unpack_update(sent, encoding.parameters, encoding.rows, encoding.bits)
    return decode(encoding, total, signs)


def errors(clients: list[MaskedContribution]) -> list[dict[str, float]]:
    """Returns the error that encoding causes in the mean, for each number of members and bits."""
    clip, size = clip_above_all(clients), len(clients[0].update)
    rows = []
    for members in MEMBERS:
        contributions = [clients[number % len(clients)] for number in range(members)]
        mean = _mean(contributions)
        for bits in BITS:
            encoding = Encoding(members, size, 0, bits, clip)
            error = float(
                np.linalg.norm(decoded_sum(encoding, contributions).mean - mean) / np.linalg.norm(mean)
            )
            # The error of rounding alone, without a rotation: every value may be as large as the clip.
            step = clip * members / 2 ** (bits - 1)
            unrotated_error = (
                step
                * math.sqrt(members * size)
                / (2 * sum(contribution.weight for contribution in contributions))
            )
            rows.append(
                {
                    "members": members,
                    "bits": bits,
                    "error": error,
                    "unrotated": unrotated_error / float(np.linalg.norm(mean)),
                }
            )
    return rows


def milliseconds() -> list[dict[str, float]]:
    """Measures the CPU time of encoding, packing, unpacking and decoding a million values."""
    update = _generator.standard_normal(MILLION).astype(np.float32)
    contribution = MaskedContribution(update, 1.0, 0.5, [0.5, 1.0])
    rows = []
    for bits in BITS:
        encoding, signs = Encoding(100, MILLION, 1, bits, 1.0), _random(sign_words(MILLION))
        words = _random(encoding.words)
        sent = pack_update(words, MILLION, bits)
        times = {
            "encode": _best_ms(partial(encode, encoding, contribution, words, signs)),
            "pack": _best_ms(partial(pack_update, words, MILLION, bits)),
            "unpack": _best_ms(partial(unpack_update, sent, MILLION, 1, bits)),
            "decode": _best_ms(partial(decode, encoding, words, signs)),
        }
        rows.append({"bits": bits, **times})
    return rows


class Training:
    """Trains the digits by federated averaging with real trainers; only the update's encoding varies."""

    def __init__(self) -> None:
        from backend.peer.data.shards import read_shard
        from backend.peer.training.graphs import import_graphs, open_bundle
        from backend.peer.training.measurer import VersionMeasurer
        from backend.peer.training.trainer import Trainer

        graphs = import_graphs(open_bundle(BUILT / "bundle", ["train", "apply", "evaluate"]), "cpu")
        index = json.loads((BUILT / "shards" / "shards.json").read_bytes())
        self._trainer, self._measurer = Trainer(graphs), VersionMeasurer(graphs)
        files = ([BUILT / "shards" / one["file"] for one in index[part]] for part in ("train", "holdout"))
        self._train, self._held_out = (
            [read_shard(file.read_bytes(), graphs.manifest) for file in part] for part in files
        )
        self.clients = len(self._train)
        self.first = np.fromfile(BUILT / "bundle" / "weights.bin", "<f4")

    def run(self, rounds: int, bits: int | None) -> tuple[float, list[list[MaskedContribution]]]:
        """Returns the held-out accuracy after `rounds`, and the clients' contributions in each round."""
        weights, history = self.first, []
        for number in range(rounds):
            clients = [self.contribution(weights, number, part) for part in range(self.clients)]
            history.append(clients)
            if bits is None:
                mean = _mean(clients)
            else:
                encoding = Encoding(len(clients), len(weights), 0, bits, clip_above_all(clients))
                mean = decoded_sum(encoding, clients).mean.astype(np.float64)
            weights = (weights + mean).astype(np.float32)
        return self.accuracy(weights), history

    def accuracy(self, weights: Vector) -> float:
        """Measures the accuracy on held-out examples."""
        from backend.peer.training.step import never, read_totals

        totals = sum(self._measurer.totals(weights, part, never) for part in self._held_out)
        _, _, sums = read_totals(np.asarray(totals))
        return sums[0][0] / sums[0][1]

    def contribution(self, weights: Vector, number: int, part: int) -> MaskedContribution:
        """Trains client `part` from `weights` in round `number`; returns its contribution."""
        from backend.peer.training.step import never
        from backend.peer.training.trainer import TrainingPlan

        plan = TrainingPlan(epochs=2, learning_rate=0.005, seed=1000 * number + part)
        result = self._trainer.train(weights, plan, self._train[part], never, lambda _: None)
        return MaskedContribution(result.update, 1.0, result.loss, [])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.masking.bit_packing", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    use_one_core()
    training = Training()
    accuracy, history = training.run(options.rounds, None)
    accuracies: dict[str, float] = {"as they are": accuracy}
    for bits in BITS:
        accuracies[f"{bits} bits"], _ = training.run(options.rounds, bits)
    results: dict[str, Any] = {
        "rounds": options.rounds,
        "parameters": len(history[0][0].update),
        "accuracy": accuracies,
        "first_round": errors(history[0]),
        "last_round": errors(history[-1]),
        "ms": milliseconds(),
    }
    print(json.dumps(results) if options.json else json.dumps(results, indent=1))


def _mean(clients: list[MaskedContribution]) -> Vector64:
    weights = [contribution.weight for contribution in clients]
    updates = np.array([contribution.update for contribution in clients], np.float64)
    return np.array(weights) @ updates / sum(weights)


def clip_above_all(clients: list[MaskedContribution]) -> float:
    """Returns a clip slightly above the longest update, so that no update is clipped."""
    return 1.0001 * max(
        float(np.linalg.norm(contribution.update.astype(np.float64))) for contribution in clients
    )


def _random(count: int) -> Words:
    return _generator.integers(0, 2**32, count, dtype=np.uint32)


def _best_ms(job: Callable[[], object]) -> float:
    times = []
    for _ in range(7):
        began = time.process_time()
        job()
        times.append(1000 * (time.process_time() - began))
    return min(times)


if __name__ == "__main__":
    main()
