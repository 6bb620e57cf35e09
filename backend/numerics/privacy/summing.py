"""The noised mean of clipped updates: central differential privacy by a trusted server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from backend.numerics.privacy.clipping import clip_factor, norm_of
from backend.numerics.vectors import BLOCK_VALUES, Vector, Vector64, blocks

# Adds the round's noise to a sum, in place.
AddNoise: TypeAlias = Callable[[Vector64], None]


class PrivateMean:
    """Adds up updates [size] one by one, each clipped to the L2 norm `clip`, all with the same weight.

    `within` counts the updates that needed no clipping. The number of updates is assumed to be public.
    """

    def __init__(self, size: int, clip: float, add_noise: AddNoise) -> None:
        self._sum = np.zeros(size, np.float64)
        self._scratch = np.empty(min(size, BLOCK_VALUES), np.float64)
        self._clip = clip
        self._add_noise = add_noise
        self.count = 0
        self.within = 0

    def add(self, update: Vector, weight: int = 1) -> None:
        """Adds `update`, which is not changed; ignores `weight`. Raises ValueError for another shape."""
        del weight
        if update.shape != self._sum.shape:
            raise ValueError(f"A mean of {self._sum.shape} cannot take {update.shape}.")
        norm = norm_of(update)
        factor = clip_factor(norm, self._clip)
        for part in blocks(len(update)):
            scratch = self._scratch[: part.stop - part.start]
            np.multiply(update[part], factor, out=scratch, dtype=np.float64)
            self._sum[part] += scratch
        self.within += norm <= self._clip
        self.count += 1

    def mean(self) -> Vector64:
        """Returns the noised mean, float64 [size]. Call it once: each call draws new noise.

        Raises ValueError before the first update.
        """
        if not self.count:
            raise ValueError("A mean needs at least one update.")
        noised = self._sum.copy()
        self._add_noise(noised)
        noised /= self.count
        return noised

    def close(self) -> None:
        """Frees the sum; nothing may be added any more."""
        self._sum = self._scratch = np.empty(0, np.float64)
