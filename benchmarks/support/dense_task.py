"""A real task of any size: a dense Keras model with exactly this many parameters, cached.

Usage: python -m benchmarks.support.dense_task PARAMETERS FOLDER (writes bundle/ and shards/).
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

CLASSES = 10
SHARD_EXAMPLES = 2
ROOT = Path(__file__).resolve().parents[2]
KEPT = Path(tempfile.gettempdir()) / f"minga-benchmarks-{os.getuid()}"

CONVERSION = """name = "dense"

[model]
batch_size = 2
loss = "sparse_categorical_crossentropy"
metrics = ["accuracy"]
optimizer = { name = "sgd", learning_rate = 0.1 }
"""
TASK = """name = "{name}"
title = "Dense"

[model]
file = "model.keras"
bundle = "bundle"
batch_size = 2
optimizer = {{ name = "sgd", learning_rate = 0.1 }}

[data]
source = "shards"
shards = "shards"

"""
ROUNDS = """[coordination]
scheme = "federated"
rounds = {rounds}
min_available_clients = {available}
quorum = {clients}
deadline = 3600
adaptive_deadline = false
gather = 0
"""
UNITS = """[coordination]
scheme = "volunteer"

[coordination.units]
epochs = {epochs}
lease = 3600

[coordination.units.trust]
replicas = 1
spot_checks = 0
"""


def widths(parameters: int) -> tuple[int, int]:
    """Returns inputs and hidden units of the most nearly square model with `parameters`.

    Raises ValueError if there is none.
    """
    # d inputs, h hidden units: d h + h + 10 h + 10 values.
    product = parameters - CLASSES
    for hidden in range(math.isqrt(max(product, 0)), 1, -1):
        inputs = product // hidden - CLASSES - 1
        if product % hidden == 0 and inputs > 0 and hidden > 1:
            return inputs, hidden
    raise ValueError(f"There is no dense model of {parameters} parameters; try {parameters + 1}.")


def write_task(
    folder: Path,
    parameters: int,
    clients: int,
    rounds: int,
    min_available_clients: int | None = None,
    name: str = "dense",
    more: str = "",
) -> Path:
    """Writes a task folder for so many clients and rounds; its bundle is converted on first use.

    A round opens with `clients`, or `min_available_clients`, of them. `more` are further TOML tables.
    """
    available = min_available_clients or clients
    coordination = ROUNDS.format(rounds=rounds, clients=clients, available=available)
    return _write(folder, name, parameters, clients, coordination + more)


def write_units(folder: Path, parameters: int, shards: int, epochs: int) -> Path:
    """Writes a task of work units, one for each of so many shards, each trained by one client."""
    return _write(folder, "dense", parameters, shards, UNITS.format(epochs=epochs))


def _write(folder: Path, name: str, parameters: int, shards: int, coordination: str) -> Path:
    task = folder / name
    task.mkdir(parents=True)
    (task / "bundle").symlink_to(_bundle(parameters))
    _write_shards(task / "shards", widths(parameters)[0], shards)
    (task / "task.toml").write_text(TASK.format(name=name) + coordination, "utf-8")
    return task


def _bundle(parameters: int) -> Path:
    """Returns the cached bundle; if several processes lack it, one converts and the others wait."""
    cached = KEPT / f"{parameters}-{_digest()}"
    with cached.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (cached / "bundle" / "bundle.json").is_file():
            command = [sys.executable, "-m", "benchmarks.support.dense_task", str(parameters), str(cached)]
            process = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
            if process.returncode:
                raise RuntimeError(f"The dense model was not converted:\n{process.stderr}")
    return cached / "bundle"


def _digest() -> str:
    """Returns a digest of the sources on which the cached bundles depend."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted((ROOT / "converter").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _write_shards(folder: Path, inputs: int, count: int) -> None:
    folder.mkdir()
    shards = [_shard(folder, inputs, number) for number in range(count)]
    (folder / "shards.json").write_text(json.dumps({"train": shards, "holdout": []}))


def _shard(folder: Path, inputs: int, number: int) -> dict[str, Any]:
    shape = [SHARD_EXAMPLES, inputs]
    x = np.full(shape, number % 251, np.uint8)
    y = np.zeros(SHARD_EXAMPLES, "<i4")
    content = msgspec.msgpack.encode(
        {
            "format": "minga-shard/2",
            "examples": SHARD_EXAMPLES,
            "x": [{"dtype": "uint8", "shape": shape, "data": x.tobytes()}],
            "y": [{"dtype": "int32", "shape": [SHARD_EXAMPLES], "data": y.tobytes()}],
        }
    )
    name = f"{number}.msgpack"
    (folder / name).write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    return {"file": name, "sha256": digest, "examples": SHARD_EXAMPLES, "bytes": len(content)}


def _convert(parameters: int, folder: Path) -> None:
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import keras

    inputs, hidden = widths(parameters)
    layers = [keras.layers.Dense(hidden, activation="relu"), keras.layers.Dense(CLASSES, "softmax")]
    model = keras.Sequential([keras.Input((inputs,)), *layers])
    assert model.count_params() == parameters
    with tempfile.TemporaryDirectory() as temporary:
        saved, task = Path(temporary, "model.keras"), Path(temporary, "task.toml")
        model.save(saved)
        task.write_text(CONVERSION, "utf-8")
        command = [sys.executable, "-m", "converter", str(saved), "--task", str(task)]
        command += ["-o", str(folder / "bundle")]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    _convert(int(sys.argv[1]), Path(sys.argv[2]))
