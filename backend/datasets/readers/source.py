"""What all kinds of data have in common while they are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.errors import DataError

Array = NDArray[Any]
# A broken file or row, and why. Raises the error to stop, or notes it and goes on.
Broken = Callable[[DataError], None]


@dataclass(frozen=True)
class HoldoutSplit:
    """Which part of the examples is held out: the share, and the first of a shuffled order."""

    share: float
    order: Callable[[int], NDArray[np.int64]]

    def count(self, n: int) -> int:
        """How many of `n` examples are held out."""
        return 0 if self.share == 0 or n < 2 else max(1, int(n * self.share))

    def held(self, n: int) -> NDArray[np.bool_]:
        """[n]: whether each example is held out."""
        mask = np.zeros(n, np.bool_)
        if count := self.count(n):
            mask[self.order(n)[:count]] = True
        return mask


NOTHING_HELD = HoldoutSplit(0.0, np.arange)


@dataclass(frozen=True)
class ExampleChunk:
    """Stored arrays of some examples, and which of them are held out [n]."""

    x: list[Array]
    y: list[Array]
    held: NDArray[np.bool_]


def stop(error: DataError) -> None:
    """Takes nothing that is broken."""
    raise error
