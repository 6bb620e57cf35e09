"""Builds the digits task: a small CNN with first weights, and shards of scikit-learn's digits.

Usage: python build.py OUTPUT, which writes model.keras and shards/ into the folder OUTPUT.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import msgspec
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 8
HOLDOUT = 297
SHARD = 100


def build_model() -> Any:
    """Builds a CNN, [8, 8, 1] pixels in [0, 1] to probabilities of ten digits; 7,490 parameters."""
    keras.utils.set_random_seed(SEED)
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((8, 8, 1), name="pixels"),
            layers.Conv2D(16, 3, padding="same", activation="relu", name="conv_1"),
            layers.Conv2D(24, 3, padding="same", activation="relu", name="conv_2"),
            layers.MaxPooling2D(name="pool"),
            layers.Flatten(name="flatten"),
            layers.Dropout(0.25, name="dropout"),
            layers.Dense(10, activation="softmax", name="digit"),
        ],
        name="digits",
    )


def write_shards(directory: Path) -> None:
    """Writes 1500 training examples in shards of 100, and 297 held-out ones, stratified by digit."""
    pixels, digits = load_digits(return_X_y=True)
    x = pixels.reshape(-1, 8, 8, 1).astype(np.uint8)
    y = digits.astype("<i4")
    x_train, x_holdout, y_train, y_holdout = train_test_split(
        x, y, test_size=HOLDOUT, stratify=y, shuffle=True, random_state=SEED
    )
    directory.mkdir(parents=True)
    starts = range(0, len(x_train), SHARD)
    index = {
        "train": [write_shard(directory, x_train[i : i + SHARD], y_train[i : i + SHARD]) for i in starts],
        "holdout": [write_shard(directory, x_holdout, y_holdout)],
    }
    (directory / "shards.json").write_text(json.dumps(index, indent=1) + "\n", "utf-8")


def write_shard(directory: Path, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Writes one shard, named by its hash; returns its entry for shards.json."""
    content = msgspec.msgpack.encode(
        {"format": "minga-shard/2", "examples": len(x), "x": [_array(x)], "y": [_array(y)]}
    )
    digest = hashlib.sha256(content).hexdigest()
    (directory / f"{digest}.shard").write_bytes(content)
    return {"file": f"{digest}.shard", "sha256": digest, "examples": len(x), "bytes": len(content)}


def _array(values: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {"dtype": values.dtype.name, "shape": list(values.shape), "data": values.tobytes()}


def main() -> int:
    """Writes everything into the folder given as the only argument."""
    output = Path(sys.argv[1])
    output.mkdir(parents=True, exist_ok=True)
    build_model().save(output / "model.keras")
    write_shards(output / "shards")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
