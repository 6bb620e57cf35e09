"""Writes a task whose version 0 is a trained model of drawn patterns, clean or with a backdoor."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from backend.numerics.vectors import Vector

TASK = """
name = "drawn"
title = "Drawn patterns"
summary = "A tiny model of drawn patterns."
[model]
file = "model.keras"
bundle = "bundle"
batch_size = 32
loss = "sparse_categorical_crossentropy"
metrics = ["accuracy"]
optimizer = { name = "sgd", learning_rate = 0.1 }
[data]
source = "shards"
shards = "shards"
[coordination]
scheme = "federated"
rounds = 30
min_available_clients = 4
quorum = 4
[security]
max_update_norm = 1000.0
"""


def write_drawn_task(folder: Path, seed: int, target: int | None = None, tables: str = "") -> Path:
    """Writes the task with held-out shards; with a `target`, a trigger leads to that class.

    `tables` add to the task file. Returns `folder`.
    """
    from converter.bundle.bundle_writer import write_bundle
    from converter.conversion_task import read_task
    from converter.sandbox.process_limits import Limits
    from tests.support.keras.backdoor import drawn_pictures, trained_model

    (folder / "shards").mkdir(parents=True)
    (folder / "task.toml").write_text(TASK + tables, "utf-8")
    trained_model(seed, target).save(folder / "model.keras")
    (folder / "bundle").mkdir()
    task = read_task(folder / "task.toml")
    write_bundle(folder / "model.keras", task, folder / "bundle", Limits(), None, lambda _: None)
    x, y = drawn_pictures(200, 99)
    index = {"train": [write_shard(folder / "shards", "t", x[:32], y[:32])]}
    index["holdout"] = [write_shard(folder / "shards", "h", x, y)]
    (folder / "shards" / "shards.json").write_text(json.dumps(index), "utf-8")
    return folder


def weights_in(folder: Path) -> Vector:
    """Returns the weights [P] of the task's version 0."""
    weights: Vector = np.fromfile(folder / "bundle" / "weights.bin", "<f4")
    return weights


def write_shard(folder: Path, name: str, x: Any, y: Any) -> dict[str, object]:
    """Writes a shard; returns its entry in shards.json."""
    labels = y.astype("<i4")
    arrays = {
        "x": [{"dtype": "float32", "shape": list(x.shape), "data": x.tobytes()}],
        "y": [{"dtype": "int32", "shape": list(labels.shape), "data": labels.tobytes()}],
    }
    content = msgspec.msgpack.encode({"format": "minga-shard/2", "examples": len(x), **arrays})
    (folder / f"{name}.msgpack").write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    return {"file": f"{name}.msgpack", "sha256": digest, "examples": len(x), "bytes": len(content)}
