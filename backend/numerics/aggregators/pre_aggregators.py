"""Pre-aggregators: they make updates that are nearer to each other, or bounded, for the rule that follows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backend.numerics.aggregators.composition import PreAggregator, checked_f, minority
from backend.numerics.aggregators.update_set import UpdateSet
from backend.numerics.vectors import Vector64

# Copies differ by this share of the usual distance at most. Honest updates of ten clients on skewed digits
# differed by 0.35 of it and more in 30 rounds, those of an even split by 0.80.
COPY = 0.2


def nnm(f: int) -> PreAggregator:
    """Nearest-neighbour mixing: each update becomes the mean of its n - f nearest, itself among them.

    Allouah et al. 2023, algorithm 2. Tolerance f < n / 2. Sees single updates. Raises ValueError for an f
    that is no count.
    """
    checked_f(f)

    def transform(updates: UpdateSet) -> UpdateSet:
        count = len(updates)
        nearest = np.argsort(updates.distances.squared, axis=1, kind="stable")[:, : count - f]
        mixing = np.zeros((count, count))
        np.put_along_axis(mixing, nearest, 1.0 / (count - f), axis=1)
        return updates.mixed(mixing, updates.weights)

    return PreAggregator("nnm", transform, minority, f, with_f=nnm)


def bucketing(size: int, seed: int) -> PreAggregator:
    """Weighted means of `size` updates each, in random order (Karimireddy et al. 2022, algorithm 1).

    `seed` draws the order: take a new one each round, which nobody knows before the updates are in. f false
    updates reach at most f buckets, of which the rule that follows must bear them. Raises ValueError for a
    size below 1.
    """
    if size < 1:
        raise ValueError(f"A bucket holds at least one update, not {size}.")

    def transform(updates: UpdateSet) -> UpdateSet:
        count = len(updates)
        order = np.random.default_rng(seed).permutation(count)
        mixing = np.zeros((buckets(count), count))
        mixing[np.arange(count) // size, order] = updates.weights[order]
        weights = mixing.sum(axis=1)
        return updates.mixed(mixing / weights[:, None], weights)

    def buckets(count: int) -> int:
        return -(-count // size)

    return PreAggregator("bucketing", transform, lambda count: count, 0, buckets)


def arc(f: int) -> PreAggregator:
    """Adaptive robust clipping: the floor(2f (n - f) / n) longest updates are cut to the next shorter norm.

    Allouah et al. 2025, algorithm 2. Tolerance f < n / 2. Sees single updates. Raises ValueError for an f
    that is no count.
    """
    checked_f(f)

    def transform(updates: UpdateSet) -> UpdateSet:
        count, norms = len(updates), updates.norms
        cut = 2 * f * (count - f) // count
        return clipped(updates, norms, float(np.sort(norms)[count - cut - 1]))

    return PreAggregator("arc", transform, minority, f, with_f=arc)


def distinct() -> PreAggregator:
    """Copies of an update become one, their mean; all but one of them count as false updates that were found.

    FoolsGold's aim within one round, without a history (after Fung et al. 2020, section 3: Sybils are more
    alike than honest clients). Two updates are copies if they differ by at most COPY times the usual
    distance: the median, over updates, of the distance to the nearest half. So honest updates that all point
    the same way are none, and free riders who send next to nothing are. Of k copies one may be an honest
    update that others copied; k - 1 are false, so that the rule that follows is made for as many less. Bears
    what that rule bears. Sees single updates.
    """

    def transform(updates: UpdateSet) -> UpdateSet:
        groups = _copies(updates)
        mixing = np.zeros((len(groups), len(updates)))
        for row, group in enumerate(groups):
            mixing[row, group] = updates.weights[group] / updates.weights[group].sum()
        weights = np.array([updates.weights[group].mean() for group in groups])
        return updates.mixed(mixing, weights) if len(groups) < len(updates) else updates

    return PreAggregator("distinct", transform, lambda count: count, finds_false=True)


def _copies(updates: UpdateSet) -> list[NDArray[np.intp]]:
    """Returns the numbers of each update and its copies; those with most copies take theirs first."""
    count = len(updates)
    away = np.sqrt(updates.distances.squared)
    usual = float(np.median(np.sort(away, axis=1)[:, count // 2]))
    close = away <= COPY * usual
    groups, free = [], np.ones(count, np.bool_)
    for number in np.argsort(-close.sum(axis=1), kind="stable"):
        if free[number]:
            groups.append(np.flatnonzero(close[number] & free))
            free[groups[-1]] = False
    return sorted(groups, key=lambda group: int(group[0]))


def static_clip(limit: float) -> PreAggregator:
    """Cuts each update to the L2 norm `limit` (Sun et al. 2019, section 4).

    Bears what the rule that follows bears. Sees single updates. Raises ValueError for a limit that is not
    positive.
    """
    if not limit > 0.0:
        raise ValueError(f"Updates are clipped to a positive norm, not {limit}.")
    return PreAggregator(
        "static-clip", lambda updates: clipped(updates, updates.norms, limit), lambda count: count
    )


def clipped(updates: UpdateSet, norms: Vector64, limit: float) -> UpdateSet:
    """Returns the updates, those longer than `limit` cut to it."""
    return updates.mixed(np.diag(clip_factors(norms, limit)), updates.weights)


def clip_factors(norms: Vector64, limit: float) -> Vector64:
    """Returns what each update is multiplied by so that its norm [n] is at most `limit`."""
    factors = np.ones_like(norms)
    return np.divide(limit, norms, out=factors, where=norms > limit)
