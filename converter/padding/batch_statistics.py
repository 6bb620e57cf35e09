"""Make padded rows exact: batch statistics count only rows whose sample_weight is above zero."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from converter.decompositions.normalization import batch_standardized
from converter.padding.real_rows import Rows
from converter.refusal import Refusal
from converter.tracing.attribute_patch import replaced


class ExactPadding:
    """What BatchNormalization computes in training, rows that do not exist and masked positions left out."""

    def __init__(self, rows: Rows) -> None:
        self._exists = rows.exists
        self._call = keras.layers.BatchNormalization.call

    def moments(self, layer: Any, inputs: Any, mask: Any) -> tuple[Any, Any]:
        """Stands for `_moments`: mean and population variance [channels] over what counts."""
        weights, axes, count = self._weights(layer, inputs, mask)
        mean = tf.reduce_sum(inputs * weights, axes, keepdims=True) / count
        squares = tf.square(inputs - tf.stop_gradient(mean)) * weights
        return tf.reshape(mean, [-1]), tf.reduce_sum(squares, axes) / count

    def call(self, layer: Any, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Stands for `call`."""
        if not training or not layer.trainable or getattr(layer, "renorm", False):
            return self._call(layer, inputs, training=training, mask=mask)
        weights, axes, count = self._weights(layer, inputs, mask)
        shape = [1 if axis in axes else size for axis, size in enumerate(inputs.shape)]
        scale = tf.reshape(layer.gamma, shape) if layer.scale else tf.ones(shape)
        offset = tf.reshape(layer.beta, shape) if layer.center else tf.zeros(shape)
        output, *moments = batch_standardized(inputs, scale, offset, weights, axes, count, layer.epsilon)
        for variable, value in zip((layer.moving_mean, layer.moving_variance), moments, strict=True):
            moved = variable * layer.momentum + tf.reshape(value, [-1]) * (1.0 - layer.momentum)
            variable.assign(moved)
        return output

    def _weights(self, layer: Any, inputs: Any, mask: Any) -> tuple[Any, list[int], Any]:
        """0 or 1, broadcasting to `inputs`; the axes of the statistics; how many values count."""
        batch, rank = int(self._exists.shape[0]), len(inputs.shape)
        rows, channels = inputs.shape[0], layer.axis % rank
        if channels == 0 or rows is None or rows % batch or (mask is not None and channels != rank - 1):
            raise Refusal(
                f"The layer {layer.name} mixes rows of a batch in a way that padding would change; "
                "give BatchNormalization inputs of shape [batch, ..., channels]."
            )
        exists = self._exists
        if rows != batch:
            # [B, n, ...] was folded to [B * n, ...]: a row's parts lie next to each other.
            exists = tf.reshape(tf.tile(exists[:, None], [1, rows // batch]), [rows])
        weights = tf.reshape(exists, [rows] + [1] * (rank - 1))
        axes = [axis for axis in range(rank) if axis != channels]
        # Keras keeps the division finite where a mask leaves nothing.
        spare = 0.0
        if mask is not None:
            weights = weights * tf.cast(mask, tf.float32)[..., None]
            spare = keras.config.epsilon()
        repeats = math.prod(inputs.shape[axis] for axis in axes) // math.prod(weights.shape)
        return weights, axes, tf.reduce_sum(weights) * float(repeats) + spare


@contextmanager
def exact_padding(rows: Rows) -> Iterator[None]:
    """While open, every BatchNormalization ignores rows that do not exist."""
    exact = ExactPadding(rows)

    # Functions, since a bound method as a class attribute would not get the layer.
    def moments(layer: Any, inputs: Any, mask: Any) -> tuple[Any, Any]:
        return exact.moments(layer, inputs, mask)

    def call(layer: Any, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        return exact.call(layer, inputs, training, mask)

    with replaced(keras.layers.BatchNormalization, {"_moments": moments, "call": call}):
        yield
