"""Makes values of inputs and labels, from a generator and the shape of an input or output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Values = Callable[[np.random.Generator, tuple[int, ...]], Array]


def numbers(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Normal float32 numbers."""
    return generator.normal(0.0, 1.0, shape).astype(np.float32)


def fractions(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """float32 numbers in [0, 1)."""
    return generator.uniform(0.0, 1.0, shape).astype(np.float32)


def levels(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Whole float32 numbers from 0 to 255, as in images."""
    return generator.integers(0, 256, shape).astype(np.float32)


def counts(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Whole, not negative float32 numbers."""
    return generator.poisson(2.0, shape).astype(np.float32)


def zeros(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Labels of an output that is itself a loss."""
    return np.zeros(shape, np.float32)


def events(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """0.0 or 1.0, each on its own."""
    return generator.integers(0, 2, shape).astype(np.float32)


def one_hot(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A single 1.0 along the last axis."""
    return np.eye(shape[-1], dtype=np.float32)[generator.integers(0, shape[-1], shape[:-1])]


def class_numbers(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """int32 labels for outputs of `shape`, whose last axis is the classes."""
    return generator.integers(0, shape[-1], shape[:-1]).astype(np.int32)


def tokens(vocabulary: int, lowest: int = 0) -> Values:
    """int32 token ids from `lowest` to below `vocabulary`; `lowest` = 0 may be masked."""

    def values(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
        return generator.integers(lowest, vocabulary, shape).astype(np.int32)

    return values


def sentences(vocabulary: int) -> Values:
    """int32 token ids from 1, filled up with 0 after a length of at least two."""

    def values(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
        ids = generator.integers(1, vocabulary, shape).astype(np.int32)
        lengths = generator.integers(2, shape[1] + 1, shape[0])
        ids[np.arange(shape[1]) >= lengths[:, None]] = 0
        return ids

    return values
