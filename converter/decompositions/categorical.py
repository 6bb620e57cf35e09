"""Computes bins and counts by comparison, and branches by selecting one of both results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from keras import tree

from converter.refusal import Refusal


def digitize(x: Any, bins: Any) -> Any:
    """Replaces `numpy.digitize`: counts the ascending boundaries that are at most the value, int32."""
    boundaries = tf.constant([float(boundary) for boundary in bins], tf.float32)
    above = tf.cast(x, tf.float32)[..., None] >= boundaries
    return tf.reduce_sum(tf.cast(above, tf.int32), -1)


def encode_categories(
    inputs: Any,
    output_mode: str,
    depth: int,
    dtype: str = "float32",
    sparse: bool = False,
    count_weights: Any = None,
    **_: Any,
) -> Any:
    """Replaces Keras' multi-hot and count encodings: class numbers [B, n] or [n] to [B, depth] or [depth]."""
    del sparse
    hot = tf.one_hot(tf.cast(inputs, tf.int32), depth, dtype=tf.float32)
    if output_mode == "multi_hot":
        return tf.cast(tf.reduce_max(hot, -2), dtype)
    if count_weights is not None:
        hot = hot * tf.cast(count_weights, tf.float32)[..., None]
    return tf.cast(tf.reduce_sum(hot, -2), dtype)


def signbit(x: Any) -> Any:
    """Replaces Keras' signbit, by which argmax tells 0 from -0: 1 / -0 is -infinity."""
    x = tf.convert_to_tensor(x)
    if not x.dtype.is_floating:
        return tf.zeros_like(x) if x.dtype == tf.bool else x < 0
    return tf.where(tf.equal(x, 0.0), 1.0 / x, x) < 0.0


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any]) -> Any:
    """Replaces Keras' `cond`: runs the branch if it is static, else computes both and selects one."""
    static = pred if isinstance(pred, bool) else tf.get_static_value(tf.convert_to_tensor(pred))
    if static is not None:
        return true_fn() if bool(static) else false_fn()
    yes, no = true_fn(), false_fn()
    if any(item is None for item in tree.flatten([yes, no])):
        raise Refusal(
            "A layer does something in one branch only; use layers that compute the same in every step."
        )
    return tree.map_structure(lambda a, b: tf.where(pred, a, b), yes, no)
