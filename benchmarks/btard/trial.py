"""One training of the benchmark: its task, members, liars and terms, and the work that a coin draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from backend.numerics.aggregation.outer_step import outer_step
from backend.numerics.vectors import Vector
from backend.numerics.walk import Walk
from backend.protocols.mesh.byzantine.drawn_work import drawn_number
from benchmarks.btard.picture_task import CLASSES, SHARD, PictureTask
from benchmarks.btard.work_attacks import AttackPlan, WorkAttack

_SEEDS = 1 << 31
_KIND, MOMENTUM = "nesterov", 0.9
# Accuracy is measured after so many rounds, and counts in the last tenth of them.
MEASURED = 10


@dataclass(frozen=True)
class Trial:
    """A training of `peers`, of which the first `byzantine` are liars; `seed` draws all that is random.

    The outer learning rate of the task falls to 0 by half a cosine. `radius` is per root of a part's
    size, None to measure it. Parts are values one after another if `contiguous`, else of all layers.
    """

    task: PictureTask
    rounds: int
    seed: int
    peers: int = 16
    byzantine: int = 7
    attack: AttackPlan | None = None
    radius: float | None = None
    validators: int = 1
    batch: int = 8
    contiguous: bool = False

    @property
    def names(self) -> list[str]:
        """The clients, in order."""
        return [f"{number:016x}" for number in range(self.peers)]

    @property
    def liars(self) -> list[str]:
        """The clients that lie."""
        return self.names[: self.byzantine]

    def work_attack(self) -> WorkAttack | None:
        """Returns what the liars do to their work, None if nothing."""
        return None if self.attack is None else WorkAttack(self.attack, self.liars, self.seed)

    def rows(self, coin: bytes, client: str) -> NDArray[np.int64]:
        """Returns the examples of a client's batch in the round after the one that tossed `coin`."""
        shard = drawn_number(coin, "shard", client, self.task.shards)
        walk = Walk(drawn_number(coin, "seed", client, _SEEDS), 0, 1, self.batch)
        return shard * SHARD + next(walk.batches(SHARD))

    def update(self, weights: Vector, coin: bytes, client: str, mislabelled: bool = False) -> Vector:
        """Returns the work of a client: what its step adds to the `weights` [P] at learning rate 1."""
        labels = self.task.train.y
        return self.task.update(
            weights, self.rows(coin, client), CLASSES - 1 - labels if mislabelled else labels
        )

    def rate(self, number: int) -> float:
        """Returns the learning rate of round `number`."""
        return self.task.rate * 0.5 * (1.0 + math.cos(math.pi * (number - 1) / self.rounds))

    def outer(self, number: int, mean: Vector, weights: Vector, slots: Vector) -> tuple[Vector, Vector]:
        """Returns weights [P] and momentum after the outer step of round `number` by the mean update [P]."""
        step, velocity = outer_step(_KIND, self.rate(number), MOMENTUM, mean, len(mean), slots)
        with np.errstate(all="ignore"):
            return weights + step, velocity

    def bounds(self, parts: int) -> list[int]:
        """Returns limits of so many parts laid one after another, which have the sizes of those of `cut`."""
        return _bounds(self.task.parameters, parts)

    def cut(self, update: Vector, parts: int) -> list[Vector]:
        """Returns the parts of an update [P], as equal as can be.

        A part takes every so-manieth value, so that all have values of every layer, unless `contiguous`.
        """
        if not self.contiguous:
            return [np.ascontiguousarray(update[part::parts]) for part in range(parts)]
        return [update[start:end] for start, end in pairwise(self.bounds(parts))]

    def joined(self, parts: Sequence[Vector]) -> Vector:
        """Returns the vector [P] whose parts these are."""
        if self.contiguous:
            return np.concatenate(parts)
        vector = np.empty(self.task.parameters, np.float32)
        for part, values in enumerate(parts):
            vector[part :: len(parts)] = values
        return vector

    def trained(
        self, weights: Mapping[str, Vector], coin: bytes
    ) -> tuple[dict[str, Vector], dict[str, Vector]]:
        """Returns the true work of all clients in `weights`, and that of liars on wrong labels."""
        true = {client: self.update(own, coin, client) for client, own in weights.items()}
        if self.attack is None or self.attack.name != "label":
            return true, {}
        liars = [client for client in self.liars if client in weights]
        return true, {client: self.update(weights[client], coin, client, True) for client in liars}


@cache
def _bounds(parameters: int, parts: int) -> list[int]:
    whole, longer = divmod(parameters, parts)
    return [part * whole + min(part, longer) for part in range(parts + 1)]


@dataclass(frozen=True)
class TrialResult:
    """The `curve` has the accuracy after every tenth round; `rounds_to_last_ban` count from the attack.

    `radii` are those after the same rounds, per root of a part's size, where there are any.
    `banned` are all, `banned_honest` those of them that are no liars. `different_bits` counts members and
    rounds with other weights than the agreed ones, `lost` rounds without a result, `exchanges` rounds in
    which all statements were exchanged.
    """

    curve: list[float]
    banned: int = 0
    banned_honest: int = 0
    rounds_to_last_ban: int | None = None
    different_bits: int = 0
    lost: int = 0
    exchanges: int = 0
    radii: list[float] = field(default_factory=list)

    @property
    def accuracy(self) -> float:
        """The mean accuracy of the last tenth of the rounds."""
        last = self.curve[-max(1, len(self.curve) // 10) :]
        return sum(last) / len(last)


@dataclass(frozen=True)
class ProcessResult(TrialResult):
    """What real processes did; `seconds_a_round` is the median from the end of a round to that of the next.

    `long_rounds` took two patiences or more: in most of them all statements were exchanged.
    """

    seconds_a_round: float = 0.0
    long_rounds: int = 0
