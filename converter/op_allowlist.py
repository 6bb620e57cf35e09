"""Checks graphs against the allow-list of pure ops (converter/ops.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tensorflow as tf

from converter.refusal import Refusal

_TABLE = json.loads(Path(__file__).with_name("ops.json").read_text("utf-8"))
ALLOWED: frozenset[str] = frozenset(_TABLE["ops"])
DTYPES = (tf.float32, tf.int32, tf.int64, tf.bool)


def check_ops(graph_def: Any, signature: str, layers: list[str]) -> list[str]:
    """Returns the graph's ops, sorted. Raises Refusal where one is not on the allow-list.

    The Refusal names the layer and the op. `layers` are the names of the model's layers; TensorFlow keeps
    them as scopes in the names of nodes.
    """
    if graph_def.library.function:
        kind = graph_def.library.function[0].signature.name
        raise Refusal(
            f"The {signature} graph still calls the function {kind}; use layers without loops or branches."
        )
    for node in graph_def.node:
        layer = _place(node.name, layers)
        if node.op not in ALLOWED:
            raise Refusal(
                f"{layer} needs the op {node.op} ({signature} graph), which is not on the list of pure ops; "
                "replace the layer by one that only computes."
            )
        for attribute in node.attr.values():
            if attribute.WhichOneof("value") == "type" and tf.as_dtype(attribute.type) not in DTYPES:
                kind = tf.as_dtype(attribute.type).name
                raise Refusal(
                    f"{layer} computes in {kind} (op {node.op}, {signature} graph); "
                    "use float32 numbers and 32-bit integers."
                )
    return sorted({node.op for node in graph_def.node})


def _place(node: str, layers: list[str]) -> str:
    # The innermost layer is the most specific. A second trace of `dense` has the scope `dense_1`.
    for scope in reversed(node.split("/")):
        for name in (scope, scope.rpartition("_")[0]):
            if name in layers:
                return f"The layer {name}"
    return f"The node {node}"
