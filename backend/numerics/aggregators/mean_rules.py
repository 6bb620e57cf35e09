"""Rules that weigh whole updates: the plain mean, and the mean of updates clipped to their median norm."""

from __future__ import annotations

import numpy as np

from backend.numerics.aggregators.composition import Aggregator, minority
from backend.numerics.aggregators.pre_aggregators import clip_factors
from backend.numerics.aggregators.update_set import UpdateSet
from backend.numerics.vectors import Vector64


def mean() -> Aggregator:
    """Weighted mean (McMahan et al. 2017, algorithm 1). Tolerance 0: one false update moves it anywhere.

    Needs no more than the sum of weighted updates.
    """
    return Aggregator("mean", UpdateSet.mean, lambda _count: 0)


def norm_clip() -> Aggregator:
    """Weighted mean of the updates, each clipped to the median of their norms (Nguyen et al. 2022, sec. 4.3).

    Tolerance f < n / 2: f false updates move it by at most the share of their weight, times the median norm.
    Sees single updates.
    """

    def rule(updates: UpdateSet) -> Vector64:
        norms = updates.norms
        factors = clip_factors(norms, float(np.median(norms)))
        return updates.combine(factors * updates.weights / updates.weights.sum())

    return Aggregator("norm-clip", rule, minority)
