"""Merges chains of reshapes and transposes and cancels opposite ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from converter.graph.graph_view import View

_RESHAPES = ("Reshape", "ExpandDims", "Squeeze")
# Elementwise ops of one tensor: a reshape may equally come after them.
_UNARY = (
    "Relu", "Relu6", "Elu", "Selu", "LeakyRelu", "Sigmoid", "Tanh", "Softplus", "Softsign",
    "Erf", "Erfc", "Exp", "Neg", "Square", "Sqrt", "Rsqrt", "Abs",
)  # fmt: skip


def merge_reshapes(view: View) -> None:
    """Lets a reshape of a reshape read the first one's input; drops one to the shape it already has."""
    for node in view.all(*_RESHAPES):
        if not view.is_alive(node) or not view.users(node.name):
            continue
        source, shape = str(node.input[0]), view.shape(node.name)
        while (maker := view.maker(source)).op in _RESHAPES:
            source = str(maker.input[0])
        if source != node.input[0] or view.shape(source) == shape:
            view.replace(node.name, view.reshape(source, shape, node))


def sink_reshapes(view: View) -> None:
    """Moves a reshape behind the bias or activation that follows it, so that reshapes meet."""
    for node in view.all("BiasAdd", *_UNARY):
        source = view.maker(node.input[0]) if view.is_alive(node) else node
        if source.op not in _RESHAPES or not view.is_private(source.name) or not view.users(node.name):
            continue
        inner, shape = str(source.input[0]), view.shape(node.name)
        if node.op == "BiasAdd" and not _keeps_channels(view, node, inner):
            continue
        inner_shape = tuple(view.shape(inner))
        attributes = {key: node.attr[key] for key in node.attr}
        new = view.add(node.op, [inner, *node.input[1:]], inner_shape, node, view.type(node.name))
        for key, value in attributes.items():
            view.maker(new).attr[key].CopyFrom(value)
        view.replace(node.name, view.reshape(new, shape, node))


def lift_bias_gradients(view: View) -> None:
    """Removes reshapes before a bias gradient that keep the last axis.

    The bias gradient sums over all other axes, so their shape does not matter.
    """
    for node in view.all("BiasAddGrad"):
        source = view.maker(node.input[0])
        if source.op in _RESHAPES and _keeps_channels(view, node, str(source.input[0])):
            view.rewire(node, 0, str(source.input[0]))


def cancel_transposes(view: View) -> None:
    """Merges a transpose of a transpose; turns one that only moves axes of length 1 into a reshape."""
    for node in view.all("Transpose"):
        if not view.is_alive(node) or not view.users(node.name):
            continue
        order = view.value(node.input[1])
        source = view.maker(node.input[0])
        if order is None:
            continue
        if source.op == "Transpose" and (first := view.value(source.input[1])) is not None:
            order = first[order]
            view.rewire(node, 1, view.constant(order, np.int32, node))
            node.attr["Tperm"].type = view.type(node.input[1])
            view.rewire(node, 0, str(source.input[0]))
        shape = view.shape(node.input[0])
        moving = [int(axis) for axis in order if shape[axis] != 1]
        if moving == sorted(moving):
            view.replace(node.name, view.reshape(str(node.input[0]), view.shape(node.name), node))


def _keeps_channels(view: View, node: Any, inner: str) -> bool:
    shape, outer = view.shape(inner), view.shape(node.input[0])
    layout = node.attr["data_format"].s if "data_format" in node.attr else b"NHWC"
    return layout == b"NHWC" and len(shape) >= 2 and shape[-1] == outer[-1]
