"""Ops that only some models need: angles, ranks of values, updates of single places."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from tests.conformance.ops.case import (
    Array,
    Case,
    Fixed,
    Shape,
    between,
    chance,
    floats,
    integers,
    one,
    positive,
    steps,
    values,
    within,
)

SHAPES: tuple[Shape, ...] = ((), (7,), (3, 5), (2, 3, 4), (2, 1, 2, 2, 3))
RANGES = {
    "Acos": (-0.99, 0.99),
    "Acosh": (1.05, 9.0),
    "Asin": (-0.99, 0.99),
    "Asinh": (-9.0, 9.0),
    "Atan": (-9.0, 9.0),
    "Atanh": (-0.95, 0.95),
    "Cosh": (-4.0, 4.0),
    "Round": (-9.0, 9.0),
    "Sinh": (-4.0, 4.0),
    "Tan": (-1.4, 1.4),
}


def functions() -> Iterator[Case]:
    for op, (low, high) in RANGES.items():
        for shape in SHAPES:
            yield op, {"x": np.asarray(within(low, high, *shape), np.float32)}
    yield "Round", {"x": values(0.5, 1.5, 2.5, -0.5, -1.5, 3.49, 0.0, -7.0)}
    for shape in SHAPES:
        yield "Atan2", {"y": floats(*shape), "x": floats(*shape)}
        for op in ("Xlogy", "Xdivy"):
            yield op, {"x": floats(*shape), "y": positive(*shape)}
        yield "L2Loss", {"t": floats(*shape)}
    yield "Atan2", {"y": floats(3, 4), "x": floats(4)}
    for op in ("Xlogy", "Xdivy"):
        yield op, {"x": values(0.0, 0.0, 2.0, -1.0), "y": values(0.0, 3.0, 0.5, 1.0)}
        yield op, {"x": floats(3, 1), "y": positive(4)}
    odd = values(1.0, np.nan, np.inf, -np.inf, 0.0, -3e38)
    for op in ("IsNan", "IsInf", "IsFinite"):
        yield op, {"x": odd}
        yield op, {"x": floats(2, 3)}


def order() -> Iterator[Case]:
    shape: Shape
    for shape, k in (((5,), 2), ((3, 6), 1), ((3, 6), 6), ((2, 3, 9), 4), ((2, 130), 5)):
        for x in (floats(*shape), steps(*shape)):
            yield "TopKV2", {"input": x, "k": one(k), "sorted": True}
    for k in (1, 2, 5):
        targets = integers(6, 8)
        yield "InTopKV2", {"predictions": floats(8, 6), "targets": targets, "k": one(k)}
        yield "InTopKV2", {"predictions": steps(8, 6), "targets": targets, "k": one(k)}
    boundaries = [-1.0, 0.0, 0.5, 2.0]
    for shape in SHAPES:
        yield "Bucketize", {"input": np.asarray(2 * floats(*shape)), "boundaries": boundaries}
    yield "Bucketize", {"input": values(-1.0, 0.0, 0.5, 2.0, 9.0), "boundaries": boundaries}
    yield "Bucketize", {"input": between(-3, 4, 6), "boundaries": boundaries}
    empty = Fixed(dtype="float32")
    for binary in (False, True):
        for size_of in ((7,), (3, 5)):
            inputs = {"input": integers(6, *size_of), "size": one(6), "weights": empty}
            yield "DenseBincount", {**inputs, "binary_output": binary}


def products() -> Iterator[Case]:
    for exclusive, reverse in product((False, True), repeat=2):
        for shape in ((5,), (3, 4), (2, 3, 4)):
            for axis in range(-1, len(shape)):
                flags = {"exclusive": exclusive, "reverse": reverse}
                yield "Cumprod", {"x": floats(*shape), "axis": one(axis), **flags}


def updates() -> Iterator[Case]:
    for shape, places in (((6,), (3, 1)), ((6, 4), (3, 1)), ((6, 4), (5, 2)), ((4, 3, 2), (3, 1))):
        sizes = shape[: places[1]]
        # No place twice: which of two updates wins is not defined.
        flat = chance().permutation(int(np.prod(sizes)))[: places[0]]
        indices: Array = np.stack(np.unravel_index(flat, sizes), axis=-1).astype(np.int32)
        new = floats(len(indices), *shape[places[1] :])
        for op in ("TensorScatterAdd", "TensorScatterUpdate"):
            yield op, {"tensor": floats(*shape), "indices": indices, "updates": new}
    repeated = Fixed((1,), (1,), (0,)).array
    yield "TensorScatterAdd", {"tensor": floats(3, 2), "indices": repeated, "updates": floats(3, 2)}
    for shape, shift, axis in (((5,), 2, 0), ((3, 4), -1, 1), ((3, 4), 5, 0), ((2, 3, 4), 1, 2)):
        yield "Roll", {"input": floats(*shape), "shift": one(shift), "axis": one(axis)}
    yield "Roll", {"input": floats(3, 4), "shift": Fixed(1, -1), "axis": Fixed(0, 1)}
    yield "Roll", {"input": integers(9, 3, 4), "shift": one(1), "axis": one(1)}
    for low, high in ((0, 0), (-1, 0), (0, -1), (1, 2), (2, 0)):
        for shape in ((4, 4), (3, 5), (2, 4, 3)):
            bands = {"num_lower": one(low), "num_upper": one(high)}
            yield "MatrixBandPart", {"input": floats(*shape), **bands}
    for axis, batch in ((1, 0), (2, 0)):
        lengths = np.array([2, 0, 3], np.int32)
        inputs = {"input": floats(3, 3, 4), "seq_lengths": lengths, "seq_dim": axis, "batch_dim": batch}
        yield "ReverseSequence", inputs
    for x in (floats(2, 3), between(-9, 9, 4), floats()):
        yield "Add", {"x": np.asarray(x), "y": np.asarray(x)}
