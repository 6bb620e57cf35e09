"""Clips updates to an L2 norm, which bounds the influence of one client."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from backend.numerics.vectors import BLOCK_VALUES, Vector, blocks


def norm_of(update: Vector) -> float:
    """Returns the L2 norm, summed in float64; not finite if a value is NaN or infinity."""
    squares = 0.0
    wide = np.empty(min(len(update), BLOCK_VALUES), np.float64)
    with np.errstate(invalid="ignore"):
        for part in blocks(len(update)):
            block = wide[: part.stop - part.start]
            # A sum: BLAS would start threads for a dot product, which costs more than it saves.
            np.multiply(update[part], update[part], out=block, dtype=np.float64)
            squares += float(block.sum())
    return math.sqrt(squares)


def clip_factor(norm: float, clip: float) -> float:
    """Returns the factor that scales an update of L2 norm `norm` to at most `clip`."""
    return 1.0 if norm <= clip else clip / norm


@dataclass(frozen=True)
class AdaptiveClip:
    """Follows a quantile of the updates' norms (Andrew et al. 2021, algorithm 1).

    `count_noise` is the standard deviation of the noise on the number of updates within the clip.
    """

    quantile: float
    learning_rate: float
    count_noise: float

    def next(self, clip: float, within: float, count: int) -> float:
        """Returns the next clip; `within` (with noise) of `count` updates were within `clip`."""
        return clip * math.exp(-self.learning_rate * (within / count - self.quantile))

    def multiplier_of_sum(self, noise_multiplier: float) -> float:
        """Returns the sum's noise multiplier with which sum and count are as private as `noise_multiplier`.

        Neighbouring runs have a client's updates or zeros in their place. Zeros are within every clip, so the
        count moves by 1 where the sum moves by the clip. (In theorem 1 of the same paper the client is
        absent, and each client adds -1/2 or 1/2, so that the count moves by 1/2.) Raises ValueError for too
        little noise on the count.
        """
        rest = noise_multiplier**-2 - self.count_noise**-2
        if rest <= 0.0:
            raise ValueError(f"count_noise has to be over the noise multiplier {noise_multiplier:g}.")
        multiplier: float = rest**-0.5
        return multiplier
