"""Pools in three dimensions: 2-D pooling of each slice, then pooling along the depth."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from converter.decompositions.sliding_windows import Window, channels_last

LOWEST = float(tf.float32.min)


def make_pool(original: Callable[..., Any], is_max: bool) -> Callable[..., Any]:
    """Replaces Keras' `max_pool` or `average_pool`."""

    def pool(
        inputs: Any,
        pool_size: Any,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
    ) -> Any:
        if len(inputs.shape) < 5:
            return original(inputs, pool_size, strides, padding, data_format)
        if (data_format or keras.config.image_data_format()) == "channels_first":
            return channels_last(inputs, lambda x: pool(x, pool_size, strides, padding, "channels_last"))
        sizes = (pool_size,) * 3 if isinstance(pool_size, int) else tuple(pool_size)
        steps = sizes if strides is None else (strides,) * 3 if isinstance(strides, int) else tuple(strides)
        batch, depth, *image = inputs.shape
        flat = original(
            tf.reshape(inputs, [batch * depth, *image]), sizes[1:], steps[1:], padding, "channels_last"
        )
        window = Window.along(depth, sizes[0], steps[0], padding)
        volume = tf.reshape(flat, [batch, depth, *flat.shape[1:]])
        if is_max:
            return functools.reduce(tf.maximum, window.slices(volume, LOWEST))
        shares = [[[[1.0 / number]]] for number in window.numbers(depth)]
        return tf.add_n(window.slices(volume, 0.0)) * tf.constant(shares)

    return pool


def make_adaptive_pool(original: Callable[..., Any], is_max: bool) -> Callable[..., Any]:
    """Replaces Keras' `adaptive_max_pool` or `adaptive_average_pool`, whose windows vary in length."""

    def pool(inputs: Any, output_size: Any, data_format: str | None = None) -> Any:
        if len(inputs.shape) < 5:
            return original(inputs, output_size, data_format)
        if (data_format or keras.config.image_data_format()) == "channels_first":
            return channels_last(inputs, lambda x: pool(x, output_size, "channels_last"))
        sizes = (output_size,) * 3 if isinstance(output_size, int) else output_size
        for axis, size in enumerate(sizes, 1):
            inputs = tf.concat(_windows(inputs, axis, size, is_max), axis)
        return inputs

    return pool


def _windows(inputs: Any, axis: int, count: int, is_max: bool) -> list[Any]:
    length = inputs.shape[axis]
    parts = tf.split(inputs, length, axis)
    results = []
    for index in range(count):
        start, end = index * length // count, -(-(index + 1) * length // count)
        window = parts[start:end]
        results.append(functools.reduce(tf.maximum, window) if is_max else tf.add_n(window) / len(window))
    return results
