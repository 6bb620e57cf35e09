"""Make padded rows exact: batch statistics count only rows whose sample_weight is above zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from converter.patching import replaced
from converter.refusal import Refusal
from converter.rows import Rows


def masked_moments(rows: Rows) -> Callable[[Any, Any, Any], tuple[Any, Any]]:
    """A replacement of `BatchNormalization._moments` for the rows of a batch.

    Mean and population variance over the reduction axes (Ioffe and Szegedy 2015, alg. 1), of rows that count.
    """
    exists = rows.exists
    batch = int(exists.shape[0])

    def moments(layer: Any, inputs: Any, mask: Any) -> tuple[Any, Any]:
        length, channels = inputs.shape[0], layer.axis % len(inputs.shape)
        if mask is not None or channels == 0 or length is None or length % batch:
            raise Refusal(
                f"The layer {layer.name} mixes rows of a batch in a way that padding would change; "
                "give BatchNormalization inputs of shape [batch, ...] without a mask."
            )
        counts = exists
        if length != batch:
            # [B, n, ...] was folded to [B * n, ...]: a row's parts lie next to each other.
            counts = tf.reshape(tf.tile(counts[:, None], [1, length // batch]), [length])
        axes = [axis for axis in range(len(inputs.shape)) if axis != channels]
        weights = tf.reshape(counts, [length] + [1] * (len(inputs.shape) - 1))
        per_row = 1
        for axis in axes[1:]:
            per_row *= inputs.shape[axis]
        total = tf.reduce_sum(counts) * float(per_row)
        mean = tf.reduce_sum(inputs * weights, axes, keepdims=True) / total
        variance = tf.reduce_sum(tf.square(inputs - tf.stop_gradient(mean)) * weights, axes) / total
        return tf.reshape(mean, [-1]), variance

    return moments


@contextmanager
def exact_padding(rows: Rows) -> Iterator[None]:
    """While open, every BatchNormalization ignores rows that do not exist."""
    moments = {"_moments": masked_moments(rows)}
    with replaced(keras.layers.BatchNormalization, moments):
        yield
