"""Writes a picture task as a mesh task whose members check each other, with the perceptron as its model.

Usage: python -m benchmarks.btard.processes.mesh_task TASK SEED FILE (saves the model with its first weights).
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from backend.formats.exact_program import read_exact_program
from backend.server.sandbox.conversion import convert
from backend.settings import dist_folder
from benchmarks.btard.picture_task import CLASSES, SHARD, PictureTask, open_task
from benchmarks.btard.trial import MOMENTUM, Trial
from benchmarks.support.dense_task import ROOT

# A member that does not answer for so many seconds is missing; more than TensorFlow takes for its first step.
PATIENCE = 20.0
_ENDLESS = 3600.0

TASK = """name = "{name}"
title = "Pictures"

[model]
file = "model.keras"
bundle = "bundle"
batch_size = {batch}
loss = "sparse_categorical_crossentropy"
metrics = ["accuracy"]

[model.optimizer]
name = "sgd"
learning_rate = {rate}
schedule = {{ name = "cosine_decay", decay_steps = {rounds} }}

[data]
source = "shards"
shards = "shards"
preprocess = {{ kind = "array", scale = {scale}, mean = {mean} }}

[training]
steps = 1

[coordination]
scheme = "decentralized"
rounds = {rounds}
min_available_clients = {peers}
deadline = {deadline}
adaptive_deadline = false
gather = 0
server_optimizer = {{ name = "nesterov", learning_rate = 1.0, momentum = {momentum} }}

[coordination.averaging]
patience = {patience}

[coordination.byzantine]
validators = {validators}
radius = {radius}
"""


def write_mesh_task(trial: Trial, folder: Path, patience: float = PATIENCE) -> Path:
    """Writes the trial's task into the new `folder`, and converts its model; returns the folder.

    A step of SGD at the rate of the task, which falls by half a cosine, is what a member adds; the outer step
    is Nesterov's with rate 1. A fixed radius of the trial is that of such steps. Raises MingaError.
    """
    task = trial.task
    folder.mkdir(parents=True)
    text = TASK.format(
        name=task.name,
        batch=trial.batch,
        rate=task.rate,
        rounds=trial.rounds,
        scale=1.0 / task.unit,
        mean=task.middle / task.unit,
        peers=trial.peers,
        deadline=_ENDLESS,
        momentum=MOMENTUM,
        patience=patience,
        validators=trial.validators,
        radius='"auto"' if trial.radius is None else float(trial.radius),
    )
    (folder / "task.toml").write_text(text, "utf-8")
    _write_shards(task, folder / "shards")
    model = folder / "model.keras"
    words = [sys.executable, "-m", __name__, task.name, str(trial.seed), str(model)]
    subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    convert(model, folder / "task.toml", folder / "bundle", program=read_exact_program(dist_folder()))
    return folder


def _write_shards(task: PictureTask, folder: Path) -> None:
    folder.mkdir()
    x, y = task.pixels(), task.train.y.astype("<i4")
    shards = []
    for number in range(task.shards):
        rows = slice(SHARD * number, SHARD * (number + 1))
        content = msgspec.msgpack.encode(
            {
                "format": "minga-shard/2",
                "examples": SHARD,
                "x": [_array(x[rows])],
                "y": [_array(y[rows])],
            }
        )
        digest = hashlib.sha256(content).hexdigest()
        (folder / f"{digest}.shard").write_bytes(content)
        entry = {"file": f"{digest}.shard", "sha256": digest, "examples": SHARD, "bytes": len(content)}
        shards.append(entry)
    (folder / "shards.json").write_text(json.dumps({"train": shards, "holdout": []}), "utf-8")


def _array(values: Any) -> dict[str, Any]:
    return {"dtype": values.dtype.name, "shape": list(values.shape), "data": values.tobytes()}


def _save_model(name: str, seed: int, path: Path) -> None:
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras

    task, layers = open_task(name), keras.layers
    model = keras.Sequential(
        [
            keras.Input((task.train.x.shape[1],), name="pixels"),
            layers.Dense(task.hidden, activation="relu", name="hidden"),
            layers.Dense(CLASSES, activation="softmax", name="kind"),
        ],
        name=task.name,
    )
    model.set_weights(task.layers(task.first_weights(seed)))
    model.save(path)


if __name__ == "__main__":
    _save_model(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
