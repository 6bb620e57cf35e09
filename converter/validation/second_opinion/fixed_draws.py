"""Gives Keras' random layers, run eagerly, the numbers that a bundle's random inputs get."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow as tf
from keras.src.backend.tensorflow import random as keras_random
from numpy.typing import NDArray

from converter.tracing.attribute_patch import patched_attributes


class OtherDrawsError(Exception):
    """Keras drew other random numbers than the bundle: another count or other shapes."""


class FixedDraws:
    """Hands out `uniforms`, arrays of numbers in [0, 1), in order; a short batch gets the first rows."""

    def __init__(self, uniforms: Sequence[NDArray[np.float32]]) -> None:
        self._uniforms, self._next = uniforms, 0

    def check_all_used(self) -> None:
        """Raises OtherDrawsError if an array was left over."""
        if self._next != len(self._uniforms):
            raise OtherDrawsError

    def uniform(
        self, shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None
    ) -> Any:
        del dtype, seed
        return tf.constant(self._draw(shape)) * (maxval - minval) + minval

    def normal(
        self, shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None
    ) -> Any:
        """Makes normal numbers from two uniforms (Box and Muller 1958), in float64."""
        del dtype, seed
        first, second = (self._draw(shape).astype(np.float64) for _ in range(2))
        values = np.sqrt(-2.0 * np.log1p(-first)) * np.cos(2.0 * math.pi * second)
        return tf.constant(values.astype(np.float32)) * stddev + mean

    def randint(self, shape: Any, minval: Any, maxval: Any, dtype: Any = "int32", seed: Any = None) -> Any:
        del seed
        low, high = int(minval), int(maxval)
        numbers = np.minimum(np.floor(self._draw(shape).astype(np.float64) * (high - low)), high - low - 1)
        return tf.cast(tf.constant(numbers + low), dtype or "int32")

    def dropout(self, inputs: Any, rate: float, noise_shape: Any = None, seed: Any = None) -> Any:
        del seed
        if not 0.0 < rate < 1.0:
            return inputs if rate == 0.0 else tf.zeros_like(inputs)
        shape = [
            own if size is None else size
            for own, size in zip(inputs.shape, noise_shape or inputs.shape, strict=True)
        ]
        return tf.where(tf.constant(self._draw(shape)) >= rate, inputs / (1.0 - rate), 0.0)

    def _draw(self, shape: Any) -> NDArray[np.float32]:
        wanted = tuple(int(n) for n in shape)
        if self._next == len(self._uniforms):
            raise OtherDrawsError
        numbers = self._uniforms[self._next]
        self._next += 1
        if numbers.shape[1:] != wanted[1:] or len(numbers.shape) != len(wanted):
            raise OtherDrawsError
        if wanted and numbers.shape[0] < wanted[0]:
            raise OtherDrawsError
        return numbers[: wanted[0]] if wanted else numbers


@contextmanager
def fixed_draws(uniforms: Sequence[NDArray[np.float32]]) -> Iterator[None]:
    """While open, Keras' random backend reads `uniforms`. Raises OtherDrawsError where they do not fit."""
    draws = FixedDraws(uniforms)
    replaced = {name: getattr(draws, name) for name in ("uniform", "normal", "randint", "dropout")}
    with patched_attributes(keras_random, replaced):
        yield
    draws.check_all_used()
