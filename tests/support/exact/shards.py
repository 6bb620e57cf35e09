"""Shards of random examples, and of the examples of a case of the conformance zoo."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from backend.formats.manifest import Manifest
from backend.formats.shard_file import StoredArray, StoredShard
from tests.support.exact.work import SEED

EXAMPLES, BATCHES = 64, 4


def random_shard(manifest: Manifest) -> bytes:
    """Returns a shard of random examples of a classifier."""
    generator = np.random.default_rng(SEED)
    x = [
        generator.integers(0, 2, (EXAMPLES, *part.shape), np.int32)
        if part.dtype == "int32"
        else generator.uniform(0, 1, (EXAMPLES, *part.shape)).astype(np.float32)
        for part in manifest.inputs
    ]
    y = [
        generator.integers(0, part.classes or 2, (EXAMPLES, *part.shape), np.int32)
        for part in manifest.labels
    ]
    return _encode(EXAMPLES, x, y)


def zoo_shard(case: Path) -> bytes:
    """Returns a shard of the first batches of a case of the zoo (tests/support/keras/reference.py)."""
    content = (case / "reference" / "inputs.bin").read_bytes()
    inputs = json.loads((case / "reference" / "inputs.json").read_bytes())
    batches: list[dict[str, Any]] = inputs["batches"][:BATCHES]

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([_array(content, batch[name]) for batch in batches])

    names = sorted(batches[0], key=lambda name: (name[0], len(name), name))
    x, y = ([joined(name) for name in names if name.startswith(part)] for part in ("x_", "y_"))
    return _encode(len(x[0]), x, y)


def _array(content: bytes, place: Mapping[str, Any]) -> NDArray[Any]:
    shape: Sequence[int] = place["shape"]
    count = int(np.prod(shape))
    array: NDArray[Any] = np.frombuffer(content, place["dtype"], count, place["offset"]).reshape(shape)
    return array


def _encode(examples: int, x: list[NDArray[Any]], y: list[NDArray[Any]]) -> bytes:
    shard = StoredShard(
        "minga-shard/2", examples, [_stored(array) for array in x], [_stored(array) for array in y]
    )
    return msgspec.msgpack.encode(shard)


def _stored(array: NDArray[Any]) -> StoredArray:
    return StoredArray(array.dtype.name, list(array.shape), array.tobytes())  # type: ignore[arg-type]
