"""Prepares examples for the graphs: preprocesses and joins shards, and cuts padded batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.formats.manifest import Manifest
from backend.formats.shard_file import decode_shard
from backend.numerics.preprocess.loading import load_values

Array = NDArray[Any]


@dataclass(frozen=True)
class Examples:
    """Preprocessed examples in the dtypes of the bundle: `x` and `y` [n, ...] each, `sample_weight` [n]."""

    x: tuple[Array, ...]
    y: tuple[Array, ...]
    sample_weight: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.sample_weight)

    def picked(self, rows: Any) -> Examples:
        """Returns the examples `rows`, in this order."""
        x, y = (tuple(values[rows] for values in columns) for columns in (self.x, self.y))
        return Examples(x, y, self.sample_weight[rows])

    def batch(self, rows: Any, size: int) -> dict[str, Array]:
        """Returns the examples `rows` as the graphs' inputs, padded to `size` with the first one at weight 0.

        An existing example as padding gives no layer an input that it would not see otherwise: an average
        over the words of an empty text is NaN, and stays NaN at weight 0.
        """
        named = {f"x_{i}": values for i, values in enumerate(self.x)}
        named |= {f"y_{i}": values for i, values in enumerate(self.y)}
        batch = {name: _padded(values[rows], size) for name, values in named.items()}
        weights = self.sample_weight[rows]
        return batch | {"sample_weight": np.pad(weights, (0, size - len(weights)))}


def read_shard(content: bytes, manifest: Manifest) -> Examples:
    """Returns the preprocessed examples of one shard. Raises BundleError if it does not fit the bundle."""
    raw = decode_shard(content, manifest)
    return load_examples(raw.x, raw.y, raw.sample_weight, manifest)


def load_examples(
    x: Sequence[Array], y: Sequence[Array], sample_weight: NDArray[np.float32], manifest: Manifest
) -> Examples:
    """Converts stored arrays [n, ...] to the dtypes of the bundle, and scales inputs as it specifies."""
    steps = manifest.preprocess
    inputs = tuple(
        load_values(values, steps.scale, steps.offset)
        if spec.dtype == "float32"
        else values.astype(spec.dtype, copy=False)
        for values, spec in zip(x, manifest.inputs, strict=True)
    )
    labels = zip(y, manifest.labels, strict=True)
    return Examples(
        inputs, tuple(values.astype(spec.dtype, copy=False) for values, spec in labels), sample_weight
    )


def zero_examples(manifest: Manifest, count: int) -> Examples:
    """Returns `count` examples of zeros with weight 1."""
    return Examples(
        tuple(np.zeros([count, *spec.shape], spec.dtype) for spec in manifest.inputs),
        tuple(np.zeros([count, *spec.shape], spec.dtype) for spec in manifest.labels),
        np.ones(count, np.float32),
    )


def join_shards(shards: Iterable[Examples]) -> Examples:
    """Concatenates all examples in order. There must be at least one shard."""
    parts = list(shards)
    return Examples(
        tuple(np.concatenate(columns) for columns in zip(*(part.x for part in parts), strict=True)),
        tuple(np.concatenate(columns) for columns in zip(*(part.y for part in parts), strict=True)),
        np.concatenate([part.sample_weight for part in parts]),
    )


def _padded(values: Array, size: int) -> Array:
    missing = size - len(values)
    return np.concatenate([values, np.repeat(values[:1], missing, 0)]) if missing else values
