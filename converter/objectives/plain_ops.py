"""Replaces control flow and bit operations in Keras' losses and metrics; bundles hold neither."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import keras
import tensorflow as tf
from keras.src.backend.tensorflow import math as keras_math
from keras.src.backend.tensorflow import numpy as keras_numpy
from keras.src.losses import losses as keras_losses
from keras.src.metrics import iou_metrics, metrics_utils

from converter.tracing.attribute_patch import patched_attributes


@contextmanager
def plain_ops() -> Iterator[None]:
    """While open, Keras uses the functions of this module. Not thread-safe."""
    with ExitStack() as stack:
        for owner, replacements in _REPLACED:
            stack.enter_context(patched_attributes(owner, replacements))
        yield


def _hinge_labels(y: Any) -> Any:
    """Maps labels to -1 and 1, also if all labels of the batch are 0 or 1, without a branch."""
    binary = tf.reduce_all(tf.logical_or(tf.equal(y, 0.0), tf.equal(y, 1.0)))
    return tf.where(binary, 2.0 * y - 1.0, y)


def _argmax(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """Computes argmax without the bit operations by which Keras distinguishes -0.0 from 0.0."""
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    index = tf.argmax(x, axis, tf.int32)
    return tf.expand_dims(index, axis) if keepdims else index


def _in_top_k(targets: Any, predictions: Any, k: int) -> Any:
    """Returns [B]: whether fewer than `k` of the predictions [B, C] exceed the target's.

    A target that is no class, as a loss may ignore it, is never among them.
    """
    classes = predictions.shape[-1]
    chosen = tf.one_hot(targets, classes)
    target = tf.reduce_sum(predictions * chosen, -1, keepdims=True)
    greater = tf.reduce_sum(tf.cast(predictions > target, tf.float32), -1)
    is_class = tf.logical_and(targets >= 0, targets < classes)
    return tf.logical_and(greater < float(k), is_class)


def _filter_top_k(x: Any, k: int) -> Any:
    """Keeps the `k` greatest of `x` [..., C] and sets the others to NEG_INF.

    Of equal values the first counts as greater.
    """
    others, own = x[..., None, :], x[..., :, None]
    classes = tf.range(x.shape[-1])
    first = tf.logical_and(tf.equal(others, own), classes[None, :] < classes[:, None])
    before = tf.reduce_sum(tf.cast(tf.logical_or(others > own, first), tf.float32), -1)
    return tf.where(before < float(k), x, metrics_utils.NEG_INF)


def _confusion_matrix(labels: Any, predictions: Any, num_classes: int, weights: Any, dtype: Any) -> Any:
    """Computes the matrix [C, C] of class numbers [N] as a product instead of a scatter."""
    rows, columns = (tf.one_hot(tf.cast(n, tf.int32), num_classes) for n in (labels, predictions))
    counted = tf.matmul(rows * tf.cast(weights, tf.float32)[:, None], columns, transpose_a=True)
    return keras.ops.cast(counted, dtype)


_REPLACED: list[tuple[Any, dict[str, Any]]] = [
    (keras_losses, {"convert_binary_labels_to_hinge": _hinge_labels}),
    (keras_numpy, {"argmax": _argmax}),
    (keras_math, {"in_top_k": _in_top_k}),
    (metrics_utils, {"_filter_top_k": _filter_top_k}),
    (iou_metrics, {"confusion_matrix": _confusion_matrix}),
]
