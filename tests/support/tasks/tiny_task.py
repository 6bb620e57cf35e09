"""Writes a task folder of a few hundred bytes: y = w x + b, 8 parameters and 2 state values.

Its graphs compute nothing; the server reads only their ops.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

TRAINABLE, STATE = 8, 2
SIZE = TRAINABLE + STATE
SHARDS, EXAMPLES = 6, 5
SIGNATURES = ("train", "apply", "evaluate", "predict")
OPS = ("Placeholder", "AddV2")
WORK = {
    "layers": [
        {"name": "dense", "kind": "Dense", "output_shapes": [[2]], "parameters": 8, "trainable": 8},
        {
            "name": "norm",
            "kind": "BatchNormalization",
            "output_shapes": [[2]],
            "parameters": 2,
            "trainable": 0,
        },
    ],
    "flops": {"train": 100, "apply": 16, "evaluate": 40, "predict": 30},
    "step": {
        "ops": [{"op": "AddV2", "runs": 2, "flops": 116, "bytes": 96}],
        "memory": {"weights": 40, "slots": 0, "inputs": 64, "constants": 0, "intermediates": 96},
        "largest_tensor": {"name": "trainable", "shape": [8]},
        "deepest_tensor": {"name": "x", "shape": [4, 2]},
    },
}


def graph_def(*ops: str, library: bytes = b"") -> bytes:
    """Returns a serialized GraphDef with one node per op, in hand-written protobuf wire format."""
    nodes = b"".join(
        _field(1, _field(1, f"n{i}".encode()) + _field(2, op.encode())) for i, op in enumerate(ops)
    )
    return nodes + (_field(2, library) if library else b"")


def keep_versions(folder: Path, last: int) -> None:
    """Lets the task in `folder` keep the weights of only the `last` versions."""
    with (folder / "task.toml").open("a") as file:
        file.write(f"\n[checkpoints]\nkeep_last = {last}\nkeep_best = 0\n")


def bring_own(folder: Path, minimum: int, maximum: int, holdout: float) -> None:
    """Lets volunteers of the task in `folder` use their own examples instead of shards."""
    file = folder / "task.toml"
    text = file.read_text("utf-8").replace('source = "shards"', 'source = "volunteer"')
    text = text.replace('shards = "shards"\nshards_per_client = 2', 'preprocess = { kind = "array" }')
    own = f"minimum = {minimum}\nmaximum = {maximum}\nholdout = {holdout}"
    file.write_text(f"{text}\n[data.volunteer]\n{own}\n", "utf-8")


def train_everything(folder: Path) -> None:
    """Lets the model of the task in `folder` train all its values, without state, for noise."""
    path = folder / "bundle" / "bundle.json"
    manifest = json.loads(path.read_text("utf-8"))
    total = sum(manifest["parameters"].values())
    manifest["parameters"] = {"trainable": total, "state": 0}
    manifest["layout"] = [{"name": "dense/kernel", "shape": [total], "offset": 0, "trainable": True}]
    path.write_text(json.dumps(manifest), "utf-8")


def write_task(
    folder: Path,
    *,
    ops: tuple[str, ...] = OPS,
    more: int = 0,
    holdout: int = 0,
    zeros: bool = False,
    **coordination: Any,
) -> Path:
    """Writes task.toml, bundle and shards into `folder`, and returns it; `more` adds values of state.

    With `zeros` the model starts at zero, so that its first version is the first round's update.
    """
    bundle, shards = folder / "bundle", folder / "shards"
    weights = np.arange(SIZE + more, dtype="<f4") * (not zeros)
    files = {"weights.bin": weights.tobytes()}
    for signature in SIGNATURES:
        files[f"native/{signature}.pb"] = graph_def(*ops)
        files[f"{signature}/model.json"] = json.dumps(tfjs_model(*ops)).encode()
    for name, data in files.items():
        (bundle / name).parent.mkdir(parents=True, exist_ok=True)
        (bundle / name).write_bytes(data)
    (bundle / "bundle.json").write_text(json.dumps(manifest(files, more)))
    shards.mkdir(exist_ok=True)
    index = {
        "train": [_shard(shards, f"train-{n}", n) for n in range(SHARDS)],
        "holdout": [_shard(shards, f"holdout-{n}", SHARDS + n) for n in range(holdout)],
    }
    (shards / "shards.json").write_text(json.dumps(index))
    (folder / "README.md").write_text(
        "# Tiny\n\nA line. <script>alert(1)</script> [x](javascript:alert(1))\n"
    )
    (folder / "task.toml").write_text(task_toml(folder.name, coordination))
    return folder


def write_mesh(folder: Path, **coordination: Any) -> Path:
    """Writes a decentralized task as `write_task` does."""
    write_task(folder, **{"scheme": "decentralized", **coordination})
    file = folder / "task.toml"
    file.write_text(file.read_text("utf-8").replace("max_update_norm = 50.0\n", ""), "utf-8")
    return folder


def write_byzantine(folder: Path, byzantine: str = "{}", steps: int = 3, **coordination: Any) -> Path:
    """Writes a decentralized task whose members check each other, by the inline table `byzantine`."""
    write_mesh(folder, **{"byzantine": byzantine, **coordination})
    file = folder / "task.toml"
    text = file.read_text("utf-8").replace("shards_per_client = 2\n", "")
    file.write_text(f"{text}[training]\nsteps = {steps}\n", "utf-8")
    return folder


def write_units(folder: Path, holdout: int = 0, more: int = 0, **units: Any) -> Path:
    """As `write_task`, of a task of work units; `units` add to its table of them."""
    write_task(folder, holdout=holdout, more=more)
    (folder / "task.toml").write_text(volunteer_toml(folder.name, **units), "utf-8")
    return folder


def manifest(files: dict[str, bytes], more: int) -> dict[str, Any]:
    """Returns bundle.json of the tiny model."""
    tensor = {"shape": [2], "dtype": "float32"}
    return {
        "format": "minga-bundle/2",
        "name": "tiny",
        "batch_size": 4,
        "parameters": {"trainable": TRAINABLE, "state": STATE + more},
        "layout": [
            {"name": "dense/kernel", "shape": [2, 3], "offset": 0, "trainable": True},
            {"name": "dense/bias", "shape": [2], "offset": 6, "trainable": True},
            {"name": "norm/mean", "shape": [STATE + more], "offset": 8, "trainable": False},
        ],
        "inputs": [{"name": "x", **tensor}],
        "labels": [{"name": "class", "shape": [], "dtype": "int32", "classes": 2}],
        "outputs": [{"name": "class", **tensor, "loss": "sparse_categorical_crossentropy"}],
        "metrics": [{"name": "accuracy", "kind": "ratio"}],
        "optimizer": {
            "name": "sgd",
            "learning_rate": 0.5,
            "slots": 0,
            "hyperparameters": {},
            "schedule": None,
        },
        "preprocess": {},
        "slice": None,
        "random": [],
        "signatures": {name: {"inputs": [], "outputs": []} for name in SIGNATURES},
        "ops": {name: list(OPS) for name in SIGNATURES},
        **WORK,
        "files": {
            name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
            for name, data in files.items()
        },
    }


def tfjs_model(*ops: str) -> dict[str, Any]:
    """Returns model.json of a TF.js graph model without weights."""
    nodes = [{"name": f"n{number}", "op": op} for number, op in enumerate(ops)]
    return {"format": "graph-model", "modelTopology": {"node": nodes, "library": {}}, "weightsManifest": []}


def task_toml(name: str, coordination: dict[str, Any]) -> str:
    """Returns a task file; `coordination` adds to or replaces its coordination table."""
    table = {
        "scheme": "federated",
        "rounds": 100,
        "min_available_clients": 2,
        "quorum": 1,
        "deadline": 60,
        # Rounds of ten parameters are so fast that the next deadline would be too short for a busy machine.
        "adaptive_deadline": False,
        "gather": 0,
        **coordination,
    }
    lines = [
        f"{key} = {value if isinstance(value, str) and value[0] in '{[' else json.dumps(value)}"
        for key, value in table.items()
    ]
    return f"""
name = "{name}"
title = "Tiny"
[model]
file = "model.keras"
bundle = "bundle"
batch_size = 4
[data]
source = "shards"
shards = "shards"
shards_per_client = 2
[coordination]
{chr(10).join(lines)}
[security]
max_update_norm = 50.0
"""


def volunteer_toml(name: str, **units: Any) -> str:
    """Returns a task file of work units; `units` extends its table of units."""
    head, _, tail = task_toml(name, {}).partition("[coordination]")
    security = tail.partition("[security]")[2]
    tables = "".join(_toml(f"coordination.units.{key}", units.pop(key)) for key in _tables(units))
    units = {"epochs": 3, **units}
    return (
        head.replace("shards_per_client = 2\n", "")
        + '[coordination]\nscheme = "volunteer"\n'
        + _toml("coordination.units", units)
        + tables
        + f"[security]{security}"
    )


def _tables(table: dict[str, Any]) -> list[str]:
    return [key for key, value in table.items() if isinstance(value, dict)]


def _toml(name: str, table: dict[str, Any]) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    return "\n".join([f"[{name}]", *lines, ""])


def _shard(folder: Path, name: str, seed: int) -> dict[str, Any]:
    values = np.full((EXAMPLES, 2), seed, dtype="<f4")
    content = {
        "format": "minga-shard/2",
        "examples": EXAMPLES,
        "x": [{"dtype": "float32", "shape": [EXAMPLES, 2], "data": values.tobytes()}],
        "y": [{"dtype": "int32", "shape": [EXAMPLES], "data": np.zeros(EXAMPLES, "<i4").tobytes()}],
    }
    data = msgspec.msgpack.encode(content)
    (folder / f"{name}.msgpack").write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    return {"file": f"{name}.msgpack", "sha256": digest, "examples": EXAMPLES, "bytes": len(data)}


def _field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
