"""Rules that choose updates by their distances, or by the direction in which they differ most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backend.numerics.aggregators.composition import Aggregator, checked_f, minority
from backend.numerics.aggregators.coordinate_rules import mean_around_median
from backend.numerics.aggregators.distances import Distances, Matrix
from backend.numerics.aggregators.update_set import UpdateSet
from backend.numerics.vectors import Vector64

# Updates farther from the medoid than this many times the median distance are far.
_FAR = 4.0


def krum(f: int, neighbours: int | None = None) -> Aggregator:
    """The update with the least sum of squared distances to its n - f - 2 nearest (Krum).

    Blanchard et al. 2017, section 4. `neighbours` replaces n - f - 2; ByzFL takes n - f - 1. Tolerance 2f + 2
    < n. Sees single updates; ignores weights. Of equal scores the least sum of all distances wins, then the
    earlier update. Raises ValueError for an f or `neighbours` that is no count.
    """
    checked_f(f)
    _check_neighbours(neighbours)

    def rule(updates: UpdateSet) -> Vector64:
        best = krum_order(updates.distances.squared, f, neighbours)[0]
        return updates.combine(np.eye(len(updates))[best])

    return Aggregator("krum", rule, krum_tolerance, f, lambda fewer: krum(fewer, neighbours))


def multi_krum(f: int, keep: int | None = None, neighbours: int | None = None) -> Aggregator:
    """Weighted mean of the `keep` updates that Krum scores best, n - f unless given.

    Blanchard et al. 2017, section 5. Tolerance 2f + 2 < n. Sees single updates. Raises ValueError for an f,
    `keep` or `neighbours` that is no count, and, where it is applied, for a `keep` above n - f.
    """
    checked_f(f)
    _check_neighbours(neighbours)
    if keep is not None and keep < 1:
        raise ValueError(f"Multi-Krum keeps at least one update, not {keep}.")

    def rule(updates: UpdateSet) -> Vector64:
        most = len(updates) - f
        if keep is not None and keep > most:
            raise ValueError(
                f"Multi-Krum with f = {f} keeps at most {most} of {len(updates)} updates, not {keep}."
            )
        best = krum_order(updates.distances.squared, f, neighbours)[: most if keep is None else keep]
        return updates.combine(mean_of(best, updates.weights))

    return Aggregator(
        "multi-krum", rule, krum_tolerance, f, lambda fewer: multi_krum(fewer, keep, neighbours)
    )


def bulyan(f: int) -> Aggregator:
    """Krum n - 2f times without replacement, then the mean of the n - 4f values nearest each median.

    El Mhamdi et al. 2018, section 4. Tolerance 4f + 3 <= n. Sees single updates; ignores weights. Raises
    ValueError for an f that is no count.
    """
    checked_f(f)

    def rule(updates: UpdateSet) -> Vector64:
        remaining, chosen = list(range(len(updates))), []
        squared = updates.distances.squared
        for _ in range(len(updates) - 2 * f):
            best = remaining[krum_order(squared[np.ix_(remaining, remaining)], f, None)[0]]
            remaining.remove(best)
            chosen.append(best)
        return mean_around_median(updates.chosen(sorted(chosen)), 2 * f)

    return Aggregator("bulyan", rule, lambda count: max(0, (count - 3) // 4), f, bulyan)


def dnc(f: int) -> Aggregator:
    """Weighted mean without the f updates that are farthest out where all differ most (divide and conquer).

    Shejwalkar and Houmansadr 2021, algorithm 2: attackers that pull together stretch the updates along one
    direction, and have the largest projections on it. All coordinates count here, where the paper samples
    some, because the direction follows from the Gram matrix. Updates more than 4 times the median
    distance from the medoid are left out first, of the f: a single huge one would choose the direction.
    Tolerance f < n / 2. Sees single updates. Raises ValueError for an f that is no count.
    """
    checked_f(f)

    def rule(updates: UpdateSet) -> Vector64:
        near = _without_far(updates.distances.squared, updates.distances.medoid(), f)
        out = f - (len(updates) - len(near))
        kept = near[np.argsort(_projections(updates.distances, near), kind="stable")[: len(near) - out]]
        return updates.combine(mean_of(kept, updates.weights))

    return Aggregator("dnc", rule, minority, f, dnc)


def krum_tolerance(count: int) -> int:
    """Returns the largest f with 2f + 2 < n."""
    return max(0, (count - 3) // 2)


def krum_order(squared: Matrix, f: int, neighbours: int | None) -> NDArray[np.intp]:
    """Returns the rows of squared distances [n, n] in the order of Krum's score, best first."""
    count = len(squared)
    nearest = min(max(count - f - 2 if neighbours is None else neighbours, 1), count - 1)
    scores = np.sort(squared, axis=1)[:, 1 : nearest + 1].sum(axis=1)
    order: NDArray[np.intp] = np.lexsort((squared.sum(axis=1), scores))
    return order


def mean_of(numbers: NDArray[np.intp], weights: Vector64) -> Vector64:
    """Returns the factors [n] of the weighted mean of the rows with these numbers."""
    factors = np.zeros(len(weights))
    factors[numbers] = weights[numbers]
    factors /= factors.sum()
    return factors


def _without_far(squared: Matrix, medoid: int, f: int) -> NDArray[np.intp]:
    """Returns the rows that are not far from the medoid, n - f of them at least, in order."""
    away = np.sqrt(squared[medoid])
    limit = _FAR * np.sort(away)[len(away) // 2]
    farthest = np.argsort(-away, kind="stable")[:f]
    return np.setdiff1d(np.arange(len(away)), farthest[away[farthest] > limit])


def _projections(distances: Distances, rows: NDArray[np.intp]) -> Vector64:
    """Returns the squares of the rows' projections on their first principal component, up to a factor."""
    products = distances.centred[np.ix_(rows, rows)]
    products = products - products.mean(axis=0)
    products -= products.mean(axis=1, keepdims=True)
    first: Vector64 = np.linalg.eigh(products)[1][:, -1]
    return np.square(first)


def _check_neighbours(neighbours: int | None) -> None:
    if neighbours is not None and neighbours < 1:
        raise ValueError(f"Krum compares an update with at least one neighbour, not {neighbours}.")
