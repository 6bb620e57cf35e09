"""Finds a minority of updates that points in a direction of its own (after Auror, Shen et al. 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.numerics.aggregators.similarity_rules import load_clustering
from backend.numerics.vectors import Vector64

# With fewer updates, a cluster of two cannot be a minority.
MIN_UPDATES = 5
_SMALLEST_CLUSTER = 2


@dataclass(frozen=True)
class UpdateClusters:
    """The minority that stands apart most: indices of its updates, and how far; empty where none does.

    `separation` is the mean silhouette of its members by cosine distance (Rousseeuw 1987): 1 for a cluster
    of equal updates far from the others, about 0 where the split is arbitrary, 0 without a minority.
    """

    members: tuple[int, ...]
    separation: float


def update_clusters(updates: NDArray[np.floating[Any]]) -> UpdateClusters:
    """Clusters `updates` [n, parameters] by HDBSCAN on cosine distances (Campello et al. 2013).

    A minority is a cluster of fewer than half of the updates. An update of length 0 has no direction: its
    cosine with all others is 0. Cost: n^2 products of updates. Needs scikit-learn. Raises ValueError for
    fewer than MIN_UPDATES updates or values that are not finite.
    """
    if updates.ndim != 2 or len(updates) < MIN_UPDATES:
        raise ValueError(f"At least {MIN_UPDATES} updates are needed, in rows.")
    if not np.all(np.isfinite(updates)):
        raise ValueError("The updates hold a value that is not finite.")
    units = directions(updates)
    apart = np.clip(1.0 - units @ units.T, 0.0, 2.0)
    np.fill_diagonal(apart, 0.0)
    search = load_clustering()(
        min_cluster_size=_SMALLEST_CLUSTER, min_samples=1, metric="precomputed", copy=True
    )
    labels: NDArray[np.intp] = search.fit_predict(apart)
    found = UpdateClusters((), 0.0)
    for label in range(labels.max() + 1):
        inside = labels == label
        separation = _silhouette(apart, inside)
        if 2 * np.count_nonzero(inside) < len(updates) and separation > found.separation:
            found = UpdateClusters(tuple(np.flatnonzero(inside).tolist()), separation)
    return found


def directions(updates: NDArray[np.floating[Any]]) -> Vector64:
    """Returns the updates [n, parameters] with length 1, float64; those of length 0 as they are."""
    rows = updates.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows /= np.where(lengths > 0.0, lengths, 1.0)
    return rows


def _silhouette(distances: Vector64, inside: NDArray[np.bool_]) -> float:
    count = np.count_nonzero(inside)
    own = distances[np.ix_(inside, inside)].sum(axis=1) / (count - 1)
    others = distances[np.ix_(inside, ~inside)].mean(axis=1)
    larger = np.maximum(own, others)
    return float(np.mean(np.where(larger > 0.0, (others - own) / np.where(larger > 0.0, larger, 1.0), 0.0)))
