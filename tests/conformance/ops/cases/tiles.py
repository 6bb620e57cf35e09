"""Sizes that decide whether the compiled WASM kernels are right.

Whole tiles and what is left over of one, several panels and depths, axes that merge and axes that don't.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tests.conformance.ops.case import Array, Case, Fixed, Shape, booleans, floats, one, positive

# Rows of a tile: 4 or 6; columns: 8; depth of a panel: 256.
MATRICES = ((1, 1, 1), (6, 256, 8), (7, 257, 9), (13, 3, 8), (5, 300, 17), (64, 70, 65))


def matrices() -> Iterator[Case]:
    """Products [m, k] x [k, n] in all four orders, and batches."""
    for m, k, n in MATRICES:
        for left in (False, True):
            for right in (False, True):
                a, b = floats(*((k, m) if left else (m, k))), floats(*((n, k) if right else (k, n)))
                yield "MatMul", {"a": a, "b": b, "transpose_a": left, "transpose_b": right}
    for batches in (((3,), (3,)), ((2, 3), (1, 1)), ((1,), (5,)), ((40,), (40,))):
        a, b = floats(*batches[0], 17, 33), floats(*batches[1], 33, 21)
        yield "BatchMatMulV2", {"x": a, "y": b}
        yield "BatchMatMulV2", {"x": a.swapaxes(-1, -2).copy(), "y": b, "adj_x": True}
        yield "BatchMatMulV2", {"x": a, "y": b.swapaxes(-1, -2).copy(), "adj_y": True}
    for units in (1, 8, 19):
        for activation in ([], ["Relu"]):
            fused = {"num_args": 1, "fused_ops": ["BiasAdd", *activation]}
            yield (
                "_FusedMatMul",
                {"a": floats(9, 300), "b": floats(300, units), "args": [floats(units)], **fused},
            )


# Image, kernel, stride, padding, channels in, channels out.
WINDOWS = (
    ((8, 8), (3, 3), (1, 1), "SAME", 8, 16),
    ((9, 7), (3, 3), (1, 1), "VALID", 5, 9),
    ((14, 14), (5, 3), (2, 1), "SAME", 4, 24),
    ((11, 13), (3, 3), (2, 3), "VALID", 6, 10),
    ((7, 7), (1, 1), (1, 1), "SAME", 17, 8),
    ((8, 6), (1, 1), (2, 2), "SAME", 9, 12),
    ((3, 2), (5, 5), (1, 1), "SAME", 4, 8),
    ((1, 20), (1, 4), (1, 1), "SAME", 8, 8),
    ((6, 6), (2, 2), (3, 3), "VALID", 4, 4),
    ((27, 30), (3, 3), (1, 1), "SAME", 3, 8),
)


def windows() -> Iterator[Case]:
    """Convolutions, plain and depthwise, and their gradients."""
    for size, kernel, stride, padding, channels, outputs in WINDOWS:
        x, where = floats(3, *size, channels), {"strides": [1, *stride, 1], "padding": padding}
        filters = floats(*kernel, channels, outputs)
        y = tf.raw_ops.Conv2D(input=x, filter=filters, **where)
        dy, shape, filter_shape = floats(*y.shape), Fixed(*x.shape), Fixed(*filters.shape)
        yield "Conv2D", {"input": x, "filter": filters, **where}
        fused = {"num_args": 1, "fused_ops": ["BiasAdd", "Relu"]}
        yield "_FusedConv2D", {"input": x, "filter": filters, "args": [floats(outputs)], **where, **fused}
        yield "Conv2DBackpropInput", {"input_sizes": shape, "filter": filters, "out_backprop": dy, **where}
        yield "Conv2DBackpropFilter", {"input": x, "filter_sizes": filter_shape, "out_backprop": dy, **where}
        if stride[0] != stride[1]:
            continue  # TensorFlow's depthwise kernels want equal strides.
        deep, dy = floats(*kernel, channels, 1), floats(*y.shape[:3], channels)
        filter_shape = Fixed(*deep.shape)
        yield "DepthwiseConv2dNative", {"input": x, "filter": deep, **where}
        op = "DepthwiseConv2dNativeBackprop"
        yield f"{op}Input", {"input_sizes": shape, "filter": deep, "out_backprop": dy, **where}
        yield f"{op}Filter", {"input": x, "filter_sizes": filter_shape, "out_backprop": dy, **where}


def pooled() -> Iterator[Case]:
    """Gradients of max pooling, with ties and windows that overlap."""
    for size, kernel, stride, padding, channels in (
        ((8, 8), 2, 2, "VALID", 16),
        ((7, 9), 3, 2, "SAME", 5),
        ((6, 5), 3, 1, "SAME", 8),
    ):
        x: Array = np.round(floats(3, *size, channels))
        where: dict[str, Any] = {"ksize": [1, kernel, kernel, 1], "strides": [1, stride, stride, 1]}
        where["padding"] = padding
        y = tf.raw_ops.MaxPool(input=x, **where).numpy()
        yield "MaxPoolGrad", {"orig_input": x, "orig_output": y, "grad": floats(*y.shape), **where}


FUNCTIONS = ("Abs", "Erf", "Exp", "Neg", "Reciprocal", "Relu", "Sigmoid", "Sqrt", "Rsqrt", "Square", "Tanh")
BORDERS = (0.0, -0.0, 1e-30, 0.3, 0.62499, 0.625, 0.99999, 1.0, 4.2, 9.0, 20.0, 86.0, 88.7)


def each() -> Iterator[Case]:
    """Functions of one tensor over their whole range, and of two in all ways to broadcast."""
    ends: Array = np.array([*BORDERS, *(-value for value in BORDERS)], np.float32)
    for op in FUNCTIONS:
        name = "features" if op == "Relu" else "x"
        for x in (4 * floats(3, 7), ends, 9 * floats(40, 41)):
            x = np.abs(x) + np.float32(1e-3) if op in ("Sqrt", "Rsqrt", "Reciprocal") else x
            yield op, {name: x}
    yield "Relu6", {"features": 9 * floats(7, 9)}
    for shapes in (
        ((1,), (1,)),
        ((19,), ()),
        ((), (19,)),
        ((2, 3, 4, 5), (1, 3, 1, 5)),
        ((2, 3, 4, 5), (2, 1, 4, 1)),
        ((4, 1, 5), (1, 3, 1)),
        ((7, 1), (1, 9)),
        ((2, 1, 3, 1, 5), (1, 4, 1, 2, 1)),
        ((4, 8, 8, 9), (4, 1, 1, 1)),
    ):
        for op in ("AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference"):
            x, y = (np.asarray(values) for values in (floats(*shapes[0]), positive(*shapes[1])))
            yield op, {"x": x, "y": y}
    yield "ReluGrad", {"gradients": floats(51, 60), "features": floats(51, 60)}
    for shape in ((5,), (3, 7), (51, 60)):
        yield "SelectV2", {"condition": booleans(*shape), "t": floats(*shape), "e": floats(*shape)}


def axes() -> Iterator[Case]:
    """Sums along any axes, transposes of any order, repeats."""
    sums: tuple[tuple[Shape, Shape], ...] = (
        ((5,), (0,)),
        ((3, 17), (0,)),
        ((3, 17), (1,)),
        ((4, 5, 6, 7), (1, 2)),
        ((4, 5, 6, 7), (0, 2)),
        ((4, 5, 6, 7), (1, 3)),
        ((3, 1, 9), (1,)),
        ((300, 33), (0,)),
        ((30, 330), (1,)),
        ((4, 9, 9, 12), (0, 1, 2)),
    )
    for shape, reduced in sums:
        for op in ("Sum", "Mean"):
            for keep in (False, True):
                yield op, {"input": floats(*shape), "axis": Fixed(*reduced), "keep_dims": keep}
    yield "BiasAddGrad", {"out_backprop": floats(9, 10, 11, 19)}
    orders: tuple[tuple[Shape, Shape], ...] = (
        ((9, 10), (1, 0)),
        ((30, 51), (1, 0)),
        ((3, 9, 10), (0, 2, 1)),
        ((2, 5, 6, 8), (0, 2, 1, 3)),
        ((2, 5, 6, 8), (0, 2, 3, 1)),
        ((2, 5, 6, 8), (3, 1, 2, 0)),
        ((4, 1, 5), (1, 0, 2)),
        ((2, 3, 4, 3, 2), (4, 2, 0, 3, 1)),
        ((2, 3, 2, 3, 2, 3), (5, 3, 1, 4, 2, 0)),
    )
    for shape, order in orders:
        yield "Transpose", {"x": floats(*shape), "perm": Fixed(*order)}
    for shape, times in (
        ((1,), (9,)),
        ((3, 5), (2, 3)),
        ((1, 1, 7), (4, 5, 1)),
        ((6, 1), (2, 11)),
        ((40, 1, 9), (1, 90, 9)),
    ):
        yield "Tile", {"input": floats(*shape), "multiples": Fixed(*times)}
    yield "BroadcastTo", {"input": floats(5, 1, 6), "shape": Fixed(3, 5, 4, 6)}
    yield "GatherV2", {"params": floats(9, 6), "indices": np.array([8, 0, 8], np.int32), "axis": one(0)}
