"""Attacks as values: what attackers know of a round, and what they make of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.numerics.vectors import Vector64
from backend.peer.data.shards import Examples

# [updates, size]
UpdateRows: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class AttackedRound:
    """A round as k attackers of n participants know it; all updates are local minus global weights.

    `own` [k, size] are the updates that they trained, honestly or on poisoned examples, and `honest`
    [n - k, size] those of the others. `number` counts rounds from 0. `earlier` are the attackers' own updates
    of rounds before, the latest last. Nobody writes to these arrays.
    """

    number: int
    own: UpdateRows
    honest: UpdateRows
    earlier: Sequence[UpdateRows] = ()

    def __post_init__(self) -> None:
        """Raises ValueError if attackers or honest participants are missing, or sizes differ."""
        if self.own.ndim != 2 or self.honest.ndim != 2 or not len(self.own) or not len(self.honest):
            raise ValueError(
                "An attacked round has updates [attackers, size] and [honest, size], at least one of each, "
                f"not {self.own.shape} and {self.honest.shape}."
            )
        widths = {rows.shape[-1] for rows in (self.own, self.honest, *self.earlier)}
        if len(widths) > 1:
            raise ValueError(f"The updates of one model have one length; these have {sorted(widths)}.")

    @property
    def participants(self) -> int:
        """The number of all participants."""
        return len(self.own) + len(self.honest)

    def honest_mean(self) -> Vector64:
        """Returns the mean [size] of the honest updates."""
        mean: Vector64 = self.honest.mean(axis=0, dtype=np.float64)
        return mean

    def all_send(self, update: NDArray[Any]) -> UpdateRows:
        """Returns one `update` [size] as that of each attacker, [k, size]."""
        return np.tile(update.astype(np.float32), (len(self.own), 1))


@dataclass(frozen=True)
class UpdateAttack:
    """Replaces the attackers' updates. `remembers` is the number of earlier rounds that it needs.

    Unless it `trains`, the attackers' own updates make no difference but for their number and length.
    """

    name: str
    forge: Callable[[AttackedRound], UpdateRows]
    remembers: int = 0
    trains: bool = True

    def __call__(self, known: AttackedRound) -> UpdateRows:
        """Returns what the attackers send, float32 [k, size]."""
        return self.forge(known)


@dataclass(frozen=True)
class DataAttack:
    """Poisons the attackers' training examples.

    `poison(examples, seed)` returns what an attacker trains on. `trigger`, for backdoors, makes test examples
    of clean ones, labelled with the class that the attacker wants; it may return none.
    """

    name: str
    poison: Callable[[Examples, int], Examples]
    trigger: Callable[[Examples], Examples] | None = None


def positive(name: str, value: float) -> float:
    """Returns `value`. Raises ValueError unless it is finite and above 0."""
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} is a finite number above 0, not {value!r}.")
    return float(value)


def not_negative(name: str, value: float) -> float:
    """Returns `value`. Raises ValueError unless it is finite and 0 or more."""
    if not (np.isfinite(value) and value >= 0):
        raise ValueError(f"{name} is a finite number from 0 up, not {value!r}.")
    return float(value)
