"""Turns a model's random draws into inputs of its graph (docs/decisions/0002-random-inputs.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import tensorflow as tf
from keras.src.backend.tensorflow import random as keras_random

from converter.refusal import Refusal
from converter.tracing.attribute_patch import patched_attributes

REFUSED_DRAWS = ("categorical", "truncated_normal", "shuffle", "gamma", "binomial", "beta")


class Draws:
    """Collects the draws of one trace; each is a placeholder `random_k` of uniform numbers in [0, 1)."""

    def __init__(self) -> None:
        self.placeholders: list[Any] = []

    def uniform(
        self, shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None
    ) -> Any:
        del dtype, seed
        return minval + (maxval - minval) * self._draw(shape)

    def normal(
        self, shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None
    ) -> Any:
        """Makes normal numbers from two uniforms (Box and Muller 1958); 1 - u keeps the logarithm finite."""
        del dtype, seed
        radius = tf.sqrt(-2.0 * tf.math.log(1.0 - self._draw(shape)))
        return mean + stddev * radius * tf.cos(2.0 * math.pi * self._draw(shape))

    def randint(self, shape: Any, minval: Any, maxval: Any, dtype: Any = "int32", seed: Any = None) -> Any:
        """Draws whole numbers from `minval` to below `maxval`."""
        del seed
        span = tf.cast(maxval, tf.float32) - tf.cast(minval, tf.float32)
        # A product just below `span` may be rounded up to it.
        steps = tf.minimum(tf.floor(self._draw(shape) * span), span - 1.0)
        return tf.cast(steps + tf.cast(minval, tf.float32), dtype or "int32")

    def dropout(self, inputs: Any, rate: float, noise_shape: Any = None, seed: Any = None) -> Any:
        """Applies inverted dropout as TensorFlow does: keeps elements whose number is at least `rate`."""
        del seed
        if rate == 0.0:
            return inputs
        if rate == 1.0:
            return tf.zeros_like(inputs)
        shape = inputs.shape if noise_shape is None else noise_shape
        shape = [own if size is None else size for own, size in zip(inputs.shape, shape, strict=True)]
        mask = tf.cast(self._draw(shape) >= rate, inputs.dtype)
        return inputs * (1.0 / (1.0 - rate)) * mask

    def _draw(self, shape: Any) -> Any:
        static = tf.get_static_value(tf.convert_to_tensor(shape, tf.int32))
        if static is None:
            raise Refusal("A layer draws random numbers of a shape that is not fixed; give every dimension.")
        name = f"random_{len(self.placeholders)}"
        # At the root scope the input's name does not depend on the layer; with / it is taken as it stands.
        with tf.compat.v1.get_default_graph().name_scope(None):
            placeholder = tf.compat.v1.placeholder(tf.float32, [int(n) for n in static], f"{name}/")
        self.placeholders.append(placeholder)
        return placeholder


class Means:
    """Replaces every draw outside training by its mean, so that an evaluation is repeatable."""

    def uniform(
        self, shape: Any, minval: float = 0.0, maxval: float = 1.0, dtype: Any = None, seed: Any = None
    ) -> Any:
        del dtype, seed
        return tf.zeros(shape) + 0.5 * (minval + maxval)

    def normal(
        self, shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None
    ) -> Any:
        del stddev, dtype, seed
        return tf.zeros(shape) + mean

    def randint(self, shape: Any, minval: Any, maxval: Any, dtype: Any = "int32", seed: Any = None) -> Any:
        del seed
        return tf.zeros(shape, dtype or "int32") + tf.cast((minval + maxval - 1) // 2, dtype or "int32")

    def dropout(self, inputs: Any, rate: float, noise_shape: Any = None, seed: Any = None) -> Any:
        del rate, noise_shape, seed
        return inputs


def _refuse(kind: str) -> Callable[..., NoReturn]:
    def draw(*args: Any, **kwargs: Any) -> NoReturn:
        del args, kwargs
        raise Refusal(
            f"A layer draws {kind} random numbers, which not every backend can repeat; "
            "use Dropout or GaussianNoise."
        )

    return draw


@contextmanager
def captured_draws() -> Iterator[Draws]:
    """While open, every draw through Keras' random backend becomes an input of the traced graph."""
    draws = Draws()
    with patched_attributes(keras_random, _replacements(draws)):
        yield draws


@contextmanager
def mean_draws() -> Iterator[None]:
    """While open, every draw through Keras' random backend is replaced by its mean."""
    with patched_attributes(keras_random, _replacements(Means())):
        yield


def _replacements(draws: Draws | Means) -> dict[str, Callable[..., Any]]:
    refused: dict[str, Callable[..., Any]] = {kind: _refuse(kind) for kind in REFUSED_DRAWS}
    return refused | {
        "uniform": draws.uniform,
        "normal": draws.normal,
        "randint": draws.randint,
        "dropout": draws.dropout,
    }
