"""The versions that the accepted updates make, computed again in plain numpy.

Nothing here comes from the code under test. Sums are taken in float64, update by update in the order in which
they were accepted, each times its examples; the mean is the sum over all examples. Server optimizers follow
their papers (docs/reference/task-file.md) in float64, and what is kept is rounded to float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

F32: TypeAlias = NDArray[np.float32]
F64: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Accepted:
    """One accepted update: who sent it, its values, its examples and steps."""

    client: str
    values: F32
    examples: int
    steps: int


@dataclass
class Replay:
    """Weights, the server optimizer's slots and the control variate (None without), after the rounds so far.

    The first `trainable` values are optimized, the others take the mean. `settings` are those of the task
    file's server optimizer with its name; `learning_rate` is the clients'.
    """

    weights: F32
    trainable: int
    settings: dict[str, Any]
    learning_rate: float
    control: F32 | None = None
    slots: list[F32] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def step(self, updates: Sequence[Accepted]) -> None:
        """One version."""
        total = updates[0].values.astype(np.float64) * updates[0].examples
        for one in updates[1:]:
            total = total + one.values.astype(np.float64) * one.examples
        mean = total / sum(one.examples for one in updates)
        step = np.concatenate([self._optimized(mean[: self.trainable]), mean[self.trainable :]])
        if self.control is not None:
            self.control = self._next_control(self.control, updates)
        self.seen |= {one.client for one in updates}
        self.weights = (self.weights.astype(np.float64) + step).astype(np.float32)

    def _optimized(self, mean: F64) -> F64:
        """What is added to the trainable weights."""
        said = self.settings
        eta: float = said["eta"] if "eta" in said else said["learning_rate"]
        match said["name"]:
            case "fedavg":
                return eta * mean
            case "fedavgm":
                (v,) = self._slots(mean, 0.0)
                v = said["momentum"] * v + mean
                return self._kept(eta * v, v)
            case "nesterov":
                (v,) = self._slots(mean, 0.0)
                v = said["momentum"] * v + mean
                return self._kept(eta * (mean + said["momentum"] * v), v)
            case "fedadagrad":
                (v,) = self._slots(mean, said["tau"] ** 2)
                v = v + mean * mean
                return self._kept(eta * mean / (np.sqrt(v) + said["tau"]), v)
        m, v = self._slots(mean, 0.0, said["tau"] ** 2)
        m = said["beta_1"] * m + (1 - said["beta_1"]) * mean
        if said["name"] == "fedadam":
            v = said["beta_2"] * v + (1 - said["beta_2"]) * (mean * mean)
        else:
            v = v - (1 - said["beta_2"]) * (mean * mean) * np.sign(v - mean * mean)
        return self._kept(eta * m / (np.sqrt(v) + said["tau"]), m, v)

    def _slots(self, like: F64, *first: float) -> list[F64]:
        if not self.slots:
            return [np.full_like(like, value) for value in first]
        return [slot.astype(np.float64) for slot in self.slots]

    def _kept(self, step: F64, *slots: F64) -> F64:
        self.slots = [slot.astype(np.float32) for slot in slots]
        return step

    def _next_control(self, control: F32, updates: Sequence[Accepted]) -> F32:
        """SCAFFOLD's c: the mean of the variates of all clients that ever took part (decision 25)."""
        changes = np.zeros(self.trainable, np.float64)
        for one in updates:
            moved = one.values[: self.trainable] / np.float32(one.steps * self.learning_rate)
            changes = changes + (-control - moved)
        now = len(self.seen | {one.client for one in updates})
        return ((len(self.seen) * control.astype(np.float64) + changes) / now).astype(np.float32)
