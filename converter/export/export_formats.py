"""Writes a model in each export format, as one file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf
from keras import tree
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from converter.bundle.keras_model_file import write_keras
from converter.bundle.tfjs_graph_model import write_graph_model
from converter.decompositions import use_decompositions
from converter.export.model_version import restore_loops
from converter.export.onnx_model import write_onnx_model
from converter.export.tfjs_layers_model import write_layers_model
from converter.export.tfjs_ops import check_tfjs_ops
from converter.export.zip_archive import archive
from converter.tracing.graph_freezer import without_private_attributes
from converter.tracing.model_ports import ModelPorts, find_ports

Writer = Callable[[Any, Path], Path]


def keras_file(model: Any, folder: Path) -> Path:
    """Writes Keras 3's own file format."""
    target = folder / "model.keras"
    write_keras(model, target)
    return target


def saved_model(model: Any, folder: Path) -> Path:
    """Writes a zip of a SavedModel for any number of rows.

    Its signatures are `serve` and `serving_default`.
    """
    restore_loops(model)
    model.export(folder / "saved", format="tf_saved_model", verbose=False)
    return archive(folder / "saved", folder / "saved.zip")


def tfjs_graph(model: Any, folder: Path) -> Path:
    """Writes a zip of a TF.js graph model that plain TF.js runs, for any number of rows."""
    model_ports = find_ports(model)
    with use_decompositions():
        traced = forward(model, model_ports).get_concrete_function()
    frozen = convert_variables_to_constants_v2(traced)
    graph = without_private_attributes(frozen.graph.as_graph_def())
    check_tfjs_ops(graph)
    outputs = [tensor.name for tensor in frozen.outputs]
    signature = {
        "inputs": {
            port.name: _tensor(tensor.name, port.dtype, port.shape)
            for port, tensor in zip(model_ports.inputs, frozen.inputs, strict=True)
        },
        "outputs": {
            port.name: _tensor(name, port.dtype, port.shape)
            for port, name in zip(model_ports.outputs, outputs, strict=True)
        },
    }
    write_graph_model(graph, folder / "graph", signature)
    return archive(folder / "graph", folder / "graph.zip")


def tfjs_layers(model: Any, folder: Path) -> Path:
    """Writes a zip of a TF.js Layers model."""
    restore_loops(model)
    write_layers_model(model, folder / "layers")
    return archive(folder / "layers", folder / "layers.zip")


def onnx(model: Any, folder: Path) -> Path:
    """Writes an ONNX file, for any number of rows."""
    restore_loops(model)
    model_ports = find_ports(model)
    target = folder / "model.onnx"
    write_onnx_model(forward(model, model_ports), [port.name for port in model_ports.outputs], target)
    return target


def forward(model: Any, model_ports: ModelPorts) -> Any:
    """The model's prediction as a function of its inputs, each with any number of rows."""
    specs = [tf.TensorSpec([None, *port.shape], port.dtype, _plain(port.name)) for port in model_ports.inputs]

    def predict(*inputs: Any) -> list[Any]:
        return [tf.identity(one) for one in tree.flatten(model(model_ports.pack(inputs), training=False))]

    return tf.function(predict, input_signature=specs)


def _plain(name: str) -> str:
    """`name` as TensorFlow allows it for a node."""
    return re.sub(r"^[^A-Za-z0-9.]", ".", re.sub(r"[^A-Za-z0-9_.]", "_", name)) or "x"


def _tensor(name: str, dtype: str, shape: tuple[int, ...]) -> dict[str, Any]:
    dims = [{"size": "-1"}, *({"size": str(size)} for size in shape)]
    kind = {"float32": "DT_FLOAT", "int32": "DT_INT32"}[dtype]
    return {"name": name, "dtype": kind, "tensorShape": {"dim": dims}}


WRITERS: dict[str, Writer] = {
    "keras": keras_file,
    "saved-model": saved_model,
    "tfjs-graph": tfjs_graph,
    "tfjs-layers": tfjs_layers,
    "onnx": onnx,
}
