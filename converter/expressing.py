"""Keras' functions in terms of ops that every backend has, and that are cheap to differentiate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf
from keras.src.backend.tensorflow import nn as keras_nn

from converter.normalizing import short_gradients
from converter.patching import replaced


def gelu(x: Any, approximate: bool = True) -> Any:
    """Gaussian error linear unit (Hendrycks and Gimpel 2016): x times the normal distribution at x."""
    return _gelu_of_tanh(tf.convert_to_tensor(x)) if approximate else _gelu(tf.convert_to_tensor(x))


@tf.custom_gradient  # type: ignore[untyped-decorator]
def _gelu(x: Any) -> Any:
    share = 0.5 * tf.math.erfc(x * -math.sqrt(0.5))

    def gradient(upstream: Any) -> Any:
        density = tf.exp(-0.5 * tf.square(x)) * (1.0 / math.sqrt(2.0 * math.pi))
        return upstream * (share + x * density)

    return x * share, gradient


@tf.custom_gradient  # type: ignore[untyped-decorator]
def _gelu_of_tanh(x: Any) -> Any:
    square, factor = tf.square(x), math.sqrt(2.0 / math.pi)
    share = 0.5 + 0.5 * tf.tanh(x * (factor + (0.044715 * factor) * square))

    def gradient(upstream: Any) -> Any:
        # d tanh = 1 - tanh^2 = 4 share (1 - share)
        slope = x * (2.0 * share * (1.0 - share)) * (factor + (3.0 * 0.044715 * factor) * square)
        return upstream * (share + slope)

    return x * share, gradient


@contextmanager
def expressible() -> Iterator[None]:
    """While open, Keras' layers are traced with the functions above."""
    with replaced(keras_nn, {"gelu": gelu}), short_gradients():
        yield
