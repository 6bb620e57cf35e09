"""Skellam noise for sums of integers; webapp/static/src/core/numerics/privacy/skellam.ts is its twin.

A Skellam variable is the difference of two Poisson variables. Sums of them are Skellam variables too, so each
client can add a share (Agarwal, Kairouz and Liu 2021).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# A table has about nine entries for each unit of the deviation: 2.4 MB at this variance.
MAX_VARIANCE = 2.0**30
_BITS = 63


class Skellam:
    """Draws integers of mean 0 and the given variance by inversion of a table. Immutable.

    Each draw takes 64 bits: a sign and a magnitude, looked up among probabilities rounded down to multiples
    of 2^-63; the remainder is added to that of 0. The total variation distance from the true distribution is
    below 1e-12 for each value drawn: 2^-63 for each of at most 300,000 entries, the omitted tail, and
    float64's rounding, which tests bound by 1e-13. The table is computed with + - * / only, so that both
    languages have the same one.
    """

    def __init__(self, variance: float) -> None:
        """Raises ValueError for a variance that is not in (0, MAX_VARIANCE]."""
        if not 0.0 < variance <= MAX_VARIANCE:
            raise ValueError(f"A Skellam variance is above 0 and at most 2^30, not {variance}.")
        self.variance = variance
        self.thresholds = _thresholds(variance)

    def draw(self, words: NDArray[np.uint32]) -> NDArray[np.int32]:
        """Returns independent values [n] from uniform words [2n]."""
        pairs = words.reshape(-1, 2)
        magnitude = (pairs[:, 0] >> np.uint32(1)).astype(np.uint64) << np.uint64(32)
        magnitude |= pairs[:, 1]
        absolute = np.searchsorted(self.thresholds, magnitude, side="right").astype(np.int32)
        return np.where(pairs[:, 0] & np.uint32(1), -absolute, absolute)


def _thresholds(variance: float) -> NDArray[np.uint64]:
    """Returns P(|X| <= k) for each k, in units of 2^-63, without the last, which is 1."""
    counts = np.floor(2.0**_BITS * 2.0 * _probabilities(variance)).astype(np.uint64)
    counts[0] = 0
    largest = int(np.flatnonzero(counts)[-1])
    counts[0] = np.uint64(2**_BITS) - counts.sum(dtype=np.uint64)
    return np.cumsum(counts[:largest], dtype=np.uint64)


def _probabilities(variance: float) -> NDArray[np.float64]:
    """Returns P(X = k) = e^-v I_k(v) for k from 0 on, by backward ratios of Bessel functions (Amos 1974).

    I_k / I_(k-1) = 1 / (2k / v + I_(k+1) / I_k) converges from any start; the omitted tail is below 2^-64 in
    total.
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
