"""Cases as graphs, with what TensorFlow computes: `python -m tests.conformance.ops.graphs DIR FAMILY...`.

DIR/FAMILY.json holds the cases of a family. One process makes all that are asked for: starting TensorFlow
costs more than most families do.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.json_format import MessageToDict

from tests.conformance.ops.case import Array, Case, Cast, Fixed
from tests.conformance.ops.families import cases


def _encode(array: Array) -> dict[str, Any]:
    """An array as the harness reads it; browsers have no 64-bit integers."""
    if array.dtype == np.int64:
        array = array.astype(np.int32)
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"dtype": array.dtype.name, "shape": list(array.shape), "data": data}


def write_case(case: Case) -> dict[str, Any]:
    """Graph of one op, its inputs, and TensorFlow's outputs."""
    op, arguments = case
    feeds: dict[str, Array] = {}
    constants: list[tuple[str, Array]] = []

    def place(name: str, value: Any) -> Any:
        if isinstance(value, Fixed):
            constants.append((name, value.array))
            return tf.constant(value.array, name=name)
        if isinstance(value, Cast):
            return tf.cast(place(f"{name}_given", value.array), tf.float32, name=name)
        feeds[name] = value
        return tf.compat.v1.placeholder(value.dtype, value.shape, name=name)

    graph = tf.Graph()
    with graph.as_default():
        placed: dict[str, Any] = {}
        for name, given in arguments.items():
            # Arithmetic on arrays without axes gives NumPy's scalars.
            value = np.asarray(given) if isinstance(given, np.generic) else given
            if isinstance(value, list) and value and isinstance(value[0], (np.ndarray, Cast)):
                placed[name] = [place(f"in_{name}_{i}", part) for i, part in enumerate(value)]
            elif isinstance(value, (Cast, Fixed, np.ndarray)):
                placed[name] = place(f"in_{name}", value)
            else:
                placed[name] = value
        outputs = list(_create(graph, op, placed).outputs)
    with tf.compat.v1.Session(graph=graph) as session:
        expected = session.run(outputs, {f"{name}:0": value for name, value in feeds.items()})
    return {
        "label": _label(case),
        "op": op,
        "topology": MessageToDict(_without_values(graph.as_graph_def(add_shapes=True))),
        "constants": [{"name": name, **_encode(value)} for name, value in constants],
        "inputs": {name: _encode(value) for name, value in feeds.items()},
        "outputs": [output.name.removesuffix(":0") for output in outputs],
        "expected": [_encode(np.asarray(value)) for value in expected],
    }


def _label(case: Case) -> str:
    """The case in one line, such as `Sum(input=float32[3, 4], axis=[1], keep_dims=True)`."""

    def described(value: Any) -> str:
        if isinstance(value, (np.ndarray, np.generic)):
            return f"{value.dtype.name}{list(value.shape)}"
        if isinstance(value, Cast):
            return f"Cast({described(value.array)})"
        if isinstance(value, Fixed):
            return str(value.array.tolist())
        if isinstance(value, list):
            return "[" + ", ".join(map(described, value)) + "]"
        return str(getattr(value, "name", value))

    op, arguments = case
    return f"{op}({', '.join(f'{name}={described(value)}' for name, value in arguments.items())})"


def _create(graph: tf.Graph, op: str, arguments: dict[str, Any]) -> Any:
    if op.startswith("_Fused"):
        return _create_fused(graph, op, arguments)
    result = getattr(tf.raw_ops, op)(name="result", **arguments)
    first = result[0] if isinstance(result, (list, tuple)) else result
    return first.op


def _create_fused(graph: tf.Graph, op: str, arguments: dict[str, Any]) -> Any:
    """Grappler's fused ops have no Python function."""
    names = ("a", "b") if op == "_FusedMatMul" else ("input", "filter")
    attributes: dict[str, tf.compat.v1.AttrValue] = {}
    for name in ("strides", "padding", "num_args", "fused_ops"):
        if name not in arguments:
            continue
        value, attribute = arguments[name], tf.compat.v1.AttrValue()
        if isinstance(value, int):
            attribute.i = value
        elif isinstance(value, str):
            attribute.s = value.encode()
        elif isinstance(value[0], str):
            attribute.list.s.extend(part.encode() for part in value)
        else:
            attribute.list.i.extend(value)
        attributes[name] = attribute
    attributes["T"] = tf.compat.v1.AttrValue(type=tf.float32.as_datatype_enum)
    if op == "_FusedConv2D":
        attributes["TArgs"] = tf.compat.v1.AttrValue()
        attributes["TArgs"].list.type.extend([tf.float32.as_datatype_enum])
        attributes["num_host_args"] = tf.compat.v1.AttrValue(i=0)
    inputs = [arguments[name] for name in names] + arguments["args"]
    return graph.create_op(op, inputs, [tf.float32], name="result", attrs=attributes)


def _without_values(graph_def: Any) -> Any:
    """TF.js keeps the values of constants beside the graph."""
    for node in graph_def.node:
        if node.op == "Const":
            node.attr["value"].tensor.tensor_content = b""
            for field in ("int_val", "float_val", "bool_val"):
                node.attr["value"].tensor.ClearField(field)
    return graph_def


def main() -> None:
    _, folder, *families = sys.argv
    for family in families:
        written = json.dumps([write_case(case) for case in cases(family)])
        Path(folder, f"{family}.json").write_text(written, "utf-8")


if __name__ == "__main__":
    main()
