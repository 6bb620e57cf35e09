"""Reads a Keras 2 SavedModel folder: layers from its metadata, values from its checkpoint.

saved_model.pb is never read: its functions are programs, and none of them is run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf.trackable_object_graph_pb2 import TrackableObjectGraph

from converter.readers.json_text import MAX_JSON_BYTES, read_json
from converter.readers.keras2.compile_config import upgrade_training
from converter.readers.keras2.config_upgrade import upgrade_model
from converter.readers.model_source import Source
from converter.readers.weights import fill_layers, targets
from converter.refusal import Refusal

METADATA = "keras_metadata.pb"
_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_AGAIN = "save the model again with model.save()"


def read_saved_model(path: Path, max_bytes: int, name: str | None = None) -> Source:
    """Reads the Keras model in the SavedModel folder `path`; `name` is that of its file. Raises Refusal."""
    if not (path / METADATA).is_file():
        raise Refusal(
            f"The SavedModel {name or path.name} holds no Keras layers, only functions to run "
            "(model.export() and tf.saved_model.save() write such); save the model with "
            'model.save("model.keras") instead.'
        )
    nodes = {
        node_path: read_json(text, f"{METADATA}, {node_path}") for node_path, text in _nodes(path / METADATA)
    }
    root = nodes.get("root")
    if not isinstance(root, dict):
        raise Refusal(f"{METADATA} is damaged, it names no model; {_AGAIN}.")
    names = {
        node_path.partition(".")[2]: str(node["name"])
        for node_path, node in nodes.items()
        if node_path.count(".") == 1 and isinstance(node, dict) and "name" in node
    }

    def fill(model: Any) -> None:
        fill_layers(model, _arrays(model, path, names, max_bytes))

    compiled = upgrade_training(root.get("training_config"))
    return Source(upgrade_model(root), fill, compiled, old_sigmoid=True)


def _nodes(path: Path) -> Iterator[tuple[str, bytes]]:
    # SavedMetadata { repeated SavedObject nodes = 1 }
    # SavedObject { string node_path = 3; string metadata = 5 }
    if path.stat().st_size > 4 * MAX_JSON_BYTES:
        raise Refusal(f"{METADATA} is larger than {4 * MAX_JSON_BYTES >> 20} MiB; use a smaller model.")
    try:
        for number, content in _fields(path.read_bytes()):
            if number == 1:
                fields = dict(_fields(content))
                yield fields.get(3, b"").decode("utf-8"), fields.get(5, b"")
    except (IndexError, UnicodeDecodeError) as error:
        raise Refusal(f"{METADATA} is damaged; {_AGAIN}.") from error


def _fields(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields number and content of each length-delimited field of a protobuf message.

    Varint fields are skipped.
    """
    position = 0
    while position < len(content):
        key, position = _varint(content, position)
        size, position = _varint(content, position)
        if key & 7 == 0:
            continue
        if key & 7 != 2 or position + size > len(content):
            raise IndexError
        yield key >> 3, content[position : position + size]
        position += size


def _varint(content: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        value |= (content[position] & 127) << shift
        position += 1
        if content[position - 1] < 128:
            return value, position
        shift += 7
    raise IndexError


def _arrays(
    model: Any, path: Path, names: dict[str, str], max_bytes: int
) -> dict[str, list[np.ndarray[Any, Any]]]:
    try:
        reader = tf.train.load_checkpoint(str(path / "variables" / "variables"))
        shapes = reader.get_variable_to_shape_map()
        _check_size(path, shapes, max_bytes)
        graph = TrackableObjectGraph.FromString(reader.get_tensor(_GRAPH))
        children = [{c.local_name: c.node_id for c in node.children} for node in graph.nodes]
        arrays = {}
        for node_path, name in names.items():
            layer = children[children[0][node_path]]
            trainable = _listed(children, layer, "trainable_variables")
            variables = _listed(children, layer, "variables")
            order = trainable + [i for i in variables if i not in trainable]
            if "variables" not in layer:  # preprocessing layers list their variables only by name
                order = [layer[variable.name] for variable in targets(model.get_layer(name))]
            arrays[name] = [reader.get_tensor(graph.nodes[i].attributes[0].checkpoint_key) for i in order]
    except (
        tf.errors.OpError,
        DecodeError,
        KeyError,
        IndexError,
        ValueError,
        RuntimeError,
        TypeError,
    ) as error:
        raise Refusal(f"The variables of {path.name} are damaged or missing; {_AGAIN}.") from error
    return arrays


def _listed(children: list[dict[str, int]], layer: dict[str, int], key: str) -> list[int]:
    items = children[layer[key]] if key in layer else {}
    return [items[number] for number in sorted((k for k in items if k.isdigit()), key=int)]


def _check_size(path: Path, shapes: dict[str, list[int]], max_bytes: int) -> None:
    stored = sum(p.stat().st_size for p in (path / "variables").iterdir() if p.is_file())
    claimed = sum(4 * int(np.prod([float(n) for n in shape])) for shape in shapes.values())
    if claimed > max_bytes or claimed > 16 * stored + (1 << 20):
        raise Refusal(f"The variables of {path.name} claim {claimed} bytes, over the limit; {_AGAIN}.")
