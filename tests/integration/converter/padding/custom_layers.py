"""Layers and losses of an owner, as `--custom` takes them: some keep to their rows, some do not."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops


class Sampling(keras.layers.Layer):  # type: ignore[misc]
    """Draws around means and adds the divergence from the normal distribution (Kingma and Welling 2014)."""

    def call(self, inputs: Any) -> Any:
        mean, log_variance = inputs
        own = 1.0 + log_variance - ops.square(mean) - ops.exp(log_variance)
        self.add_loss(-0.05 * ops.mean(ops.sum(own, axis=-1)))
        return mean + ops.exp(0.5 * log_variance) * keras.random.normal(ops.shape(mean))


class Centred(keras.layers.Layer):  # type: ignore[misc]
    """Less the batch's mean."""

    def call(self, x: Any) -> Any:
        return x - ops.mean(x, axis=0, keepdims=True)


class Shuffling(keras.layers.Layer):  # type: ignore[misc]
    """Adds the greatest row."""

    def call(self, x: Any) -> Any:
        return x + ops.max(x, axis=0, keepdims=True)


class LargeOnly(keras.layers.Layer):  # type: ignore[misc]
    """Compares rows with each other where a number is large."""

    def call(self, x: Any) -> Any:
        return ops.where(x > 3.0, x - ops.std(x, axis=0, keepdims=True), x)


class BySize(keras.layers.Layer):  # type: ignore[misc]
    """Divides by the number of rows that the batch has with its padding."""

    def call(self, x: Any) -> Any:
        self.add_loss(ops.sum(x) / ops.cast(ops.shape(x)[0], x.dtype))
        return x


def cubic(y: Any, output: Any) -> Any:
    """A loss of the owner's."""
    return ops.mean(ops.abs(y - output) ** 3, axis=-1)


def spread(y: Any, output: Any) -> Any:
    """A loss that compares rows."""
    return ops.mean(ops.square(y - output), axis=-1) * ops.max(output)


def large_error(y: Any, output: Any) -> Any:
    """A metric that compares rows where an error is large."""
    square = ops.square(y - output)
    return ops.where(square > 9.0, square * ops.var(y, axis=0, keepdims=True), square)
