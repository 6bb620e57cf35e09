"""Estimate of the floating-point operations of one op."""

from __future__ import annotations

import math
from typing import Any

# fmt: off
FREE = {
    "Cast", "ConcatV2", "Const", "ExpandDims", "Identity", "Pack", "Pad", "Placeholder", "Reshape",
    "Slice", "Split", "SplitV", "Squeeze", "StopGradient", "StridedSlice", "Tile", "Transpose", "Unpack",
}
# fmt: on


def op_flops(op: Any) -> int:
    """Two per multiply-add of convolutions and matrix products, one per element written by any other op."""
    if op.type in FREE:
        return 0
    written = sum(_size(tensor) for tensor in op.outputs)
    shapes: list[list[int]] = [_shape(tensor) for tensor in op.inputs]
    if op.type in ("MatMul", "_FusedMatMul"):
        return 2 * written * shapes[0][0 if op.get_attr("transpose_a") else 1]
    if op.type.startswith("BatchMatMul"):
        return 2 * written * shapes[0][-2 if op.get_attr("adj_x") else -1]
    if op.type == "Einsum":
        return 2 * _einsum_points(op)
    if op.type in ("Conv2D", "_FusedConv2D"):
        return 2 * written * math.prod(shapes[1][:3])
    if op.type == "Conv2DBackpropInput":
        return 2 * _size(op.inputs[2]) * math.prod(shapes[1][:3])
    if op.type == "Conv2DBackpropFilter":
        return 2 * _size(op.inputs[2]) * math.prod(_shape(op.outputs[0])[:3])
    if op.type.startswith("DepthwiseConv2d"):
        filters = op.outputs[0] if op.type.endswith("BackpropFilter") else op.inputs[1]
        image = op.inputs[2] if "Backprop" in op.type else op.outputs[0]
        return 2 * _size(image) * math.prod(_shape(filters)[:2])
    return written


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
