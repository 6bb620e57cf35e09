"""What a case is, and the numbers it is made of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

Shape = tuple[int, ...]

Case = tuple[str, dict[str, Any]]
"""An op of TensorFlow and its arguments by the names of `tf.raw_ops`: arrays (or lists of arrays) are fed,
`Fixed` ones are constants of the graph, everything else is an attribute."""

Family = Callable[[], Iterator[Case]]


class Fixed:
    """An input that is a constant of the graph: a shape, an axis, a padding."""

    def __init__(self, *values: Any, dtype: str = "int32") -> None:
        self.array: Array = np.array(values, dtype)


def one(value: float, dtype: str = "int32") -> Fixed:
    """A constant scalar."""
    fixed = Fixed(dtype=dtype)
    fixed.array = np.array(value, dtype)
    return fixed


class Cast:
    """A float32 input that the graph makes of an array of whole numbers or booleans by its own Cast."""

    def __init__(self, array: Array) -> None:
        self.array = array


class _Numbers:
    """Owns the generator, so that every family starts from the same seed."""

    generator = np.random.default_rng(4)


def start_anew() -> None:
    """Before a family is made: its numbers don't depend on which families came before."""
    _Numbers.generator = np.random.default_rng(4)


def chance() -> np.random.Generator:
    """The generator of this family."""
    return _Numbers.generator


def floats(*shape: int) -> Array:
    """Normally distributed float32 numbers."""
    return chance().normal(0.0, 1.0, shape).astype(np.float32)


def positive(*shape: int) -> Array:
    """Float32 numbers above 0.1."""
    return (np.abs(floats(*shape)) + 0.1).astype(np.float32)


def within(low: float, high: float, *shape: int) -> Array:
    """Float32 numbers in [low, high)."""
    return chance().uniform(low, high, shape).astype(np.float32)


def integers(high: int, *shape: int) -> Array:
    """Int32 numbers in [0, high)."""
    return chance().integers(0, high, shape).astype(np.int32)


def between(low: int, high: int, *shape: int) -> Array:
    """Int32 numbers in [low, high)."""
    return chance().integers(low, high, shape).astype(np.int32)


def steps(*shape: int) -> Array:
    """Float32 numbers with many ties: whole numbers from -2 to 2."""
    return between(-2, 3, *shape).astype(np.float32)


def booleans(*shape: int) -> Array:
    """True and false, evenly."""
    return chance().integers(0, 2, shape).astype(bool)


def values(*numbers: float) -> Array:
    """A float32 vector of the given numbers."""
    return np.array(numbers, np.float32)
