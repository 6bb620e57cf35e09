"""Normalises with closed-form gradients, which take half the ops of automatic differentiation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from converter.tracing.attribute_patch import patched_attributes


def standardized(inputs: Any, axes: list[int], epsilon: float) -> Any:
    """Returns (inputs - mean) / sqrt(variance + epsilon) over `axes` (Ba et al. 2016, eq. 3)."""

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def normalize(x: Any) -> Any:
        centered = x - tf.reduce_mean(x, axes, keepdims=True)
        variance = tf.reduce_mean(tf.square(centered), axes, keepdims=True)
        inverse = tf.math.rsqrt(variance + epsilon)
        output = centered * inverse

        def gradient(upstream: Any) -> Any:
            along = tf.reduce_mean(upstream * output, axes, keepdims=True)
            mean = tf.reduce_mean(upstream, axes, keepdims=True)
            return (upstream - mean - output * along) * inverse

        return output, gradient

    return normalize(inputs)


def batch_standardized(
    inputs: Any, scale: Any, offset: Any, weights: Any, axes: list[int], count: Any, epsilon: float
) -> tuple[Any, Any, Any]:
    """Normalises a batch over the rows with weight 1 (Ioffe and Szegedy 2015, alg. 1).

    Returns the output, the mean and the population variance; the latter two are for moving averages only.
    `weights` are 0 or 1 and broadcast to `inputs`. `scale` and `offset` have the rank of `inputs` with length
    1 along `axes`; `count` is the number of values per channel with weight 1.
    """

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def normalize(x: Any, gamma: Any, beta: Any) -> Any:
        mean = tf.reduce_sum(x * weights, axes, keepdims=True) / count
        centered = x - mean
        variance = tf.reduce_sum(tf.square(centered) * weights, axes, keepdims=True) / count
        inverse = tf.math.rsqrt(variance + epsilon)
        factor = inverse * gamma

        def gradient(upstream: Any, mean_gradient: Any, variance_gradient: Any) -> Any:
            del mean_gradient, variance_gradient
            total = tf.reduce_sum(upstream, axes, keepdims=True)
            along = tf.reduce_sum(upstream * centered, axes, keepdims=True)
            correction = centered * (tf.square(inverse) * along) + total
            return upstream * factor - correction * (factor / count * weights), along * inverse, total

        return (centered * factor + beta, mean, variance), gradient

    output, mean, variance = normalize(inputs, scale, offset)
    return output, mean, variance


def _layer_call(original: Any) -> Any:
    def call(layer: Any, inputs: Any) -> Any:
        if layer.rms_scaling:
            return original(layer, inputs)
        rank = len(inputs.shape)
        axes = sorted(axis % rank for axis in layer.axis)
        shape = [inputs.shape[axis] if axis in axes else 1 for axis in range(rank)]
        output = standardized(inputs, axes, layer.epsilon)
        if layer.gamma is not None:
            output = output * tf.reshape(layer.gamma, shape)
        return output if layer.beta is None else output + tf.reshape(layer.beta, shape)

    return call


def _group_call(layer: Any, reshaped: Any, input_shape: Any) -> Any:
    """Replaces `GroupNormalization._apply_normalization` (Wu and He 2018, eq. 2-3)."""
    group_axis = len(reshaped.shape) - 2 if layer.axis == -1 else layer.axis
    axes = [axis for axis in range(1, len(reshaped.shape)) if axis != group_axis]
    shape = layer._create_broadcast_shape(input_shape)
    output = standardized(reshaped, axes, layer.epsilon)
    if layer.scale:
        output = output * tf.reshape(layer.gamma, shape)
    return output + tf.reshape(layer.beta, shape) if layer.center else output


@contextmanager
def use_closed_form_gradients() -> Iterator[None]:
    """While open, LayerNormalization and GroupNormalization use the functions of this module."""
    layers = keras.layers
    call = {"call": _layer_call(layers.LayerNormalization.call)}
    group = {"_apply_normalization": _group_call}
    with (
        patched_attributes(layers.LayerNormalization, call),
        patched_attributes(layers.GroupNormalization, group),
    ):
        yield
