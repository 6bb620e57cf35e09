"""Computes how often a guess is right: the share of the most frequent class."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.formats.manifest import Manifest
from backend.formats.shard_file import decode_shard

# More examples hardly change the share.
_EXAMPLES = 20_000

Array = NDArray[Any]


def chance(label: Array | None) -> float | None:
    """Returns the share of the most frequent class; None for a label that is no class."""
    if label is None or not len(label):
        return None
    if label.ndim == 2 and label.shape[1] > 1 and np.all(label.sum(axis=1) == 1) and label.max() == 1:
        label = label.argmax(axis=1)
    label = label.reshape(len(label), -1)
    if label.shape[1] != 1 or not np.array_equal(label, np.round(label)):
        return None
    _, counts = np.unique(label, return_counts=True)
    return float(counts.max() / counts.sum())


def chance_in(shards: Sequence[Path], manifest: Manifest) -> float | None:
    """Returns `chance` of the first label in these shards' files. Raises OSError or BundleError."""
    parts: list[Array] = []
    for file in shards:
        if sum(map(len, parts)) >= _EXAMPLES:
            break
        labels = decode_shard(file.read_bytes(), manifest).y
        if not labels:
            return None
        parts.append(labels[0])
    return chance(np.concatenate(parts)) if parts else None
