"""Stores constants that repeat along an axis once, such as one causal mask for all heads."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from converter.graph.graph_view import View

_BROADCASTING = {
    "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SelectV2",
    "LogicalAnd", "LogicalOr", "Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual",
}  # fmt: skip


def narrow_constants(view: View) -> None:
    """Gives readers that broadcast the constant with length 1 along the axes where it repeats."""
    for node in view.all("Const"):
        if view.size(node.name) < 2 or not view.is_alive(node):
            continue
        readers = [pair for pair in view.users(node.name) if pair[0].op in _BROADCASTING]
        if not readers:
            continue
        narrow = _narrowed(tf.make_ndarray(node.attr["value"].tensor))
        if narrow.size * 2 > view.size(node.name):
            continue
        narrow_name = ""
        for reader, index in readers:
            if _fits(view, reader, index, narrow.shape):
                narrow_name = narrow_name or view.constant(narrow, narrow.dtype, node)
                view.rewire(reader, index, narrow_name)


def _narrowed(value: Any) -> Any:
    for axis in range(value.ndim):
        first = np.take(value, [0], axis)
        if value.shape[axis] > 1 and np.array_equal(np.broadcast_to(first, value.shape), value):
            value = first
    return value


def _fits(view: View, reader: Any, index: int, shape: tuple[int, ...]) -> bool:
    others = [view.shape(tensor) for position, tensor in enumerate(reader.input) if position != index]
    return np.broadcast_shapes(shape, *others) == view.shape(reader.name)
