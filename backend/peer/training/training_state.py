"""Holds the state of a training between two steps, from which the training can continue."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from backend.formats.manifest import Manifest
from backend.peer.training.step import Totals, Vector, totals_size

# A state costs at most one part in so many of the time of a training, also on a slow disk.
LEAST_SHARE = 50.0


@dataclass(frozen=True)
class TrainingState:
    """A training after its first `steps`: `weights` [P], the optimizer's `slots` [S * T], and sums of losses.

    `totals` are those of `step.read_totals`. `hashes` are the SHA-256 of the weights after some of the steps
    (`TrainingResult.checkpoints`), where the engine tells them.
    """

    steps: int
    weights: Vector
    slots: Vector
    totals: Totals
    hashes: tuple[str, ...] = ()

    def fits(self, manifest: Manifest) -> bool:
        """Whether it is the state of a model with this manifest."""
        sizes = manifest.parameters
        expected = sizes.total, manifest.optimizer.slots * sizes.trainable, totals_size(manifest.metrics)
        return (self.weights.size, self.slots.size, self.totals.size) == expected


@dataclass
class StateSaver:
    """Saves the state of one training every `interval` seconds by `write`, which may be called in a thread.

    The training begins at the state `start`, if there is one. After a save that took long the next one waits
    longer than `interval`.
    """

    interval: float
    write: Callable[[TrainingState], None]
    start: TrainingState | None = None
    _next: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._next = time.monotonic() + self.interval

    def due(self) -> bool:
        """Whether the state is to be saved now."""
        return time.monotonic() >= self._next

    def save(self, read: Callable[[], TrainingState]) -> None:
        """Reads the state and writes it."""
        began = time.monotonic()
        self.write(read())
        ended = time.monotonic()
        self._next = ended + max(self.interval, LEAST_SHARE * (ended - began))
