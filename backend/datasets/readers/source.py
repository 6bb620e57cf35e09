"""Defines the types that all readers share: chunks of examples, the held-out split, broken rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.errors import DataError

Array = NDArray[Any]
# Called with the error of a broken file or row; it raises the error to stop, or returns to skip it.
Broken = Callable[[DataError], None]


@dataclass(frozen=True)
class HoldoutSplit:
    """Selects the held-out examples: the first `share` of a shuffled order."""

    share: float
    order: Callable[[int], NDArray[np.int64]]

    def count(self, n: int) -> int:
        """Returns how many of `n` examples are held out."""
        return 0 if self.share == 0 or n < 2 else max(1, int(n * self.share))

    def held_out(self, n: int) -> NDArray[np.bool_]:
        """Returns a mask [n] of the held-out examples."""
        mask = np.zeros(n, np.bool_)
        if count := self.count(n):
            mask[self.order(n)[:count]] = True
        return mask


NO_HOLDOUT = HoldoutSplit(0.0, np.arange)


@dataclass(frozen=True)
class ExampleChunk:
    """Stored arrays of some examples, and a mask of the held-out ones [n]."""

    x: list[Array]
    y: list[Array]
    held_out: NDArray[np.bool_]


def stop(error: DataError) -> None:
    """Raises the error: a `Broken` callback that accepts no broken file or row."""
    raise error
