"""Ops of two or three tensors with broadcasting."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from tests.conformance.ops.case import (
    Array,
    Case,
    between,
    booleans,
    chance,
    floats,
    positive,
    steps,
    values,
)

Shape = tuple[int, ...]

ARITHMETIC = ("AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference")
COMPARISONS = ("Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual")


def _patterns(sizes: Shape) -> list[tuple[Shape, Shape]]:
    """Every way in which two tensors of one rank can share or stretch axes."""
    choices = [((size, size), (1, size), (size, 1)) for size in sizes]
    return [(tuple(a for a, _ in axes), tuple(b for _, b in axes)) for axes in product(*choices)]


DEEP: tuple[tuple[Shape, Shape], ...] = (
    ((2, 1, 3, 2), (2, 1, 2)),
    ((1, 2, 1, 3, 2), (2, 2, 1, 3, 1)),
    ((2, 1, 2, 2, 2, 3), (1, 2, 2, 2, 1, 3)),
    ((2, 2, 1, 2, 2, 1), (2,)),
    ((3,), (2, 1, 2, 1, 2, 3)),
)
FEW: tuple[tuple[Shape, Shape], ...] = (
    ((), ()),
    ((), (3, 4)),
    ((3, 4), ()),
    ((3, 4), (3, 4)),
    ((2, 3, 4), (4,)),
    ((3, 1), (2, 3, 4)),
    ((2, 1, 4), (3, 1)),
    ((300,), (1,)),
    *DEEP,
)
ALL = (*FEW, *_patterns((2, 3, 4)))


def _normal(shape: Shape) -> Array:
    return np.asarray(chance().normal(0.0, 1.0, shape), np.float32)


def _far_from_zero(shape: Shape) -> Array:
    return np.asarray(positive(*shape) * np.where(booleans(*shape), 1, -1), np.float32)


def arithmetic() -> Iterator[Case]:
    for op in ARITHMETIC:
        for x, y in ALL if op in ("AddV2", "Mul") else FEW:
            yield op, {"x": _normal(x), "y": _far_from_zero(y)}
    for op in ("AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference"):
        for x, y in FEW[:8]:
            yield op, {"x": _whole(x), "y": _whole(y)}
    huge = values(0.0, -0.0, 1e30, -1e30, 1e-30, 3e38)
    for op in ("AddV2", "Sub", "Maximum", "Minimum"):
        yield op, {"x": huge, "y": values(1.0, 0.0, 1e30, 1e30, -1e-30, -3e38)}
    yield "RealDiv", {"x": values(1.0, -1.0, 0.0, 1e30), "y": values(0.0, 0.0, 5.0, 1e-5)}
    yield "Mul", {"x": values(1e-20, 1e20, 3e38), "y": values(1e20, 1e10, 10.0)}
    for count in (1, 2, 3, 7, 8, 9, 10, 17, 40):
        yield "AddN", {"inputs": [floats(3, 4) for _ in range(count)]}
    yield "AddN", {"inputs": [between(-9, 9, 5), between(-9, 9, 5)]}
    yield "DivNoNan", {"x": floats(4), "y": values(1, 0, 2, 0)}
    yield "DivNoNan", {"x": values(0.0, 0.0, 1e30, -1.0), "y": values(0.0, -0.0, 1e-5, 1e-30)}
    for x, y in FEW:
        yield "DivNoNan", {"x": _normal(x), "y": _far_from_zero(y)}


def powers() -> Iterator[Case]:
    for x, y in FEW:
        yield "Pow", {"x": np.asarray(positive(*x), np.float32), "y": _normal(y)}
    yield "Pow", {"x": floats(6), "y": values(2.0, 3.0, 1.0, 0.0, -1.0, -2.0)}
    yield "Pow", {"x": values(0.0, 0.0, 0.0, -0.0, 1.0), "y": values(0.0, 1.0, 2.0, 3.0, 30.0)}
    yield "Pow", {"x": floats(3, 4), "y": values(2.0)}
    yield "Pow", {"x": between(-4, 5, 6), "y": np.array([0, 1, 2, 3, 4, 2], np.int32)}


def divisions() -> Iterator[Case]:
    for op in ("FloorDiv", "FloorMod"):
        for x, y in FEW:
            yield op, {"x": 5 * _normal(x), "y": _far_from_zero(y)}
            divisor = np.asarray(between(1, 5, *y) * np.where(booleans(*y), 1, -1), np.int32)
            yield op, {"x": _whole(x), "y": divisor}
        yield op, {"x": values(6, -6, 6, -6, 7, -7, 7, -7), "y": values(3, 3, -3, -3, 4, 4, -4, -4)}
        signs = np.array([6, -6, 6, -6, 7, -7, 7, -7], np.int32)
        yield op, {"x": signs, "y": np.array([3, 3, -3, -3, 4, 4, -4, -4], np.int32)}
        yield op, {"x": between(2**20, 2**24, 8), "y": between(1, 1000, 8)}


def _whole(shape: Shape) -> Array:
    return np.asarray(between(-9, 10, *shape), np.int32)


def comparisons() -> Iterator[Case]:
    for op in COMPARISONS:
        for x, y in FEW:
            yield op, {"x": np.asarray(steps(*x)), "y": np.asarray(steps(*y))}
        for x, y in FEW[:8]:
            yield op, {"x": _whole(x), "y": _whole(y)}
        extremes = values(0.0, -0.0, 1e30, -1e30, 1.0)
        yield op, {"x": extremes, "y": values(-0.0, 0.0, 1e30, 1e30, 1.0000001)}
        yield op, {"x": values(*[np.inf, -np.inf, np.inf]), "y": values(*[np.inf, np.inf, 1.0])}
    for op in ("Equal", "NotEqual"):
        for x, y in FEW[:8]:
            yield op, {"x": np.asarray(booleans(*x)), "y": np.asarray(booleans(*y))}
    for op in ("LogicalAnd", "LogicalOr"):
        for x, y in FEW:
            yield op, {"x": np.asarray(booleans(*x)), "y": np.asarray(booleans(*y))}


def choices() -> Iterator[Case]:
    for shape in ((), (4,), (3, 4), (2, 3, 4), (2, 1, 2, 3)):
        condition = np.asarray(booleans(*shape))
        yield "Select", {"condition": condition, "x": _normal(shape), "y": _normal(shape)}
        yield "Select", {"condition": condition, "x": _whole(shape), "y": _whole(shape)}
    yield "Select", {"condition": booleans(3), "x": floats(3, 4), "y": floats(3, 4)}
    yield "Select", {"condition": booleans(3), "x": floats(3, 2, 2), "y": floats(3, 2, 2)}
    yield "Select", {"condition": np.array(True), "x": floats(3, 4), "y": floats(3, 4)}
    triples: tuple[tuple[Shape, Shape, Shape], ...] = (
        ((3, 1), (3, 4), (1, 4)),
        ((3, 4), (), (3, 4)),
        ((3, 4), (3, 4), ()),
        ((), (3, 4), (3, 4)),
        ((4,), (3, 4), (3, 4)),
        ((3, 4), (4,), (3, 1)),
        ((2, 1, 4), (3, 1), (1,)),
        ((2, 3, 1), (2, 3, 4), (4,)),
        ((2, 1, 2, 1), (1, 3, 1, 4), ()),
        ((2, 1, 1, 2, 3), (2, 2, 1, 1, 3), (1, 2, 3)),
    )
    for where, x, y in triples:
        chosen = np.asarray(booleans(*where))
        yield "SelectV2", {"condition": chosen, "t": _normal(x), "e": _normal(y)}
        yield "SelectV2", {"condition": chosen, "t": _whole(x), "e": _whole(y)}
    # A branch that is not taken must not spread its NaN or infinity.
    yield (
        "SelectV2",
        {
            "condition": np.array([True, False, True]),
            "t": values(1, np.nan, 2),
            "e": values(np.inf, 3, -np.inf),
        },
    )
