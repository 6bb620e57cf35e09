"""Slices of every kind, their gradient, splitting and joining."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tests.conformance.ops.case import (
    Array,
    Case,
    Fixed,
    Shape,
    between,
    booleans,
    chance,
    floats,
    integers,
    one,
)

Bounds = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], dict[str, int]]

NAMED: tuple[Bounds, ...] = (
    ((1, 0, 2), (3, 4, 5), (1, 1, 1), {}),
    ((0, 1, 0), (4, 5, 6), (1, 2, 1), {}),
    ((0, 0, -1), (4, 5, -7), (1, 1, -1), {}),
    ((3, 4, 5), (0, 0, 0), (-1, -2, -3), {}),
    ((0, -1, 0), (0, 0, 0), (1, 1, 1), {"begin_mask": 5, "end_mask": 5, "shrink_axis_mask": 2}),
    ((0, 2), (0, 3), (1, 1), {"ellipsis_mask": 1, "shrink_axis_mask": 2}),
    ((0, 0, 1), (0, 0, 3), (1, 1, 1), {"begin_mask": 1, "end_mask": 1, "new_axis_mask": 2}),
    ((0, 0), (0, 0), (1, 1), {"ellipsis_mask": 1, "new_axis_mask": 2}),
    ((0, 0, 0), (0, 0, 0), (1, 1, 1), {"begin_mask": 7, "end_mask": 7}),
    ((0, 0, 0), (0, 0, 0), (-1, -1, -1), {"begin_mask": 7, "end_mask": 7}),
    ((2, 1, 3), (3, 2, 4), (1, 1, 1), {"shrink_axis_mask": 7}),
    ((-1,), (0,), (1,), {"shrink_axis_mask": 1}),
    ((-3, -4), (-1, 99), (1, 2), {}),
    ((1,), (2,), (1,), {}),
    ((99,), (-99,), (-1,), {}),
    ((0, 0, 1), (0, 0, 4), (1, 1, 2), {"ellipsis_mask": 2, "begin_mask": 1, "end_mask": 1}),
    ((1, 0, 2), (2, 0, 3), (1, 1, 1), {"ellipsis_mask": 2, "shrink_axis_mask": 5}),
)


def strided() -> Iterator[Case]:
    for bounds in NAMED:
        yield from _strided(floats(4, 5, 6), bounds)
    for _ in range(40):
        rank = int(chance().integers(1, 6))
        shape = tuple(int(n) for n in chance().integers(1, 6, rank))
        yield from _strided(floats(*shape), _bounds(shape))
    for bounds in NAMED[:6]:
        begin, end, strides, masks = bounds
        where = {"begin": Fixed(*begin), "end": Fixed(*end), "strides": Fixed(*strides), **masks}
        yield "StridedSlice", {"input": integers(99, 4, 5, 6), **where}
        yield "StridedSlice", {"input": booleans(4, 5, 6), **where}


def _bounds(shape: tuple[int, ...]) -> Bounds:
    """Bounds of a part that is not empty, with masks by chance."""
    begin, end, strides, masks = [], [], [], {"begin_mask": 0, "end_mask": 0, "shrink_axis_mask": 0}
    for axis, size in enumerate(shape):
        first, last = sorted(int(n) for n in chance().integers(0, size, 2))
        step = int(chance().choice((1, 1, 2, 3, -1, -2)))
        kind = str(chance().choice(("both", "from", "to", "all", "shrink")))
        if kind == "shrink":
            masks["shrink_axis_mask"] |= 1 << axis
            step, last = 1, first
        if kind in ("to", "all"):
            masks["begin_mask"] |= 1 << axis
        if kind in ("from", "all"):
            masks["end_mask"] |= 1 << axis
        if step > 0:
            begin.append(first)
            end.append(last + 1)
        else:
            begin.append(last)
            end.append(first - 1 if first else -size - 1)
        strides.append(step)
    return tuple(begin), tuple(end), tuple(strides), masks


def _strided(x: Array, bounds: Bounds) -> Iterator[Case]:
    begin, end, strides, masks = bounds
    where: dict[str, Any] = {"begin": Fixed(*begin), "end": Fixed(*end), "strides": Fixed(*strides), **masks}
    y = tf.raw_ops.StridedSlice(input=x, begin=begin, end=end, strides=strides, **masks)
    yield "StridedSlice", {"input": x, **where}
    dy = np.asarray(floats(*y.shape), np.float32)
    yield "StridedSliceGrad", {"shape": Fixed(*x.shape), "dy": dy, **where}


def plain() -> Iterator[Case]:
    for shape, begin, size in (
        ((4, 5, 6), (1, 0, 2), (2, 5, 3)),
        ((4, 5, 6), (0, 1, 0), (4, 2, 6)),
        ((4, 5, 6), (2, 0, 0), (1, 5, 6)),
        ((4, 5, 6), (1, 2, 3), (-1, -1, -1)),
        ((4, 5, 6), (0, 0, 0), (4, 5, 6)),
        ((900,), (31,), (845,)),
        ((30, 40), (3, 5), (20, 33)),
        ((2, 3, 2, 3), (0, 1, 1, 0), (2, 2, 1, 3)),
        ((2, 1, 2, 3, 2), (1, 0, 0, 1, 0), (1, 1, 2, 2, 2)),
        ((2, 1, 2, 1, 3, 2), (0, 0, 1, 0, 1, 0), (2, 1, 1, 1, 2, 1)),
    ):
        where = {"begin": Fixed(*begin), "size": Fixed(*size)}
        yield "Slice", {"input": floats(*shape), **where}
        yield "Slice", {"input": integers(99, *shape), **where}
    yield "Slice", {"input": booleans(4, 5), "begin": Fixed(1, 1), "size": Fixed(2, 3)}


def parts() -> Iterator[Case]:
    shape: Shape
    for shape, axis, count in (
        ((6,), 0, 3),
        ((3, 6), 1, 3),
        ((4, 2, 3), 0, 2),
        ((2, 3, 4), -1, 4),
        ((5, 2), 1, 1),
    ):
        yield "Split", {"axis": one(axis), "value": floats(*shape), "num_split": count}
    yield "Split", {"axis": one(1), "value": integers(9, 3, 6), "num_split": 2}
    for shape, axis, sizes in (
        ((60,), 0, (1, 9, 50)),
        ((3, 6, 2), 1, (4, 2)),
        ((3, 7), -1, (2, -1, 1)),
        ((5, 2, 2), 0, (5,)),
        ((2, 2, 2, 5), 3, (1, 1, 3)),
    ):
        inputs = {"value": floats(*shape), "size_splits": Fixed(*sizes), "axis": one(axis)}
        yield "SplitV", {**inputs, "num_split": len(sizes)}
    for shape, axis in (
        ((3,), 0),
        ((3, 4, 5), 1),
        ((2, 50), 0),
        ((2, 3, 4), -1),
        ((1, 2, 3, 2), 2),
        ((4, 1), 1),
    ):
        yield "Unpack", {"value": floats(*shape), "num": shape[axis], "axis": axis}
    yield "Unpack", {"value": integers(9, 3, 4), "num": 3, "axis": 0}


def joins() -> Iterator[Case]:
    joined: tuple[tuple[int, list[Shape]], ...] = (
        (0, [(2,), (3,)]),
        (1, [(2, 3), (2, 2)]),
        (0, [(2, 3), (1, 3), (4, 3)]),
        (-1, [(2, 3, 4), (2, 3, 1)]),
        (2, [(2, 1, 2, 3), (2, 1, 4, 3)]),
        (3, [(1, 2, 1, 2, 2), (1, 2, 1, 3, 2)]),
        (4, [(1, 2, 1, 2, 2, 2), (1, 2, 1, 2, 3, 2)]),
        (0, [(n,) for n in range(1, 20)]),
        (1, [(2, 1)] * 33),
    )
    for axis, shapes in joined:
        yield "ConcatV2", {"values": [floats(*shape) for shape in shapes], "axis": one(axis)}
    yield "ConcatV2", {"values": [between(0, 9, 2, 3), between(0, 9, 2, 1)], "axis": one(1)}
    yield "ConcatV2", {"values": [booleans(2, 3), booleans(2, 1)], "axis": one(1)}
    for shape, axis, count in (
        ((), 0, 3),
        ((4,), 0, 2),
        ((4,), 1, 2),
        ((2, 3), 1, 2),
        ((2, 3), -1, 5),
        ((2, 1, 2, 2), 2, 3),
        ((2, 3), 0, 1),
        ((3,), 0, 20),
    ):
        yield "Pack", {"values": [np.asarray(floats(*shape)) for _ in range(count)], "axis": axis}
    yield "Pack", {"values": [between(0, 9, 3), between(0, 9, 3)], "axis": 0}
