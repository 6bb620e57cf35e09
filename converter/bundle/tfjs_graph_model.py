"""Writes a frozen GraphDef as a TF.js graph model: model.json and its weight files.

The format is that of tfjs-converter: the GraphDef as JSON, with constants moved into binary files that a
manifest lists.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.json_format import MessageToDict

from converter.refusal import Refusal

SHARD_BYTES = 4 << 20
_FILE = "group1-shard{index}of{count}.bin"


def write_graph_model(graph_def: Any, directory: Path, signature: dict[str, Any] | None = None) -> None:
    """Creates `directory` and writes model.json and *.bin into it; node names stay as they are.

    `signature` names inputs and outputs, in tfjs-converter's form, for programs that run the model without a
    bundle's manifest.
    """
    directory.mkdir()
    topology = tf.compat.v1.GraphDef()
    topology.CopyFrom(graph_def)
    _write_shapes(topology)
    specs, blob = _move_constants(topology)
    files = write_shards(blob, directory)
    model = {
        "format": "graph-model",
        "generatedBy": tf.__version__,
        "convertedBy": "minga",
        "modelTopology": MessageToDict(topology),
        "weightsManifest": [{"paths": files, "weights": specs}],
    } | ({"signature": signature} if signature else {})
    text = json.dumps(model, sort_keys=True, separators=(",", ":"))
    (directory / "model.json").write_text(text, "utf-8")


def _write_shapes(topology: Any) -> None:
    """Stores each output's static shape in `_output_shapes`, by which browsers fuse ops."""
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(topology, name="")
    for node in topology.node:
        outputs = graph.get_operation_by_name(node.name).outputs
        shapes = node.attr["_output_shapes"].list.shape
        shapes.extend(output.shape.as_proto() for output in outputs)


def _move_constants(topology: Any) -> tuple[list[dict[str, Any]], bytes]:
    specs, parts = [], []
    for node in topology.node:
        if node.op != "Const":
            continue
        value = _tfjs_value(tf.make_ndarray(node.attr["value"].tensor), node.name)
        specs.append({"name": node.name, "shape": list(value.shape), "dtype": str(value.dtype)})
        parts.append(value.tobytes())
        del node.attr["value"]
    return specs, b"".join(parts)


def _tfjs_value(value: Any, name: str) -> Any:
    if value.dtype != np.int64:
        return value
    # TF.js has no 64-bit integers; TensorFlow uses them for axes and class numbers.
    if value.size and (value.max() > np.iinfo(np.int32).max or value.min() < np.iinfo(np.int32).min):
        raise Refusal(f"The constant {name} does not fit into 32-bit integers; keep integers below 2^31.")
    return value.astype(np.int32)


def write_shards(blob: bytes, directory: Path) -> list[str]:
    """Writes weights into files of at most SHARD_BYTES in `directory`; returns their names in order."""
    count = max(1, -(-len(blob) // SHARD_BYTES))
    names = [_FILE.format(index=index + 1, count=count) for index in range(count)]
    for index, name in enumerate(names):
        (directory / name).write_bytes(blob[index * SHARD_BYTES : (index + 1) * SHARD_BYTES])
    return names
