"""Constants that repeat along an axis, as a causal mask does for every head, are stored once."""

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
    """Readers that broadcast get the constant with length 1 along the axes where it repeats."""
    for node in view.all("Const"):
        if view.size(node.name) < 2 or not view.is_alive(node):
            continue
        readers = [pair for pair in view.users(node.name) if pair[0].op in _BROADCASTING]
        if not readers:
            continue
        narrow = _narrowed(tf.make_ndarray(node.attr["value"].tensor))
        if narrow.size * 2 > view.size(node.name):
            continue
        small = ""
        for reader, index in readers:
            if _fits(view, reader, index, narrow.shape):
                small = small or view.constant(narrow, narrow.dtype, node)
                view.rewire(reader, index, small)


def _narrowed(value: Any) -> Any:
    for axis in range(value.ndim):
        first = np.take(value, [0], axis)
        if value.shape[axis] > 1 and np.array_equal(np.broadcast_to(first, value.shape), value):
            value = first
    return value


def _fits(view: View, reader: Any, index: int, shape: tuple[int, ...]) -> bool:
    others = [view.shape(tensor) for place, tensor in enumerate(reader.input) if place != index]
    return np.broadcast_shapes(shape, *others) == view.shape(reader.name)
