"""Weighted mean of updates, one update at a time."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from backend.numerics.vectors import BLOCK_VALUES, Vector, Vector64, blocks


class UpdateMean(Protocol):
    """Averages updates that are added one by one."""

    def add(self, update: Vector, weight: int) -> None:
        """Counts an update (shape [size], unchanged) with `weight` > 0."""
        ...

    def mean(self) -> Vector64:
        """Returns the mean, float64 [size], from which the next version is made. Call it once."""
        ...

    def close(self) -> None:
        """Frees what the updates take; the mean must no longer be used. May be called again."""
        ...


class WeightedMean:
    """Mean of float32 updates weighted by their examples (McMahan et al. 2017, algorithm 1).

    Owns one float64 accumulator of `size` values and one block of scratch: memory does not grow with the
    number of updates. The sum is so exact that the order of the updates does not change the float32 result.
    """

    def __init__(self, size: int) -> None:
        self._sum = np.empty(size, np.float64)
        self._scratch = np.empty(min(size, BLOCK_VALUES), np.float64)
        self.weight = 0
        self.count = 0

    def add(self, update: Vector, weight: int) -> None:
        """Counts `update` (shape [size], unchanged) with `weight` > 0.

        Raises ValueError for another shape or weight; the accumulator is then unchanged.
        """
        if update.shape != self._sum.shape or weight <= 0:
            raise ValueError(f"A weighted mean of {self._sum.shape} cannot take {update.shape} x {weight}.")
        for part in blocks(len(update)):
            if not self.count:  # The first update needs no zeroed sum.
                np.multiply(update[part], weight, out=self._sum[part], dtype=np.float64)
                continue
            scratch = self._scratch[: part.stop - part.start]
            np.multiply(update[part], weight, out=scratch, dtype=np.float64)
            self._sum[part] += scratch
        self.weight += weight
        self.count += 1

    def mean(self) -> Vector64:
        """Returns the current mean, float64 [size]. Raises ValueError before the first update."""
        if not self.count:
            raise ValueError("A mean needs at least one update.")
        return self._sum / self.weight

    def close(self) -> None:
        """See UpdateMean."""
        self._sum = self._scratch = np.empty(0, np.float64)
