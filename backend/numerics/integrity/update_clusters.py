"""Splits the updates of a round into two clusters by direction (after Auror, Shen et al. 2016)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# With fewer updates, a cluster of two cannot be a minority.
MIN_UPDATES = 5
_ROUNDS = 50


@dataclass(frozen=True)
class UpdateClusters:
    """The smaller cluster: indices of its updates, and how far it stands apart.

    `separation` is the mean silhouette of its members by cosine distance (Rousseeuw 1987): 1 for a cluster
    of equal updates far from the others, about 0 where the split is arbitrary, 0 for a single update.
    """

    members: tuple[int, ...]
    separation: float


def update_clusters(updates: NDArray[np.float32]) -> UpdateClusters:
    """Splits `updates` [n, parameters] by 2-means on directions, computed from their float64 Gram matrix.

    The first split is the sign of the leading principal component. An update of length 0 has no direction:
    its cosine with all others is 0. Cost: n^2 products of updates. Raises ValueError for fewer than
    MIN_UPDATES updates or values that are not finite.
    """
    if updates.ndim != 2 or len(updates) < MIN_UPDATES:
        raise ValueError(f"At least {MIN_UPDATES} updates are needed, in rows.")
    if not np.all(np.isfinite(updates)):
        raise ValueError("The updates hold a value that is not finite.")
    cosines = _cosines(updates)
    centred = cosines - cosines.mean(axis=0) - cosines.mean(axis=1, keepdims=True) + cosines.mean()
    inside = np.linalg.eigh(centred)[1][:, -1] > 0
    for _ in range(_ROUNDS):
        nearer = _distances(cosines, inside) < _distances(cosines, ~inside)
        if np.array_equal(nearer, inside) or nearer.all() or not nearer.any():
            break
        inside = nearer
    if np.count_nonzero(inside) > len(inside) - np.count_nonzero(inside):
        inside = ~inside
    members = np.flatnonzero(inside)
    return UpdateClusters(tuple(members.tolist()), _silhouette(1.0 - cosines, inside))


def _cosines(updates: NDArray[np.float32]) -> NDArray[np.float64]:
    rows = updates.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows /= np.where(lengths > 0, lengths, 1.0)
    products: NDArray[np.float64] = rows @ rows.T
    return products


def _distances(cosines: NDArray[np.float64], inside: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Returns the squared distances [n] of unit vectors to the mean of those `inside`, less a constant."""
    if not inside.any():
        return np.full(len(cosines), np.inf)
    distances: NDArray[np.float64] = cosines[np.ix_(inside, inside)].mean() - 2.0 * cosines[:, inside].mean(
        axis=1
    )
    return distances


def _silhouette(distances: NDArray[np.float64], inside: NDArray[np.bool_]) -> float:
    count = np.count_nonzero(inside)
    if count < 2:
        return 0.0
    own = distances[np.ix_(inside, inside)].sum(axis=1) / (count - 1)
    others = distances[np.ix_(inside, ~inside)].mean(axis=1)
    larger = np.maximum(own, others)
    return float(np.mean(np.where(larger > 0, (others - own) / np.where(larger > 0, larger, 1.0), 0.0)))
