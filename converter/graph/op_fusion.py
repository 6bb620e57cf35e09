"""Fuses matrix product or convolution, bias and activation into TensorFlow's fused op."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from converter.graph.graph_view import View

# CUDA's fused convolution always applies an activation, so bias alone is fused into products only.
_FUSED = {"MatMul": "_FusedMatMul", "Conv2D": "_FusedConv2D"}
_NEEDS_ACTIVATION = ("Conv2D",)


def fuse_bias(view: View) -> None:
    """Fuses where the intermediate results have no other reader.

    The gradient of Relu reads Relu's output, which the fused op also returns.
    """
    for bias in view.all("BiasAdd"):
        source = view.maker(bias.input[0]) if view.is_alive(bias) else bias
        if source.op not in _FUSED or not view.is_private(source.name) or not _is_plain(bias, source):
            continue
        last, names = bias, ["BiasAdd"]
        readers = view.users(bias.name)
        if len(readers) == 1 and readers[0][0].op == "Relu":
            last, names = readers[0][0], ["BiasAdd", "Relu"]
        if source.op in _NEEDS_ACTIVATION and last is bias:
            continue
        inputs = [*source.input, bias.input[1]]
        fused = view.add(_FUSED[source.op], inputs, view.shape(last.name), last, fused_ops=names, num_args=1)
        node = view.maker(fused)
        for key in source.attr:
            node.attr[key].CopyFrom(source.attr[key])
        if source.op == "Conv2D":
            node.attr["TArgs"].list.type.append(tf.float32.as_datatype_enum)
        view.replace(last.name, fused)


def _is_plain(bias: Any, source: Any) -> bool:
    layouts = {node.attr["data_format"].s for node in (bias, source) if "data_format" in node.attr}
    return layouts <= {b"NHWC"}
