"""Single ops with arguments that decide whether an implementation is right.

Every op of the allow-list stands here at least once; those that the browser's op layer writes itself with all
the shapes, strides and masks that matter.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

Array = NDArray[Any]
Case = tuple[str, dict[str, Any]]
generator = np.random.default_rng(4)


class Fixed:
    """An input that is a constant of the graph: a shape, an axis, a padding."""

    def __init__(self, *values: int | float, dtype: str = "int32", scalar: bool = False) -> None:
        self.array: Array = np.array(values[0] if scalar else values, dtype)


def floats(*shape: int) -> Array:
    """Normally distributed numbers."""
    return generator.normal(0.0, 1.0, shape).astype(np.float32)


def positive(*shape: int) -> Array:
    return (np.abs(floats(*shape)) + 0.1).astype(np.float32)


def integers(high: int, *shape: int) -> Array:
    return generator.integers(0, high, shape).astype(np.int32)


def booleans(*shape: int) -> Array:
    return generator.integers(0, 2, shape).astype(bool)


def number(value: int) -> Fixed:
    return Fixed(value, scalar=True)


def elementwise() -> Iterator[Case]:
    for op in (
        "Abs",
        "Ceil",
        "Cos",
        "Elu",
        "Erf",
        "Erfc",
        "Exp",
        "Expm1",
        "Floor",
        "Neg",
        "OnesLike",
        "Relu",
    ):
        yield op, {"x" if op not in ("Elu", "Relu") else "features": floats(3, 5)}
    for op in ("Relu6", "Selu", "Softplus", "Softsign", "LeakyRelu"):
        yield op, {"features": 4 * floats(3, 5)}
    for op in ("Sigmoid", "Sign", "Sin", "Square", "Tanh", "ZerosLike", "Reciprocal"):
        yield op, {"x": floats(3, 5)}
    for op in ("Log", "Log1p", "Rsqrt", "Sqrt"):
        yield op, {"x": positive(3, 5)}
    for op in ("Identity", "StopGradient"):
        yield op, {"input": floats(3, 5)}
    for op in ("LogSoftmax", "Softmax"):
        yield op, {"logits": floats(3, 5)}
    for shapes in (((3, 4), (3, 4)), ((2, 3, 4), (4,)), ((2, 1, 4), (3, 1))):
        for op in ("AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference"):
            yield op, {"x": floats(*shapes[0]), "y": positive(*shapes[1])}
        for op in ("Less", "LessEqual", "Greater", "GreaterEqual"):
            yield op, {"x": floats(*shapes[0]), "y": floats(*shapes[1])}
    yield "Pow", {"x": positive(3, 4), "y": floats(3, 4)}
    yield "FloorDiv", {"x": 5 * floats(3, 4), "y": positive(3, 4)}
    yield "FloorMod", {"x": 5 * floats(3, 4), "y": positive(3, 4)}
    yield "DivNoNan", {"x": floats(4), "y": np.array([1, 0, 2, 0], np.float32)}
    yield "AddN", {"inputs": [floats(3, 4), floats(3, 4), floats(3, 4)]}
    for op in ("Equal", "NotEqual"):
        yield op, {"x": integers(3, 4, 5), "y": integers(3, 4, 5)}
    for op in ("LogicalAnd", "LogicalOr"):
        yield op, {"x": booleans(3, 4), "y": booleans(3, 4)}
    yield "LogicalNot", {"x": booleans(3, 4)}
    yield "Select", {"condition": booleans(3, 4), "x": floats(3, 4), "y": floats(3, 4)}
    yield "SelectV2", {"condition": booleans(3, 4), "t": floats(3, 4), "e": floats(3, 4)}
    yield "SelectV2", {"condition": booleans(3, 1), "t": floats(3, 4), "e": floats(1, 4)}
    yield "SelectV2", {"condition": booleans(3, 4), "t": floats(), "e": floats(3, 4)}
    yield "Cast", {"x": booleans(3, 4), "DstT": tf.float32}
    yield "Cast", {"x": 3 * floats(3, 4), "DstT": tf.int32}
    yield "Cast", {"x": integers(9, 3, 4), "DstT": tf.float32}


def gradients() -> Iterator[Case]:
    for op in ("ReluGrad", "Relu6Grad", "LeakyReluGrad", "SoftplusGrad", "SoftsignGrad"):
        yield op, {"gradients": floats(3, 5), "features": 4 * floats(3, 5)}
    yield "EluGrad", {"gradients": floats(3, 5), "outputs": np.maximum(floats(3, 5), -0.9)}
    yield "SeluGrad", {"gradients": floats(3, 5), "outputs": np.maximum(floats(3, 5), -1.5)}
    for op in ("SigmoidGrad", "TanhGrad", "RsqrtGrad", "SqrtGrad", "ReciprocalGrad"):
        yield op, {"y": positive(3, 5), "dy": floats(3, 5)}
    yield "BiasAddGrad", {"out_backprop": floats(2, 3, 4, 5)}
    yield "BiasAddGrad", {"out_backprop": floats(7, 5)}
    labels: Array = np.array([4, 0, 2], np.int32)
    yield "SparseSoftmaxCrossEntropyWithLogits", {"features": 3 * floats(3, 5), "labels": labels}
    soft = positive(3, 5)
    soft /= soft.sum(axis=1, keepdims=True)
    yield "SoftmaxCrossEntropyWithLogits", {"features": 3 * floats(3, 5), "labels": soft}
    yield (
        "UnsortedSegmentSum",
        {"data": floats(6, 4), "segment_ids": integers(3, 6), "num_segments": number(4)},
    )
    ids = integers(5, 2, 3)
    yield "UnsortedSegmentSum", {"data": floats(2, 3, 4), "segment_ids": ids, "num_segments": number(5)}
    yield "InvertPermutation", {"x": Fixed(2, 0, 3, 1)}


def convolutions() -> Iterator[Case]:
    for size, kernel, stride, padding in (
        ((7, 6), (3, 3), 1, "SAME"),
        ((7, 6), (3, 2), 1, "VALID"),
        ((7, 6), (3, 3), 2, "SAME"),
        ((8, 8), (3, 3), 2, "SAME"),
        ((8, 8), (1, 1), 2, "VALID"),
        ((9, 7), (2, 4), 3, "VALID"),
        ((5, 5), (5, 5), 1, "VALID"),
    ):
        x, strides = floats(2, *size, 3), [1, stride, stride, 1]
        window = {"strides": strides, "padding": padding}
        filters, deep = floats(*kernel, 3, 5), floats(*kernel, 3, 2)
        y = tf.raw_ops.Conv2D(input=x, filter=filters, **window)
        yield "Conv2D", {"input": x, "filter": filters, **window}
        shape, filter_shape = Fixed(*x.shape), Fixed(*filters.shape)
        dy = floats(*y.shape)
        yield "Conv2DBackpropInput", {"input_sizes": shape, "filter": filters, "out_backprop": dy, **window}
        yield "Conv2DBackpropFilter", {"input": x, "filter_sizes": filter_shape, "out_backprop": dy, **window}
        dy = floats(*y.shape[:3], 6)
        deep_shape = Fixed(*deep.shape)
        yield "DepthwiseConv2dNative", {"input": x, "filter": deep, **window}
        op = "DepthwiseConv2dNativeBackpropInput"
        yield op, {"input_sizes": shape, "filter": deep, "out_backprop": dy, **window}
        op = "DepthwiseConv2dNativeBackpropFilter"
        yield op, {"input": x, "filter_sizes": deep_shape, "out_backprop": dy, **window}


def pools() -> Iterator[Case]:
    for size, kernel, stride, padding in (
        ((6, 6), 2, 2, "VALID"),
        ((7, 5), 3, 2, "SAME"),
        ((7, 5), 3, 1, "VALID"),
    ):
        x = floats(2, *size, 4)
        window = {"ksize": [1, kernel, kernel, 1], "strides": [1, stride, stride, 1], "padding": padding}
        y = tf.raw_ops.MaxPool(input=x, **window).numpy()
        dy = floats(*y.shape)
        yield "MaxPool", {"input": x, **window}
        yield "MaxPoolGrad", {"orig_input": x, "orig_output": y, "grad": dy, **window}
        yield "AvgPool", {"value": x, **window}
        yield "AvgPoolGrad", {"orig_input_shape": Fixed(*x.shape), "grad": dy, **window}


def products() -> Iterator[Case]:
    for left in (False, True):
        for right in (False, True):
            a, b = floats(*((5, 3) if left else (3, 5))), floats(*((4, 5) if right else (5, 4)))
            yield "MatMul", {"a": a, "b": b, "transpose_a": left, "transpose_b": right}
            a, b = floats(2, *((5, 3) if left else (3, 5))), floats(2, *((4, 5) if right else (5, 4)))
            yield "BatchMatMulV2", {"x": a, "y": b, "adj_x": left, "adj_y": right}
    yield "BatchMatMulV2", {"x": floats(2, 3, 5), "y": floats(1, 5, 4)}
    yield "BiasAdd", {"value": floats(2, 3, 4), "bias": floats(4)}
    for equation, *shapes in (
        ("abc,cde->abde", (2, 3, 4), (4, 2, 5)),
        ("aecd,abcd->acbe", (2, 3, 2, 4), (2, 5, 2, 4)),
        ("acbe,aecd->abcd", (2, 2, 5, 3), (2, 3, 2, 4)),
        ("abcd,cde->abe", (2, 3, 2, 4), (2, 4, 5)),
        ("abe,cde->abcd", (2, 3, 5), (2, 4, 5)),
        ("abcd,abe->cde", (2, 3, 2, 4), (2, 3, 5)),
        ("ab,cb->a", (2, 3), (4, 3)),
        ("abc->ca", (2, 3, 4)),
    ):
        yield "Einsum", {"inputs": [floats(*shape) for shape in shapes], "equation": equation}
    activated: dict[str, Any] = {"num_args": 1, "fused_ops": ["BiasAdd", "Relu"]}
    yield "_FusedMatMul", {"a": floats(3, 5), "b": floats(5, 4), "args": [floats(4)], **activated}
    window = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    image, filters = floats(2, 6, 5, 3), floats(3, 3, 3, 4)
    yield "_FusedConv2D", {"input": image, "filter": filters, "args": [floats(4)], **window, **activated}


def reductions() -> Iterator[Case]:
    for op in ("Sum", "Mean", "Max", "Min", "Prod"):
        for axes, keep in (((0,), False), ((1, 2), True), ((0, 2), False), ((0, 1, 2), False)):
            yield op, {"input": floats(3, 4, 5), "axis": Fixed(*axes), "keep_dims": keep}
    for op in ("All", "Any"):
        yield op, {"input": booleans(3, 4), "axis": Fixed(1)}
    for op in ("ArgMax", "ArgMin"):
        yield op, {"input": floats(3, 4), "dimension": number(1), "output_type": tf.int32}
    yield "Cumsum", {"x": floats(3, 4), "axis": number(1)}
    yield "Cumsum", {"x": floats(3, 4), "axis": number(0), "exclusive": True, "reverse": True}


def slices() -> Iterator[Case]:
    for begin, end, strides, masks in (
        ((1, 0, 2), (3, 4, 5), (1, 1, 1), {}),
        ((0, 1, 0), (4, 5, 6), (1, 2, 1), {}),
        ((0, 0, -1), (4, 5, -7), (1, 1, -1), {}),
        ((3, 4, 5), (0, 0, 0), (-1, -2, -3), {}),
        ((0, -1, 0), (0, 0, 0), (1, 1, 1), {"begin_mask": 5, "end_mask": 5, "shrink_axis_mask": 2}),
        ((0, 2), (0, 3), (1, 1), {"ellipsis_mask": 1, "shrink_axis_mask": 2}),
        ((0, 0, 1), (0, 0, 3), (1, 1, 1), {"begin_mask": 1, "end_mask": 1, "new_axis_mask": 2}),
    ):
        x = floats(4, 5, 6)
        where = {"begin": Fixed(*begin), "end": Fixed(*end), "strides": Fixed(*strides), **masks}
        plain = {k: v.array if isinstance(v, Fixed) else v for k, v in where.items()}
        y = tf.raw_ops.StridedSlice(input=x, **plain)
        yield "StridedSlice", {"input": x, **where}
        yield "StridedSliceGrad", {"shape": Fixed(*x.shape), "dy": floats(*y.shape), **where}
    yield "StridedSlice", {"input": integers(9, 4, 5), **_part((1, 1), (4, 5), (2, 2))}
    for begin, size in (((1, 0, 2), (2, 5, 3)), ((0, 1, 0), (4, 2, 6)), ((2, 0, 0), (1, 5, 6))):
        yield "Slice", {"input": floats(4, 5, 6), "begin": Fixed(*begin), "size": Fixed(*size)}
    yield "Slice", {"input": integers(9, 30, 40), "begin": Fixed(3, 5), "size": Fixed(20, 33)}
    yield "Split", {"axis": number(1), "value": floats(3, 6), "num_split": 3}
    yield "SplitV", {"value": floats(60), "size_splits": Fixed(1, 9, 50), "axis": number(0), "num_split": 3}
    yield "SplitV", {"value": floats(3, 6, 2), "size_splits": Fixed(4, 2), "axis": number(1), "num_split": 2}
    yield "Unpack", {"value": floats(3, 4, 5), "num": 4, "axis": 1}
    yield "Unpack", {"value": floats(2, 50), "num": 2, "axis": 0}


def _part(begin: tuple[int, ...], end: tuple[int, ...], strides: tuple[int, ...]) -> dict[str, Any]:
    return {"begin": Fixed(*begin), "end": Fixed(*end), "strides": Fixed(*strides)}


def shapes() -> Iterator[Case]:
    blocks = {"block_shape": Fixed(2, 2), "paddings": _pairs((1, 2), (0, 1))}
    yield "SpaceToBatchND", {"input": floats(2, 5, 3, 2), **blocks}
    blocks = {"block_shape": Fixed(2, 2), "crops": _pairs((1, 0), (0, 1))}
    yield "BatchToSpaceND", {"input": floats(8, 3, 2, 2), **blocks}
    yield "Reshape", {"tensor": floats(3, 4), "shape": Fixed(2, 6)}
    yield "Squeeze", {"input": floats(3, 1, 4), "axis": [1]}
    yield "ExpandDims", {"input": floats(3, 4), "axis": number(1)}
    for permutation in ((2, 0, 1), (0, 2, 1), (1, 0, 2)):
        yield "Transpose", {"x": floats(3, 4, 5), "perm": Fixed(*permutation)}
    yield "ReverseV2", {"tensor": floats(3, 4), "axis": Fixed(1)}
    yield "Tile", {"input": floats(2, 3), "multiples": Fixed(2, 2)}
    yield "BroadcastTo", {"input": floats(3, 1), "shape": Fixed(2, 3, 4)}
    yield "Pad", {"input": floats(2, 3), "paddings": _pairs((1, 2), (0, 1))}
    yield "PadV2", {"input": floats(2, 3), "paddings": _pairs((1, 2), (0, 1)), "constant_values": _one(1.5)}
    yield "ConcatV2", {"values": [floats(2, 3), floats(2, 2)], "axis": number(1)}
    yield "Pack", {"values": [floats(2, 3), floats(2, 3)], "axis": 1}
    yield "Fill", {"dims": Fixed(2, 3), "value": _one(2.5)}
    yield "Range", {"start": number(1), "limit": number(9), "delta": number(2)}
    yield "GatherV2", {"params": floats(6, 4), "indices": integers(6, 2, 3), "axis": number(0)}
    yield "GatherV2", {"params": floats(3, 6, 4), "indices": integers(6, 5), "axis": number(1)}
    batched = {"indices": integers(6, 3, 2), "axis": number(1), "batch_dims": 1}
    yield "GatherV2", {"params": floats(3, 6, 4), **batched}
    yield "GatherNd", {"params": floats(4, 5), "indices": integers(4, 6, 2)}
    places: Array = np.array([[3], [0], [5]], np.int32)
    yield "ScatterNd", {"indices": places, "updates": floats(3, 4), "shape": Fixed(6, 4)}
    yield (
        "OneHot",
        {"indices": integers(5, 4), "depth": number(5), "on_value": _one(1.0), "off_value": _one(0.0)},
    )
    yield (
        "OneHot",
        {"indices": integers(5, 4), "depth": number(5), "on_value": _one(2.0), "off_value": _one(-1.0)},
    )


def _pairs(*rows: tuple[int, int]) -> Fixed:
    fixed = Fixed()
    fixed.array = np.array(rows, np.int32)
    return fixed


def _one(value: float) -> Fixed:
    return Fixed(value, dtype="float32", scalar=True)


FAMILIES = (elementwise, gradients, convolutions, pools, products, reductions, slices, shapes)
