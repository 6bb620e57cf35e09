"""Summarizes a model and its training step, so that clients can tell whether it fits a device."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import keras
import tensorflow as tf

from converter.summary.op_flops import op_flops
from converter.summary.tensor_memory import BYTES_PER_VALUE, VIEWS, footprint, size
from converter.tracing.vector_layout import Layout

STEP = ("train", "apply")

# These ops read no more of their input than they write.
PICKING = {"GatherV2", "Slice", "StridedSlice"}


def summarize(
    model: Any, layout: Layout, graphs: Mapping[str, Any], outputs: Mapping[str, list[str]]
) -> dict[str, Any]:
    """Returns `layers`, `flops` and `step` of bundle.json, from frozen GraphDefs and output names."""
    imported = {name: _import(graph) for name, graph in graphs.items()}
    step = [op for name in STEP for op in imported[name].get_operations()]
    return {
        "layers": describe_layers(model, layout),
        "flops": {
            name: sum(op_flops(op) for op in graph.get_operations()) for name, graph in imported.items()
        },
        "step": {
            "ops": count_work(step),
            **_needs(layout, imported["train"], imported["apply"], outputs),
            "deepest_tensor": _describe(max(_tensors(step), key=lambda tensor: len(tensor.shape))),
            "sliced": None,
        },
    }


def summarize_slices(
    layout: Layout, graphs: Mapping[str, Any], outputs: Mapping[str, list[str]], signature: str
) -> dict[str, Any]:
    """Returns `step.sliced` of bundle.json: the needs of a step that runs `signature` per slice."""
    # The sum of the earlier gradients is held while a slice runs.
    gradient = BYTES_PER_VALUE * layout.trainable
    return _needs(layout, _import(graphs[signature]), _import(graphs["apply"]), outputs, held_bytes=gradient)


def describe_layers(model: Any, layout: Layout) -> list[dict[str, Any]]:
    """Returns each layer once, with nested models' layers in sequence.

    The parameters add up to the layout's. `output_shapes` have no batch dimension, and are empty for layers
    that were not called on Keras tensors.
    """
    counted = {id(v): math.prod(v.shape) for v in (*layout.trainable_variables, *layout.state_variables)}
    trainable_ids = {id(v) for v in layout.trainable_variables}
    rows = []
    # Parameters outside all layers belong to the model's own class.
    for name, layer in (*_walk(model, ""), (model.name, model)):
        own = {id(v) for v in layer.variables} & counted.keys()
        trainable = sum(counted[v] for v in own & trainable_ids)
        total = sum(counted.pop(v) for v in own)
        if layer is model and not total:
            continue
        shapes = [] if layer is model else _output_shapes(layer)
        kind = type(layer).__name__
        row = {"name": name, "kind": kind, "output_shapes": shapes, "parameters": total}
        rows.append(row | {"trainable": trainable})
    return rows


def count_work(ops: Iterable[Any]) -> list[dict[str, Any]]:
    """Returns runs, floating-point operations and bytes moved per kind of op, most work first."""
    rows: dict[str, dict[str, Any]] = {}
    for op in ops:
        if op.type in ("Const", "Placeholder", *VIEWS):
            continue
        row = rows.setdefault(op.type, {"op": op.type, "runs": 0, "flops": 0, "bytes": 0})
        row["runs"] += 1
        row["flops"] += op_flops(op)
        written = sum(size(tensor) for tensor in op.outputs)
        read = written if op.type in PICKING else sum(size(tensor) for tensor in op.inputs)
        row["bytes"] += read + written
    return sorted(rows.values(), key=lambda row: (-row["flops"], -row["bytes"], row["op"]))


def _walk(model: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            yield from _walk(layer, f"{prefix}{layer.name}/")
        elif not isinstance(layer, keras.layers.InputLayer):
            yield f"{prefix}{layer.name}", layer


def _output_shapes(layer: Any) -> list[list[int | None]]:
    tensors = [tensor for node in layer._inbound_nodes for tensor in node.output_tensors]
    return [list(shape) for shape in dict.fromkeys(tuple(tensor.shape[1:]) for tensor in tensors)]


def _needs(
    layout: Layout, train: Any, apply: Any, outputs: Mapping[str, list[str]], held_bytes: int = 0
) -> dict[str, Any]:
    """Returns the peak memory in bytes and the largest tensor of a step: `train`, then `apply`.

    `kept` bytes are held while `train` runs.
    """
    step, update = footprint(train, outputs["train"]), footprint(apply, outputs["apply"])
    weights = BYTES_PER_VALUE * (layout.trainable + layout.state)
    gradient = BYTES_PER_VALUE * layout.trainable
    tensors = list(_tensors((*train.get_operations(), *apply.get_operations())))
    return {
        "memory": {
            "weights": weights,
            "slots": sum(size(tensor) for tensor in tensors if tensor.op.name == "slots"),
            "inputs": step.inputs - weights,
            "constants": step.constants + update.constants,
            "intermediates": max(held_bytes + step.intermediates, gradient + update.intermediates),
        },
        "largest_tensor": _describe(max(tensors, key=size)),
    }


def _tensors(ops: Iterable[Any]) -> Iterator[Any]:
    return (tensor for op in ops for tensor in op.outputs)


def _describe(tensor: Any) -> dict[str, Any]:
    return {"name": tensor.op.name, "shape": tensor.shape.as_list()}


def _import(graph_def: Any) -> Any:
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    return graph
