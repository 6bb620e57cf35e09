"""Ops that shrink an axis or run along one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations

import numpy as np
import tensorflow as tf

from tests.conformance.ops.case import Array, Case, Fixed, between, booleans, floats, one, steps, values

SHAPES = ((), (5,), (3, 4), (2, 3, 4), (2, 3, 2, 3))


def _axis_sets(rank: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(rank), size) for size in range(rank + 1)))


def reductions() -> Iterator[Case]:
    for op in ("Sum", "Mean", "Max", "Min", "Prod"):
        for shape in SHAPES:
            for i, axes in enumerate(_axis_sets(len(shape))):
                x = np.asarray(floats(*shape), np.float32)
                yield op, {"input": x, "axis": Fixed(*axes), "keep_dims": i % 2 == 1}
        for axis in (0, 1, 2, -1, -2):
            yield op, {"input": floats(2, 3, 4), "axis": one(axis), "keep_dims": axis < 0}
        yield op, {"input": floats(2, 3, 4), "axis": Fixed(-1, 0), "keep_dims": False}
        yield op, {"input": floats(2, 3, 4), "axis": Fixed(-1, -2), "keep_dims": True}
        for axes in ((0, 5), (1, 2, 4), (0, 1, 2, 3, 4, 5)):
            yield op, {"input": floats(2, 1, 2, 2, 1, 3), "axis": Fixed(*axes), "keep_dims": len(axes) == 3}
        # The gradient of repeating along five axes.
        for keep in (False, True):
            deep = floats(1, 2, 2, 3, 2, 2, 2, 1, 3, 1)
            yield op, {"input": deep, "axis": Fixed(0, 2, 4, 6, 8), "keep_dims": keep}
        for shape, axes in (((300,), (0,)), ((3, 1025), (1,)), ((129, 5), (0,)), ((33, 2, 40), (0, 2))):
            yield op, {"input": 0.5 + 0.1 * floats(*shape), "axis": Fixed(*axes), "keep_dims": False}
    for op in ("Sum", "Max", "Min", "Prod"):
        for axes in ((0,), (1,), (0, 1)):
            yield op, {"input": between(-4, 5, 3, 4), "axis": Fixed(*axes), "keep_dims": False}
    for op in ("Max", "Min"):
        yield op, {"input": -10 - np.abs(floats(3, 7)), "axis": Fixed(1), "keep_dims": False}
        yield op, {"input": 10 + np.abs(floats(3, 7)), "axis": Fixed(1), "keep_dims": False}
        yield op, {"input": values(-3e38, -1e30, -1e38), "axis": Fixed(0), "keep_dims": False}
        yield op, {"input": between(2**24, 2**25, 3, 5), "axis": Fixed(1), "keep_dims": False}
    for op in ("All", "Any"):
        for shape in SHAPES[1:]:
            for i, axes in enumerate(_axis_sets(len(shape))):
                truths = np.asarray(booleans(*shape)) | (op == "All")
                yield op, {"input": truths, "axis": Fixed(*axes), "keep_dims": i % 2 == 1}
        yield op, {"input": booleans(3, 4), "axis": Fixed(1)}


def places() -> Iterator[Case]:
    for op in ("ArgMax", "ArgMin"):
        for shape in SHAPES[1:]:
            for axis in range(-1, len(shape)):
                kind = tf.int64 if axis == 0 else tf.int32
                yield op, {"input": floats(*shape), "dimension": one(axis), "output_type": kind}
                # Of equal values the first one counts.
                yield op, {"input": steps(*shape), "dimension": one(axis), "output_type": kind}
        for x in (np.zeros((2, 9), np.float32), steps(4, 300), -5 - np.abs(floats(3, 40))):
            yield op, {"input": x, "dimension": one(1), "output_type": tf.int32}
        yield op, {"input": between(-5, 5, 3, 6), "dimension": one(1), "output_type": tf.int32}


def running() -> Iterator[Case]:
    for exclusive in (False, True):
        for reverse in (False, True):
            flags = {"exclusive": exclusive, "reverse": reverse}
            for shape in ((5,), (3, 4), (2, 3, 4), (2, 2, 3, 2)):
                for axis in range(-1, len(shape)):
                    yield "Cumsum", {"x": floats(*shape), "axis": one(axis), **flags}
            yield "Cumsum", {"x": between(-9, 9, 3, 4), "axis": one(1), **flags}
            yield "Cumsum", {"x": floats(2, 70), "axis": one(1), **flags}
            yield "Cumsum", {"x": floats(4, 1), "axis": one(1), **flags}


def distributions() -> Iterator[Case]:
    for op in ("Softmax", "LogSoftmax"):
        for shape in ((3, 5), (1, 1), (7, 1), (2, 3, 4), (2, 2, 3, 4), (2, 2, 2, 2, 3), (5, 300), (5,)):
            yield op, {"logits": np.asarray(3 * floats(*shape))}
        yield op, {"logits": _wide()}
        # Attention masks; the second row sees nothing. A logarithm below all that matters may be cut.
        masked = floats(3, 4)
        masked[0, 1:3] = masked[1] = np.finfo(np.float32).min if op == "Softmax" else -1e9
        yield op, {"logits": masked}
    for classes in (1, 2, 5, 40):
        labels = np.asarray(between(0, classes, 6))
        yield "SparseSoftmaxCrossEntropyWithLogits", {"features": 3 * floats(6, classes), "labels": labels}
        soft = np.abs(floats(6, classes)) + np.float32(0.1)
        soft /= soft.sum(axis=1, keepdims=True)
        yield "SoftmaxCrossEntropyWithLogits", {"features": 3 * floats(6, classes), "labels": soft}
    wide = _wide()
    picks = np.array([0, 1, 2, 3], np.int32)
    yield "SparseSoftmaxCrossEntropyWithLogits", {"features": wide, "labels": picks}
    yield "SoftmaxCrossEntropyWithLogits", {"features": wide, "labels": np.eye(4, dtype=np.float32)}
    # Labels need not sum to one: Keras multiplies them by weights.
    yield "SoftmaxCrossEntropyWithLogits", {"features": floats(3, 4), "labels": np.abs(floats(3, 4))}
    yield "SoftmaxCrossEntropyWithLogits", {"features": floats(3, 4), "labels": np.zeros((3, 4), np.float32)}


def _wide() -> Array:
    """Rows of logits that overflow a naive exponential, and masked ones as attention has them."""
    rows = [
        [100.0, -100.0, 0.0, 50.0],
        [-1e9, 1.0, 2.0, -1e9],
        [88.0, 89.0, 90.0, 91.0],
        [1e4, -1e4, 1e4, 9e3],
    ]
    return np.array(rows, np.float32)
