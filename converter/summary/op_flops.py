"""Estimates the floating-point operations of an op."""

from __future__ import annotations

import math
from typing import Any

# fmt: off
FREE = {
    "BroadcastTo", "Cast", "ConcatV2", "Const", "ExpandDims", "Fill", "GatherNd", "GatherV2", "Identity",
    "Pack", "Pad", "PadV2", "Placeholder", "Reshape", "ReverseV2", "Slice", "Split", "SplitV", "Squeeze",
    "StopGradient", "StridedSlice", "StridedSliceGrad", "Tile", "Transpose", "Unpack",
}
# fmt: on


def op_flops(op: Any) -> int:
    """Counts 2 per multiply-add of convolutions and matrix products, 1 per value read otherwise.

    Ops that compute more values than they read count what they write; fused ones count their product and each
    step after it.
    """
    if op.type in FREE:
        return 0
    written = sum(_size(tensor) for tensor in op.outputs)
    if op.type.startswith("_Fused"):
        return 2 * _products(op, op.type.removeprefix("_Fused")) + written * len(op.get_attr("fused_ops"))
    products = _products(op, op.type)
    return 2 * products if products else max([written, *(_size(tensor) for tensor in op.inputs)])


def _products(op: Any, kind: str) -> int:
    """Returns the multiply-adds of a convolution or matrix product; 0 for all other kinds."""
    written = sum(_size(tensor) for tensor in op.outputs)
    shapes: list[list[int]] = [_shape(tensor) for tensor in op.inputs]
    if kind == "MatMul":
        return written * shapes[0][0 if op.get_attr("transpose_a") else 1]
    if kind.startswith("BatchMatMul"):
        return written * shapes[0][-2 if op.get_attr("adj_x") else -1]
    if kind == "Einsum":
        return _einsum_points(op)
    if kind == "Conv2D":
        return written * math.prod(shapes[1][:3])
    if kind == "Conv2DBackpropInput":
        return _size(op.inputs[2]) * math.prod(shapes[1][:3])
    if kind == "Conv2DBackpropFilter":
        return _size(op.inputs[2]) * math.prod(_shape(op.outputs[0])[:3])
    if kind.startswith("DepthwiseConv2d"):
        filters = op.outputs[0] if kind.endswith("BackpropFilter") else op.inputs[1]
        image = op.inputs[2] if "Backprop" in kind else op.outputs[0]
        return _size(image) * math.prod(_shape(filters)[:2])
    return 0


def _einsum_points(op: Any) -> int:
    sides = op.get_attr("equation").decode().split("->")[0].split(",")
    sizes: dict[str, int] = {}
    for labels, tensor in zip(sides, op.inputs, strict=True):
        sizes |= zip(labels, tensor.shape.as_list(), strict=True)
    return math.prod(sizes.values())


def _shape(tensor: Any) -> list[int]:
    shape: list[int] = tensor.shape.as_list()
    return shape


def _size(tensor: Any) -> int:
    return math.prod(_shape(tensor))
