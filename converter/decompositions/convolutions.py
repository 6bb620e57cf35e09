"""Computes grouped, 3-D and channels-first convolutions by plain 2-D convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf
from keras.src.backend.common.backend_utils import compute_conv_transpose_output_shape

from converter.decompositions.sliding_windows import Window, channels_last

Sizes = tuple[int, ...]


def make_conv(original: Callable[..., Any], depthwise: Callable[..., Any]) -> Callable[..., Any]:
    """Replaces Keras' `conv`; `original` computes what TensorFlow can, `depthwise` is Keras' own."""

    def conv(
        inputs: Any,
        kernel: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
    ) -> Any:
        if keras.config.image_data_format() != "channels_last" or data_format == "channels_first":
            return channels_last(
                inputs, lambda x: conv(x, kernel, strides, padding, "channels_last", dilation_rate)
            )
        inputs, kernel = tf.convert_to_tensor(inputs), tf.convert_to_tensor(kernel)
        groups = inputs.shape[-1] // kernel.shape[-2]
        if groups == inputs.shape[-1] > 1 and len(inputs.shape) == 4 and _are_equal(strides):
            size = [*kernel.shape[:2], groups, kernel.shape[-1] // groups]
            rest = (_pair(strides), padding, "channels_last", _pair(dilation_rate))
            return depthwise(inputs, tf.reshape(kernel, size), *rest)
        if groups > 1:
            pairs = zip(tf.split(inputs, groups, -1), tf.split(kernel, groups, -1), strict=True)
            rest = (strides, padding, "channels_last", dilation_rate)
            return tf.concat([conv(x, k, *rest) for x, k in pairs], -1)
        if len(inputs.shape) == 5:
            return _conv3d(inputs, kernel, _triple(strides), padding, _triple(dilation_rate))
        return original(inputs, kernel, strides, padding, "channels_last", dilation_rate)

    return conv


def make_conv_transpose(original: Callable[..., Any], conv: Callable[..., Any]) -> Callable[..., Any]:
    """Replaces Keras' `conv_transpose`; in 3-D it is the gradient of `conv`, by definition."""

    def conv_transpose(
        inputs: Any,
        kernel: Any,
        strides: Any = 1,
        padding: str = "valid",
        output_padding: Any = None,
        data_format: str | None = None,
        dilation_rate: Any = 1,
    ) -> Any:
        if keras.config.image_data_format() != "channels_last" or data_format == "channels_first":
            rest = (kernel, strides, padding, output_padding, "channels_last", dilation_rate)
            return channels_last(inputs, lambda x: conv_transpose(x, *rest))
        if len(inputs.shape) < 5:
            return original(inputs, kernel, strides, padding, output_padding, "channels_last", dilation_rate)
        kernel = tf.convert_to_tensor(kernel)
        shape = compute_conv_transpose_output_shape(
            list(inputs.shape),
            kernel.shape[:-2],
            kernel.shape[-2],
            strides,
            padding,
            output_padding,
            "channels_last",
            dilation_rate,
        )
        image = tf.zeros([int(n) for n in shape])
        with tf.GradientTape() as tape:
            tape.watch(image)
            output = conv(image, kernel, strides, padding, "channels_last", dilation_rate)
        return tape.gradient(output, image, output_gradients=inputs)

    return conv_transpose


def _conv3d(inputs: Any, kernel: Any, strides: Sizes, padding: str, dilation: Sizes) -> Any:
    """Convolves [B, D, H, W, C] with [d, h, w, C, F] as a 2-D convolution.

    The d slices of each window are put side by side as channels.
    """
    depth, *spatial, channels, filters = kernel.shape
    window = Window.along(inputs.shape[1], depth, strides[0], padding, dilation[0])
    slices = tf.concat(window.slices(inputs, 0.0), -1)
    flat = tf.reshape(slices, [-1, *slices.shape[2:]])
    wide = tf.reshape(tf.transpose(kernel, [1, 2, 0, 3, 4]), [*spatial, depth * channels, filters])
    output = tf.nn.convolution(flat, wide, strides[1:], padding.upper(), dilations=dilation[1:])
    return tf.reshape(output, [inputs.shape[0], window.count, *output.shape[1:]])


def _triple(value: Any) -> Sizes:
    return (value,) * 3 if isinstance(value, int) else tuple(value)


def _pair(value: Any) -> Sizes:
    return (value,) * 2 if isinstance(value, int) else tuple(value)


def _are_equal(strides: Any) -> bool:
    return isinstance(strides, int) or len(set(strides)) == 1
