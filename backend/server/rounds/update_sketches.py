"""Sketches the updates of a round, to see whether a minority of them points in a direction of its own.

Sketches are freed when the round ends; a direction remains, which is of no client (see
`numerics.integrity.update_trend`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from backend.formats.task_file import TaskFile
from backend.numerics.integrity.update_trend import WIDTH, RoundMinority, round_minority
from backend.numerics.reputation.update_sketch import UpdateSketcher
from backend.numerics.vectors import Vector, Vector64
from backend.server.rounds.robust_round_mean import SEED_BYTES

# Of a round's updates so many are clustered, drawn at random: the distances of all pairs are compared.
MOST_UPDATES = 512


class UpdateSketching:
    """What one task's updates are sketched with: their first `size` values, by a secret from `draw`.

    The worker thread owns it. The seed stays the same, so that directions of rounds can be compared.
    """

    def __init__(self, size: int, draw: Callable[[int], bytes]) -> None:
        self.size = size
        self.random = np.random.default_rng(int.from_bytes(draw(SEED_BYTES), "big"))
        self._seed = int.from_bytes(draw(SEED_BYTES), "big")
        self._sketcher: UpdateSketcher | None = None

    def sketch(self, update: Vector) -> Vector64:
        """Returns the sketch, float64 [WIDTH], of an update."""
        if self._sketcher is None:
            self._sketcher = UpdateSketcher(self.size, self._seed, WIDTH)
        return self._sketcher.sketch(update[: self.size])


class RoundSketches:
    """The sketches of one round's updates, MOST_UPDATES at most. The worker thread owns them."""

    def __init__(self, sketching: UpdateSketching) -> None:
        self._sketching = sketching
        self._sketches: list[Vector64] = []
        self._added = 0

    def add(self, update: Vector) -> None:
        """Sketches an update that counts. Beyond MOST_UPDATES each has the same chance to be kept."""
        self._added += 1
        if len(self._sketches) < MOST_UPDATES:
            self._sketches.append(self._sketching.sketch(update))
            return
        place = int(self._sketching.random.integers(self._added))
        if place < MOST_UPDATES:
            self._sketches[place] = self._sketching.sketch(update)

    def clustered(self) -> RoundMinority | None:
        """Clusters the sketches, and frees them; None for too few. Call it once."""
        sketches, self._sketches = self._sketches, []
        return round_minority(np.reshape(sketches, (len(sketches), WIDTH)))


def sketches_updates(file: TaskFile) -> bool:
    """Whether the server sketches updates: where versions are checked by them, and it sees single ones."""
    integrity = file.security.integrity
    if integrity is None or file.privacy is not None:
        return False
    return "updates" in integrity.parts and "open" in file.security.aggregation
