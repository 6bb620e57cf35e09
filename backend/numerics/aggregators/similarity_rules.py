"""Rules on directions: FLAME drops those apart from the majority, FoolsGold those that agree too well."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.numerics.aggregators.column_blocks import JOB_COLUMNS, blocks_within, map_columns
from backend.numerics.aggregators.composition import Aggregator, minority
from backend.numerics.aggregators.distances import Distances, Matrix
from backend.numerics.aggregators.fast_normals import NormalBlocks
from backend.numerics.aggregators.pre_aggregators import clip_factors
from backend.numerics.aggregators.update_set import Updates, UpdateSet
from backend.numerics.vectors import BLOCK_VALUES, Vector64

# Cosine distances below this are rounding: such updates point in the same direction.
_SAME = 1e-7
# FoolsGold's logit takes the most trusted update, which has 1, as this much.
_ALMOST_ONE = 0.99


def flame(seed: int, noise: float = 0.001) -> Aggregator:
    """Weighted mean of the majority of directions, each clipped to the median norm, plus noise (FLAME).

    Nguyen et al. 2022, algorithm 1: HDBSCAN on cosine distances finds the one cluster of more than half of
    the updates; the rest is dropped; the deviation of the Gaussian noise is `noise` times the median norm.
    The noise blurs the rest of a backdoor in the mean, and promises nobody privacy.
    `seed` draws it: take a new secret one each round. Needs scikit-learn. Tolerance f < n / 2. Sees single
    updates. Raises ValueError for negative noise.
    """
    if not noise >= 0.0:
        raise ValueError(f"The noise of FLAME is a factor from 0 up, not {noise}.")

    def rule(updates: UpdateSet) -> Vector64:
        norms = updates.distances.norms
        limit = float(np.median(norms))
        kept = majority(cosines(updates.distances))
        weights = np.where(kept, updates.weights, 0.0)
        result = updates.combine(clip_factors(norms, limit) * weights / weights.sum())
        if noise and limit:
            _add_noise(result, noise * limit, seed)
        return result

    return Aggregator("flame", rule, minority)


def fools_gold(history: Updates | None = None) -> Aggregator:
    """Mean weighted by how unlike the most similar other client each is (Fung et al. 2020, algorithm 1).

    `history` [n, size] is the sum of each client's updates up to now, these included; the updates themselves
    unless given. It bears any number of clients that act alike, provided that honest ones do not; clients
    that act alone it does not bear, so its tolerance is 0. Sees single updates.
    """
    seen = None if history is None else UpdateSet(history)

    def rule(updates: UpdateSet) -> Vector64:
        if seen is not None and len(seen) != len(updates):
            raise ValueError(f"The history has {len(seen)} clients; {len(updates)} sent updates.")
        trust = _trust(cosines((seen or updates).distances)) * updates.weights
        if seen is not None:
            updates.refuse_not_finite()
        return updates.combine(trust / trust.sum())

    return Aggregator("fools-gold", rule, lambda _count: 0)


def cosines(distances: Distances) -> Matrix:
    """Returns the cosines between rows, [n, n]. A row of zeros is at a right angle to others."""
    norms = distances.norms
    lengths = np.outer(norms, norms)
    cosine = np.divide(distances.inner, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
    none = norms == 0.0
    cosine[np.ix_(none, none)] = 1.0
    np.fill_diagonal(cosine, 1.0)
    return np.clip(cosine, -1.0, 1.0)


def majority(cosine: Matrix) -> NDArray[np.bool_]:
    """Returns which rows are in the cluster of more than half; where none is, the half nearest its middle."""
    count, apart = len(cosine), 1.0 - cosine
    if count < 3 or apart.max() < _SAME:
        return np.ones(count, np.bool_)
    kept: NDArray[np.bool_] = np.equal(_cluster(apart), 0)
    if not kept.any():
        middle = np.sort(apart, axis=1)[:, count // 2].argmin()
        kept[np.argsort(apart[middle], kind="stable")[: count // 2 + 1]] = True
    return kept


def load_clustering() -> Any:
    """Returns scikit-learn's class HDBSCAN. Raises ValueError where it is not installed.

    The first call takes a second or more.
    """
    try:
        from sklearn.cluster import HDBSCAN  # Only FLAME has to spend that second.
    except ImportError as error:
        raise ValueError("FLAME needs scikit-learn: pip install 'minga[robust]'.") from error
    return HDBSCAN


def _cluster(apart: Matrix) -> NDArray[np.intp]:
    """Returns 0 for the rows in the one cluster of more than half, and -1 for the others."""
    least = len(apart) // 2 + 1
    search = load_clustering()(
        min_cluster_size=least, min_samples=1, metric="precomputed", allow_single_cluster=True, copy=True
    )
    labels: NDArray[np.intp] = search.fit_predict(apart)
    return labels


def _trust(cosine: Matrix) -> Vector64:
    """Returns FoolsGold's factor of each client, from 0 to 1."""
    count = len(cosine)
    if count < 2:
        return np.ones(count)
    alike = cosine.copy()
    np.fill_diagonal(alike, -1.0)
    closest = np.maximum(alike.max(axis=1), 0.0)
    # An honest client that resembles one of a swarm is pardoned: the swarm's own are more alike.
    pardon = np.divide(closest[:, None], closest, out=np.ones_like(alike), where=closest > closest[:, None])
    trust = np.clip(1.0 - (alike * pardon).max(axis=1), 0.0, 1.0)
    if trust.max() < _SAME:
        return np.ones(count)
    trust = np.minimum(trust / trust.max(), _ALMOST_ONE)
    with np.errstate(divide="ignore"):
        factors: Vector64 = np.clip(np.log(trust / (1.0 - trust)) + 0.5, 0.0, 1.0)
    return factors


def _add_noise(values: Vector64, deviation: float, seed: int) -> None:
    """Adds Gaussian noise in place. Each job has a stream of its own, so that threads change nothing."""

    def add(columns: slice) -> None:
        normals = NormalBlocks([seed, columns.start // JOB_COLUMNS], BLOCK_VALUES)
        for part in blocks_within(columns, BLOCK_VALUES):
            noise = normals.next(part.stop - part.start)
            noise *= deviation
            values[part] += noise

    map_columns(len(values), add)
