"""Ops that move elements or make tensors, and compute nothing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from tests.conformance.ops.case import Case, Fixed, Shape, between, booleans, chance, floats, integers, one


def shapes() -> Iterator[Case]:
    before: Shape
    after: Shape
    for before, after in (((3, 4), (2, 6)), ((3, 4), (12,)), ((1,), ()), ((), (1, 1)), ((2, 3, 4), (4, -1))):
        yield "Reshape", {"tensor": np.asarray(floats(*before)), "shape": Fixed(*after)}
    yield "Reshape", {"tensor": floats(2, 3, 2, 1, 2, 3), "shape": Fixed(3, 2, 1, 2, 2, 3)}
    yield "Reshape", {"tensor": booleans(3, 4), "shape": Fixed(4, 3)}
    for before, squeezed in (((3, 1, 4), [1]), ((1, 3, 1), []), ((1, 3, 1), [-1]), ((1, 1), [0, 1])):
        yield "Squeeze", {"input": floats(*before), "axis": squeezed}
    for before, axis in (((3, 4), 1), ((3, 4), 0), ((3, 4), -1), ((), 0), ((2, 1, 2, 2, 3), 3)):
        yield "ExpandDims", {"input": np.asarray(floats(*before)), "axis": one(axis)}
    axes: Shape
    for axes in ((0,), (1,), (0, 1), (-1,), ()):
        yield "ReverseV2", {"tensor": floats(3, 4), "axis": Fixed(*axes)}
    yield "ReverseV2", {"tensor": floats(2, 3, 2, 3), "axis": Fixed(0, 2, 3)}
    yield "ReverseV2", {"tensor": integers(9, 3, 4), "axis": Fixed(1)}
    for before, times in (((2, 3), (2, 2)), ((3,), (4,)), ((1, 2), (3, 1)), ((2, 1, 2, 2), (1, 2, 1, 3))):
        yield "Tile", {"input": floats(*before), "multiples": Fixed(*times)}
    yield "Tile", {"input": floats(2, 1, 2, 1, 2), "multiples": Fixed(1, 2, 1, 2, 1)}
    yield "Tile", {"input": integers(9, 2, 3), "multiples": Fixed(2, 1)}
    for before, after in (
        ((), (2, 3)),
        ((3, 1), (2, 3, 4)),
        ((4,), (2, 3, 4)),
        ((1,), (5,)),
        ((2, 3), (2, 3)),
    ):
        yield "BroadcastTo", {"input": np.asarray(floats(*before)), "shape": Fixed(*after)}
    yield "BroadcastTo", {"input": floats(2, 1, 2, 1, 2), "shape": Fixed(2, 3, 2, 2, 2)}
    yield "BroadcastTo", {"input": floats(1, 2, 1, 1, 2), "shape": Fixed(2, 3, 2, 1, 2, 2)}
    yield "BroadcastTo", {"input": integers(9, 3, 1), "shape": Fixed(3, 4)}
    yield "BroadcastTo", {"input": booleans(3, 1), "shape": Fixed(3, 4)}


def transposes() -> Iterator[Case]:
    shape: Shape
    order: Shape
    for shape in ((5,), (3, 4), (3, 4, 5), (2, 3, 4, 5)):
        for order in permutations(range(len(shape))):
            yield "Transpose", {"x": floats(*shape), "perm": Fixed(*order)}
    for rank in (5, 6):
        for _ in range(12):
            shape = tuple(int(n) for n in chance().integers(1, 4, rank))
            order = tuple(int(n) for n in chance().permutation(rank))
            yield "Transpose", {"x": floats(*shape), "perm": Fixed(*order)}
    deep = (2, 3, 1, 2, 1, 2, 3, 1, 1, 2)
    for order in ((0, 1, 3, 2, 5, 4, 6, 7, 9, 8), (9, 0, 1, 2, 3, 4, 5, 6, 7, 8)):
        yield "Transpose", {"x": floats(*deep), "perm": Fixed(*order)}
    yield "Transpose", {"x": floats(33, 65), "perm": Fixed(1, 0)}
    yield "Transpose", {"x": integers(9, 2, 3, 4), "perm": Fixed(2, 0, 1)}
    yield "Transpose", {"x": booleans(3, 4), "perm": Fixed(1, 0)}
    for rank in (1, 2, 4, 6):
        yield "InvertPermutation", {"x": Fixed(*(int(n) for n in chance().permutation(rank)))}


def paddings() -> Iterator[Case]:
    for shape in ((5,), (2, 3), (2, 3, 2), (2, 2, 3, 2), (1, 2, 2, 1, 2)):
        for _ in range(4):
            widths = Fixed(*((int(a), int(b)) for a, b in chance().integers(0, 4, (len(shape), 2))))
            yield "Pad", {"input": floats(*shape), "paddings": widths}
            fill = one(float(chance().normal()), "float32")
            yield "PadV2", {"input": floats(*shape), "paddings": widths, "constant_values": fill}
    yield "Pad", {"input": integers(9, 2, 3), "paddings": Fixed((1, 0), (0, 2))}
    yield "PadV2", {"input": integers(9, 2, 3), "paddings": Fixed((1, 0), (0, 2)), "constant_values": one(7)}
    yield "Pad", {"input": floats(2, 3), "paddings": Fixed((0, 0), (0, 0))}
    lowest = one(-3e38, "float32")
    yield "PadV2", {"input": floats(1, 3, 3, 2), "paddings": Fixed(*((1, 1),) * 4), "constant_values": lowest}


def blocks() -> Iterator[Case]:
    for shape, block, widths in (
        ((2, 5, 3, 2), (2, 2), ((1, 2), (0, 1))),
        ((1, 4, 6, 3), (2, 3), ((0, 0), (0, 0))),
        ((2, 7, 3), (3,), ((1, 1),)),
        ((2, 4, 4, 1), (1, 2), ((0, 0), (1, 1))),
        ((1, 6), (2,), ((1, 1),)),
    ):
        part = {"block_shape": Fixed(*block), "paddings": Fixed(*widths)}
        yield "SpaceToBatchND", {"input": floats(*shape), **part}
    for shape, block, widths in (
        ((8, 3, 2, 2), (2, 2), ((1, 0), (0, 1))),
        ((6, 2, 2, 3), (2, 3), ((0, 0), (0, 0))),
        ((6, 3, 3), (3,), ((1, 1),)),
        ((4, 4, 3, 1), (1, 2), ((0, 0), (1, 1))),
        ((2, 4), (2,), ((1, 1),)),
    ):
        part = {"block_shape": Fixed(*block), "crops": Fixed(*widths)}
        yield "BatchToSpaceND", {"input": floats(*shape), **part}


def makers() -> Iterator[Case]:
    for dims in ((), (3,), (2, 3), (1, 2, 2, 1, 3)):
        yield "Fill", {"dims": Fixed(*dims), "value": one(2.5, "float32")}
        yield "Fill", {"dims": Fixed(*dims), "value": one(-7)}
    yield "Fill", {"dims": Fixed(2, 2), "value": one(1, "bool")}
    yield "Fill", {"dims": Fixed(2, 2), "value": np.asarray(floats())}
    for start, limit, delta in ((1, 9, 2), (0, 5, 1), (9, 0, -3), (-4, 4, 1), (0, 300, 1)):
        yield "Range", {"start": one(start), "limit": one(limit), "delta": one(delta)}
        ends = {"start": one(start, "float32"), "limit": one(limit, "float32")}
        yield "Range", {**ends, "delta": one(delta, "float32")}
    yield "Range", {"start": one(0.0, "float32"), "limit": one(1.0, "float32"), "delta": one(0.25, "float32")}
    yield "Pack", {"values": [between(0, 9, 1), between(0, 9, 1)], "axis": -1}
