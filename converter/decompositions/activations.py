"""Activations with short gradients, or without the ops that some backends lack."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tensorflow as tf


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


def sparsemax(x: Any, axis: int = -1) -> Any:
    """Replaces Keras' `sparsemax` (Martins and Astudillo 2016, alg. 1) by comparisons, without a sort.

    Keras 3.15 uses the sum of the cumulative sums over the support instead of the last one; this function
    matches it.
    """
    rank = len(x.shape)
    order = [a for a in range(rank) if a != axis % rank] + [axis % rank]
    transposed = tf.transpose(x, order)
    values, others = transposed[..., :, None], transposed[..., None, :]
    # Equal values are ordered by position.
    earlier = tf.constant(np.tri(transposed.shape[-1], dtype=np.float32))
    ahead = tf.cast(others > values, tf.float32) + tf.cast(tf.equal(others, values), tf.float32) * earlier
    rank_in_order, total = tf.reduce_sum(ahead, -1), tf.reduce_sum(others * ahead, -1)
    support = tf.cast(transposed - (total - 1.0) / rank_in_order > 0.0, tf.float32)
    size = tf.reduce_sum(support, -1, keepdims=True)
    threshold = (tf.reduce_sum(total * support, -1, keepdims=True) - 1.0) / size
    return tf.transpose(tf.maximum(transposed - threshold, 0.0), [order.index(a) for a in range(rank)])
