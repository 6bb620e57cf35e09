"""Turns batched matrix products into one product where possible, as of a dense layer on sequences."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from converter.graph.graph_view import View

_BATCHED = ("BatchMatMul", "BatchMatMulV2")


def flatten_products(view: View) -> None:
    """Turns [..., n, k] x [k, m] into [... * n, k] x [k, m]."""
    for node in view.all(*_BATCHED):
        left, right = (str(tensor) for tensor in node.input)
        rows = view.shape(left)
        matrix = _matrix(view, right)
        if matrix is None or node.attr["adj_x"].b or len(rows) < 2 or not view.users(node.name):
            continue
        shape = view.shape(node.name)
        if len(shape) != len(rows):
            continue
        count = view.size(left) // rows[-1]
        inputs = [view.reshape(left, (count, rows[-1]), node), view.reshape(right, matrix, node)]
        product = _matmul(view, inputs, (count, shape[-1]), node, False, node.attr["adj_y"].b)
        view.replace(node.name, view.reshape(product, shape, node))


def flatten_summed_products(view: View) -> None:
    """Turns the sum over examples of transposed x gradient into one product over all rows.

    Such a sum is a kernel's gradient.
    """
    for node in view.all("Sum"):
        source = view.maker(node.input[0])
        axes = view.value(node.input[1])
        if source.op not in _BATCHED or axes is None or not view.is_private(source.name):
            continue
        left, right = (str(tensor) for tensor in source.input)
        shape = view.shape(left)
        batch = len(shape) - 2
        summed = sorted(int(axis) % (batch + 2) for axis in axes.ravel())
        if summed != list(range(batch)) or shape[:batch] != view.shape(right)[:batch]:
            continue
        if not source.attr["adj_x"].b or source.attr["adj_y"].b:
            continue
        count = view.size(left) // shape[-1]
        widths = (shape[-1], view.shape(right)[-1])
        inputs = [
            view.reshape(tensor, (count, width), node)
            for tensor, width in zip((left, right), widths, strict=True)
        ]
        product = _matmul(view, inputs, widths, node, True, False)
        view.replace(node.name, view.reshape(product, view.shape(node.name), node))


def _matrix(view: View, tensor: str) -> tuple[int, int] | None:
    """Returns the last two sizes of a tensor whose other axes have length 1, else None."""
    shape = view.shape(tensor)
    if len(shape) < 2 or any(size != 1 for size in shape[:-2]):
        return None
    return shape[-2], shape[-1]


def _matmul(
    view: View, inputs: list[str], shape: tuple[int, ...], near: Any, transpose_a: bool, transpose_b: bool
) -> str:
    flags = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    return view.add("MatMul", inputs, shape, near, T=tf.float32, **flags)
