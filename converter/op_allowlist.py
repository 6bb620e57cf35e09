"""Checks graphs against the allow-list of pure ops (converter/ops.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tensorflow as tf

from converter.op_remedies import remedy_of_dtype, remedy_of_op
from converter.refusal import Refusal
from converter.tracing.graph_place import place_of

_TABLE = json.loads(Path(__file__).with_name("ops.json").read_text("utf-8"))
ALLOWED: frozenset[str] = frozenset(_TABLE["ops"])
DTYPES = (tf.float32, tf.int32, tf.int64, tf.bool)


def check_ops(graph_def: Any, signature: str, layers: list[str]) -> list[str]:
    """Returns the graph's ops, sorted. Raises Refusal where one is not on the allow-list.

    The Refusal names the layer and the op. `layers` are the names of the model's layers.
    """
    if graph_def.library.function:
        kind = graph_def.library.function[0].signature.name
        raise Refusal(
            f"The {signature} graph still calls the function {kind}; use layers without loops or branches."
        )
    for node in graph_def.node:
        if node.op not in ALLOWED:
            raise Refusal(
                f"{place_of(graph_def, node.name, layers)} needs the op {node.op} ({signature} graph), which "
                f"is not on the list of pure ops: {remedy_of_op(node.op)}."
            )
        for attribute in node.attr.values():
            if attribute.WhichOneof("value") == "type" and tf.as_dtype(attribute.type) not in DTYPES:
                kind = tf.as_dtype(attribute.type).name
                raise Refusal(
                    f"{place_of(graph_def, node.name, layers)} computes in {kind} (op {node.op}, {signature} "
                    f"graph): {remedy_of_dtype(kind)}."
                )
    return sorted({node.op for node in graph_def.node})


def check_shapes(graph_def: Any, layers: list[str]) -> None:
    """Refuses loops and calls of Python: their outputs have no shape that could be known beforehand."""
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    for op in graph.get_operations():
        if any(tensor.shape.rank is None for tensor in op.outputs):
            raise Refusal(
                f"{place_of(graph_def, op.name, layers)} needs the op {op.type}, whose result has no fixed "
                f"shape: {remedy_of_op(op.type)}."
            )
