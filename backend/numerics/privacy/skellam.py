"""Skellam noise for sums of integers; skellam.ts in webapp/static/src/core/numerics/privacy/ is its twin.

The difference of two Poisson variables; sums of such are such again, so clients may each add a share
(Agarwal, Kairouz and Liu 2021).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# A table has about nine entries for each unit of the deviation: 2.4 MB here.
MOST_VARIANCE = 2.0**30
_BITS = 63


class Skellam:
    """Draws integers of mean 0 and the given variance by inversion of a table. Immutable once made.

    Each draw takes 64 bits: a sign and a magnitude, looked up among probabilities rounded down to 2^-63 with
    the rest given to 0. The total variation from the true distribution is below 1e-12 for each value drawn:
    2^-63 for each of at most 300,000 entries, the tail left out, and float64's rounding, which tests hold to
    1e-13. No step but + - * / makes the table, so that both languages hold the same one.
    """

    def __init__(self, variance: float) -> None:
        """Raises ValueError for a variance that is not in (0, MOST_VARIANCE]."""
        if not 0.0 < variance <= MOST_VARIANCE:
            raise ValueError(f"A Skellam variance is above 0 and at most 2^30, not {variance}.")
        self.variance = variance
        self.thresholds = _thresholds(variance)

    def draw(self, words: NDArray[np.uint32]) -> NDArray[np.int32]:
        """Independent values [n] from uniform words [2n]."""
        pairs = words.reshape(-1, 2)
        magnitude = (pairs[:, 0] >> np.uint32(1)).astype(np.uint64) << np.uint64(32)
        magnitude |= pairs[:, 1]
        found = np.searchsorted(self.thresholds, magnitude, side="right").astype(np.int32)
        return np.where(pairs[:, 0] & np.uint32(1), -found, found)


def _thresholds(variance: float) -> NDArray[np.uint64]:
    """Of |X|, in units of 2^-63: the k-th is P(|X| <= k), the last is 1 and left out."""
    counts = np.floor(2.0**_BITS * 2.0 * _probabilities(variance)).astype(np.uint64)
    counts[0] = 0
    most = int(np.flatnonzero(counts)[-1])
    counts[0] = np.uint64(2**_BITS) - counts.sum(dtype=np.uint64)
    return np.cumsum(counts[:most], dtype=np.uint64)


def _probabilities(variance: float) -> NDArray[np.float64]:
    """P(X = k) for k from 0 on: e^-v I_k(v), Bessel functions by their ratios (Amos 1974), backwards.

    I_k / I_(k-1) = 1 / (2k / v + I_(k+1) / I_k) converges from anywhere; the tail that is left out is below
    2^-64 in all.
    """
    last = math.ceil(16.0 * math.sqrt(variance)) + 64
    ratios = np.ones(last + 1)
    ratio = 0.0
    for k in range(last, 0, -1):
        ratio = 1.0 / (2.0 * k / variance + ratio)
        ratios[k] = ratio
    weights = np.cumprod(ratios)
    total = 2.0 * float(np.cumsum(weights[:0:-1])[-1]) + 1.0
    return weights / total
