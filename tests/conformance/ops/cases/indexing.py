"""Gathering, scattering, segments and one-hot vectors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

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


def gathers() -> Iterator[Case]:
    params: Shape
    indices: Shape
    for params, indices, axis in (
        ((6,), (4,), 0),
        ((6,), (), 0),
        ((6, 4), (2, 3), 0),
        ((6, 4), (5,), 1),
        ((6, 4), (), 1),
        ((3, 6, 4), (5,), 1),
        ((3, 6, 4), (2, 2), -1),
        ((2, 3, 2, 5), (3,), 2),
        ((2, 3, 2, 5), (3, 2), 3),
        ((50, 3), (7, 9), 0),
        ((1, 3), (4,), 0),
    ):
        picks = np.asarray(integers(params[axis], *indices), np.int32)
        yield "GatherV2", {"params": floats(*params), "indices": picks, "axis": one(axis)}
        yield "GatherV2", {"params": integers(99, *params), "indices": picks, "axis": one(axis)}
    yield "GatherV2", {"params": booleans(6, 2), "indices": integers(6, 4), "axis": one(0)}
    for params, indices, axis, batch in (
        ((3, 6, 4), (3, 2), 1, 1),
        ((3, 6), (3, 2), 1, 1),
        ((2, 3, 5), (2, 3, 2), 2, 2),
        ((2, 4, 5), (2, 3), 2, 1),
    ):
        picks = integers(params[axis], *indices)
        batched = {"indices": picks, "axis": one(axis), "batch_dims": batch}
        yield "GatherV2", {"params": floats(*params), **batched}
    for params, indices in (
        ((4,), (6, 1)),
        ((4, 5), (6, 2)),
        ((4, 5), (6, 1)),
        ((4, 5, 3), (2, 3, 2)),
        ((4, 5, 3), (2, 3)),
        ((2, 3, 2, 3), (5, 4)),
    ):
        yield "GatherNd", {"params": floats(*params), "indices": _places(params, indices)}
        yield "GatherNd", {"params": integers(99, *params), "indices": _places(params, indices)}


def _places(shape: tuple[int, ...], indices: tuple[int, ...]) -> Array:
    """Rows of indices into the first axes of `shape`."""
    columns = [chance().integers(0, shape[i], indices[:-1]) for i in range(indices[-1])]
    return np.stack(columns, axis=-1).astype(np.int32)


def scatters() -> Iterator[Case]:
    for shape, indices in (
        ((6,), (3, 1)),
        ((6, 4), (3, 1)),
        ((6, 4), (5, 2)),
        ((4, 3, 2), (5, 1)),
        ((4, 3, 2), (7, 3)),
        ((4, 3), (2, 3, 2)),
        # Several updates of one place add up.
        ((2,), (9, 1)),
        ((2, 3), (7, 1)),
        ((1, 1), (4, 2)),
    ):
        updates = floats(*indices[:-1], *shape[indices[-1] :])
        yield "ScatterNd", {"indices": _places(shape, indices), "updates": updates, "shape": Fixed(*shape)}
    places: Array = np.array([[3], [0], [5]], np.int32)
    yield "ScatterNd", {"indices": places, "updates": integers(9, 3, 4), "shape": Fixed(6, 4)}


def segments() -> Iterator[Case]:
    for data, ids, count in (
        ((6, 4), (6,), 4),
        ((6,), (6,), 3),
        ((2, 3, 4), (2, 3), 5),
        ((2, 3), (2, 3), 4),
        ((2, 3, 2, 2), (2,), 3),
        ((40, 3), (40,), 2),
        ((3, 2), (3,), 9),
        ((5, 17), (5,), 3),
        ((2, 3, 2), (2, 3, 2), 3),
    ):
        for numbers in (integers(count, *ids), between(-1, count, *ids), np.zeros(ids, np.int32)):
            inputs = {"data": floats(*data), "segment_ids": np.asarray(numbers, np.int32)}
            yield "UnsortedSegmentSum", {**inputs, "num_segments": one(count)}
    inputs = {"data": integers(9, 6, 2), "segment_ids": integers(3, 6)}
    yield "UnsortedSegmentSum", {**inputs, "num_segments": one(3)}


def one_hots() -> Iterator[Case]:
    for shape in ((4,), (), (2, 3), (2, 2, 3)):
        for depth in (1, 5):
            for on, off in ((1.0, 0.0), (2.0, -1.0)):
                inputs = {"indices": np.asarray(between(-1, 6, *shape), np.int32), "depth": one(depth)}
                ends = {"on_value": one(on, "float32"), "off_value": one(off, "float32")}
                yield "OneHot", {**inputs, **ends}
    for axis in (0, 1, 2, -1):
        inputs = {"indices": integers(4, 2, 3), "depth": one(4), "axis": axis}
        yield "OneHot", {**inputs, "on_value": one(1.0, "float32"), "off_value": one(0.0, "float32")}
    inputs = {"indices": integers(4, 5), "depth": one(4)}
    yield "OneHot", {**inputs, "on_value": one(1), "off_value": one(0)}
    yield "OneHot", {**inputs, "on_value": one(3), "off_value": one(-2)}
    yield "OneHot", {**inputs, "on_value": one(1, "bool"), "off_value": one(0, "bool")}
