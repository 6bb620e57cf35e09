"""Ops on what another op has just made: backends may keep a result in another form than a fed tensor."""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.ops.case import Array, Case, Cast, Fixed, between, booleans, floats, integers, one


def _numbers(*shape: int) -> Iterator[Cast]:
    """Whole numbers and truth values as floats."""
    whole: Array = between(-9, 10, *shape)
    yield Cast(whole)
    yield Cast(booleans(*shape))


def copies() -> Iterator[Case]:
    """Ops that copy elements: they must not take whole numbers' bits for floats."""
    for x in _numbers(3, 4):
        yield "Identity", {"input": x}
        yield "Reshape", {"tensor": x, "shape": Fixed(2, 6)}
        yield "ExpandDims", {"input": x, "axis": one(1)}
        for order in ((1, 0), (0, 1)):
            yield "Transpose", {"x": x, "perm": Fixed(*order)}
        yield "Slice", {"input": x, "begin": Fixed(1, 0), "size": Fixed(2, 3)}
        where = {"begin": Fixed(0, 3), "end": Fixed(3, 0), "strides": Fixed(2, -1)}
        yield "StridedSlice", {"input": x, **where}
        yield "Pad", {"input": x, "paddings": Fixed((1, 0), (0, 1))}
        yield "PadV2", {"input": x, "paddings": Fixed((1, 0), (0, 1)), "constant_values": one(0.5, "float32")}
        yield "Tile", {"input": x, "multiples": Fixed(2, 1)}
        yield "BroadcastTo", {"input": x, "shape": Fixed(2, 3, 4)}
        yield "ReverseV2", {"tensor": x, "axis": Fixed(1)}
        yield "ConcatV2", {"values": [x, floats(2, 4)], "axis": one(0)}
        yield "ConcatV2", {"values": [floats(2, 4), x], "axis": one(0)}
        yield "Pack", {"values": [x, floats(3, 4)], "axis": 1}
        yield "Unpack", {"value": x, "num": 3, "axis": 0}
        yield "Split", {"axis": one(1), "value": x, "num_split": 2}
        yield "GatherV2", {"params": x, "indices": integers(3, 5), "axis": one(0)}
        yield "GatherNd", {"params": x, "indices": Fixed((0, 1), (2, 3)).array}
        yield "Select", {"condition": booleans(3, 4), "x": x, "y": floats(3, 4)}
        yield "SelectV2", {"condition": booleans(3, 1), "t": floats(1, 4), "e": x}
        places = Fixed((3,), (0,), (5,)).array
        yield "ScatterNd", {"indices": places, "updates": x, "shape": Fixed(6, 4)}
    for x in _numbers(2, 1, 3, 1, 2):
        yield "Tile", {"input": x, "multiples": Fixed(1, 2, 1, 3, 2)}
        yield "BroadcastTo", {"input": x, "shape": Fixed(2, 2, 3, 2, 2)}
    for x in _numbers(2, 1, 3, 1, 2, 1):
        yield "Tile", {"input": x, "multiples": Fixed(2, 2, 1, 1, 1, 2)}
        yield "BroadcastTo", {"input": x, "shape": Fixed(2, 4, 3, 1, 2, 1)}
    for x in _numbers(2, 4, 4, 1):
        yield "Transpose", {"x": x, "perm": Fixed(0, 3, 1, 2)}
        blocks = {"block_shape": Fixed(2, 2), "paddings": Fixed((0, 0), (0, 0))}
        yield "SpaceToBatchND", {"input": x, **blocks}


def computed() -> Iterator[Case]:
    """Ops that calculate."""
    for x in _numbers(3, 4):
        for op in ("AddV2", "Mul", "Maximum", "RealDiv", "SquaredDifference", "Less", "Equal"):
            yield op, {"x": x, "y": floats(4)}
            yield op, {"x": floats(3, 1), "y": x}
        for op in ("Neg", "Abs", "Square", "Exp", "Sigmoid", "Sign", "Floor"):
            yield op, {"x": x}
        yield "Relu", {"features": x}
        for op in ("Sum", "Mean", "Max", "Prod"):
            yield op, {"input": x, "axis": Fixed(1), "keep_dims": False}
            yield op, {"input": x, "axis": Fixed(0, 1), "keep_dims": False}
        yield "ArgMax", {"input": x, "dimension": one(1)}
        yield "Cumsum", {"x": x, "axis": one(1)}
        yield "Softmax", {"logits": x}
        yield "MatMul", {"a": x, "b": floats(4, 5)}
        yield "MatMul", {"a": floats(5, 3), "b": x}
        yield "MatMul", {"a": x, "b": floats(3, 5), "transpose_a": True}
        yield "BiasAddGrad", {"out_backprop": x}
        yield "ReluGrad", {"gradients": x, "features": floats(3, 4)}
        yield "Einsum", {"inputs": [x, floats(4, 5)], "equation": "ab,bc->ac"}
        segments = {"segment_ids": integers(2, 3), "num_segments": one(2)}
        yield "UnsortedSegmentSum", {"data": x, **segments}
        yield "SoftmaxCrossEntropyWithLogits", {"features": floats(3, 4), "labels": x}
        yield "AddN", {"inputs": [x, floats(3, 4)]}
    for x in _numbers(2, 5, 5, 3):
        window = {"strides": [1, 1, 1, 1], "padding": "SAME"}
        yield "Conv2D", {"input": x, "filter": floats(3, 3, 3, 4), **window}
        yield "DepthwiseConv2dNative", {"input": x, "filter": floats(3, 3, 3, 1), **window}
        yield "MaxPool", {"input": x, "ksize": [1, 2, 2, 1], **window}
        yield "AvgPool", {"value": x, "ksize": [1, 2, 2, 1], **window}
        sizes = {"filter_sizes": Fixed(3, 3, 3, 4), "out_backprop": floats(2, 5, 5, 4)}
        yield "Conv2DBackpropFilter", {"input": x, **sizes, **window}
