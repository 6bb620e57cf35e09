"""Makes batch statistics exact under padding: only rows with a sample_weight above zero count."""

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
from converter.tracing.attribute_patch import patched_attributes


class ExactPadding:
    """Computes BatchNormalization in training without padded rows and masked positions."""

    def __init__(self, rows: Rows) -> None:
        self._exists = rows.exists
        self._call = keras.layers.BatchNormalization.call

    def moments(self, layer: Any, inputs: Any, mask: Any) -> tuple[Any, Any]:
        """Replaces `_moments`: mean and population variance [channels] over real, unmasked values."""
        weights, axes, count = self._weights(layer, inputs, mask)
        mean = tf.reduce_sum(inputs * weights, axes, keepdims=True) / count
        squares = tf.square(inputs - tf.stop_gradient(mean)) * weights
        return tf.reshape(mean, [-1]), tf.reduce_sum(squares, axes) / count

    def call(self, layer: Any, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Replaces `call`."""
        if not training or not layer.trainable or getattr(layer, "renorm", False):
            return self._call(layer, inputs, training=training, mask=mask)
        weights, axes, count = self._weights(layer, inputs, mask)
        shape = [1 if axis in axes else size for axis, size in enumerate(inputs.shape)]
        scale = tf.reshape(layer.gamma, shape) if layer.scale else tf.ones(shape)
        offset = tf.reshape(layer.beta, shape) if layer.center else tf.zeros(shape)
        output, *moments = batch_standardized(inputs, scale, offset, weights, axes, count, layer.epsilon)
        for variable, value in zip((layer.moving_mean, layer.moving_variance), moments, strict=True):
            average = variable * layer.momentum + tf.reshape(value, [-1]) * (1.0 - layer.momentum)
            variable.assign(average)
        return output

    def _weights(self, layer: Any, inputs: Any, mask: Any) -> tuple[Any, list[int], Any]:
        """Returns 0/1 weights that broadcast to `inputs`, the axes of the statistics, and the value count."""
        batch, rank = int(self._exists.shape[0]), len(inputs.shape)
        rows, channels = inputs.shape[0], layer.axis % rank
        if channels == 0 or rows is None or rows % batch or (mask is not None and channels != rank - 1):
            raise Refusal(
                f"The layer {layer.name} mixes rows of a batch in a way that padding would change; "
                "give BatchNormalization inputs of shape [batch, ..., channels]."
            )
        exists = self._exists
        if rows != batch:
            # Time steps may be folded into the batch, [B, n, ...] to [B * n, ...]; a row's parts are then
            # adjacent.
            exists = tf.reshape(tf.tile(exists[:, None], [1, rows // batch]), [rows])
        weights = tf.reshape(exists, [rows] + [1] * (rank - 1))
        axes = [axis for axis in range(rank) if axis != channels]
        # Keras adds epsilon to keep the division finite where a mask excludes all values.
        spare = 0.0
        if mask is not None:
            weights = weights * tf.cast(mask, tf.float32)[..., None]
            spare = keras.config.epsilon()
        repeats = math.prod(inputs.shape[axis] for axis in axes) // math.prod(weights.shape)
        return weights, axes, tf.reduce_sum(weights) * float(repeats) + spare


@contextmanager
def exact_padding(rows: Rows) -> Iterator[None]:
    """While open, every BatchNormalization ignores padded rows."""
    exact = ExactPadding(rows)

    # A bound method as a class attribute would not receive the layer.
    def moments(layer: Any, inputs: Any, mask: Any) -> tuple[Any, Any]:
        return exact.moments(layer, inputs, mask)

    def call(layer: Any, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        return exact.call(layer, inputs, training, mask)

    with patched_attributes(keras.layers.BatchNormalization, {"_moments": moments, "call": call}):
        yield
