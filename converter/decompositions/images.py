"""Resizes, transforms and recolours images by matrix products, gathers and arithmetic."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from converter.decompositions.sliding_windows import channels_last

_resize = tf.image.resize
METHODS = {
    "nearest": "nearest",
    "bilinear": "bilinear",
    "bicubic": "bicubic",
    "lanczos3": "lanczos3",
    "lanczos5": "lanczos5",
    "area": "area",
}


def resize(
    images: Any,
    size: Any,
    interpolation: str = "bilinear",
    antialias: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    fill_mode: str = "constant",
    fill_value: float = 0.0,
    data_format: str | None = None,
) -> Any:
    """Replaces Keras' `resize` of [B, H, W, C] or [H, W, C]."""
    if (data_format or keras.config.image_data_format()) == "channels_first":
        rest = (
            size,
            interpolation,
            antialias,
            crop_to_aspect_ratio,
            pad_to_aspect_ratio,
            fill_mode,
            fill_value,
        )
        return channels_last(images, lambda x: resize(x, *rest, "channels_last"))
    if len(images.shape) == 3:
        rest = (
            size,
            interpolation,
            antialias,
            crop_to_aspect_ratio,
            pad_to_aspect_ratio,
            fill_mode,
            fill_value,
        )
        return resize(images[None], *rest, "channels_last")[0]
    target = (int(size[0]), int(size[1]))
    kind, images = images.dtype, tf.cast(images, tf.float32)
    if crop_to_aspect_ratio:
        images = _cropped(images, target)
    if pad_to_aspect_ratio:
        images = _padded(images, target, fill_value)
    batch, height, width, channels = images.shape
    rows = tf.reshape(images, [batch, height, width * channels])
    rows = _along_axis(rows, target[0], interpolation, antialias)
    columns = tf.reshape(rows, [batch * target[0], width, channels])
    columns = _along_axis(columns, target[1], interpolation, antialias)
    output = tf.reshape(columns, [batch, *target, channels])
    return tf.cast(output, kind) if interpolation == "nearest" else output


def _along_axis(tensor: Any, size: int, interpolation: str, antialias: bool) -> Any:
    """Interpolates [n, length, m] to [n, size, m] by a matrix product.

    TensorFlow computes the matrix from unit vectors.
    """
    length = tensor.shape[1]
    if length == size:
        return tensor
    with tf.init_scope():
        ones = tf.reshape(tf.eye(length), [1, length, 1, length])
        matrix = _resize(ones, [size, 1], METHODS[interpolation], antialias=antialias).numpy()
    return tf.matmul(tf.constant(matrix.reshape(1, size, length)), tensor)


def _cropped(images: Any, target: tuple[int, int]) -> Any:
    _, height, width, _ = images.shape
    rows = max(min(height, int(np.float32(width * target[0]) / np.float32(target[1]))), 1)
    columns = max(min(width, int(np.float32(height * target[1]) / np.float32(target[0]))), 1)
    top, left = (height - rows) // 2, (width - columns) // 2
    return images[:, top : top + rows, left : left + columns]


def _padded(images: Any, target: tuple[int, int], filler: float) -> Any:
    _, height, width, _ = images.shape
    rows = max(height, int(np.float32(width * target[0]) / np.float32(target[1])))
    columns = max(width, int(np.float32(height * target[1]) / np.float32(target[0])))
    top, left = (rows - height) // 2, (columns - width) // 2
    # Keras pads both sides equally, which can give one row or column less than the ratio.
    return tf.pad(images, [[0, 0], [top, top], [left, left], [0, 0]], constant_values=filler)


def affine_transform(
    images: Any,
    transform: Any,
    interpolation: str = "bilinear",
    fill_mode: str = "constant",
    fill_value: float = 0.0,
    data_format: str | None = None,
) -> Any:
    """Replaces Keras' `affine_transform` of [B, H, W, C] or [H, W, C].

    Output (x, y) is read at (a0 x + a1 y + a2, b0 x + b1 y + b2) / k, k = c0 x + c1 y + 1, for one transform
    [a0, a1, a2, b0, b1, b2, c0, c1] of all images or one for each.
    """
    if (data_format or keras.config.image_data_format()) == "channels_first":
        rest = (transform, interpolation, fill_mode, fill_value)
        return channels_last(images, lambda x: affine_transform(x, *rest, "channels_last"))
    if len(images.shape) == 3:
        return affine_transform(images[None], transform, interpolation, fill_mode, fill_value)[0]
    _, height, width, _ = images.shape
    flat = tf.reshape(tf.cast(transform, tf.float32), [-1, 8])
    a0, a1, a2, b0, b1, b2, c0, c1 = (flat[:, n, None, None] for n in range(8))
    y, x = (tf.constant(grid, tf.float32) for grid in np.mgrid[:height, :width])
    k = c0 * x + c1 * y + 1.0
    across = _within((a0 * x + a1 * y + a2) / k, width, fill_mode)
    down = _within((b0 * x + b1 * y + b2) / k, height, fill_mode)
    if interpolation == "nearest":
        return _read(images, _round(down), _round(across), fill_value)
    top, left = tf.floor(down), tf.floor(across)
    output = 0.0
    for row, row_weight in ((top, top + 1.0 - down), (top + 1.0, down - top)):
        for column, column_weight in ((left, left + 1.0 - across), (left + 1.0, across - left)):
            output += _read(images, row, column, fill_value) * (row_weight * column_weight)[..., None]
    return output


def _round(position: Any) -> Any:
    return tf.sign(position) * tf.floor(tf.abs(position) + 0.5)


def _within(position: Any, length: int, fill_mode: str) -> Any:
    """Maps positions into [0, length - 1] by the fill mode; `constant` leaves them outside."""
    if fill_mode == "constant":
        return position
    if fill_mode == "reflect":
        folded = tf.math.floormod(position, 2.0 * length)
        position = tf.where(folded >= float(length), 2.0 * length - folded - 1.0, folded)
    elif fill_mode == "wrap":
        position = tf.math.floormod(position, float(length))
    return tf.clip_by_value(position, 0.0, length - 1.0)


def _read(images: Any, row: Any, column: Any, filler: float) -> Any:
    """Returns the pixels [B, H, W, C] at whole positions [B or 1, H, W]; `filler` outside the image."""
    batch, height, width, channels = images.shape
    inside = (row >= 0.0) & (row <= height - 1.0) & (column >= 0.0) & (column <= width - 1.0)
    row, column = tf.clip_by_value(row, 0.0, height - 1.0), tf.clip_by_value(column, 0.0, width - 1.0)
    first = tf.reshape(tf.range(batch) * (height * width), [batch, 1, 1])
    index = first + tf.cast(row, tf.int32) * width + tf.cast(column, tf.int32)
    pixels = tf.gather(tf.reshape(images, [-1, channels]), index)
    return tf.where(inside[..., None], pixels, tf.constant(filler, tf.float32))


def rgb_to_hsv(images: Any, data_format: str | None = None) -> Any:
    """Returns hue, saturation and value in [0, 1] of colours [..., 3] (Smith 1978)."""
    if (data_format or keras.config.image_data_format()) == "channels_first":
        return channels_last(images, lambda x: rgb_to_hsv(x, "channels_last"))
    red, green, blue = tf.unstack(images, axis=-1)
    value = tf.reduce_max(images, -1)
    span = value - tf.reduce_min(images, -1)
    safe = tf.where(span > 0.0, span, 1.0)
    hue_of_green, hue_of_blue = 2.0 + (blue - red) / safe, 4.0 + (red - green) / safe
    hue = (
        tf.where(red == value, (green - blue) / safe, tf.where(green == value, hue_of_green, hue_of_blue))
        / 6.0
    )
    hue = tf.where(span > 0.0, hue + tf.cast(hue < 0.0, tf.float32), 0.0)
    return tf.stack([hue, tf.math.divide_no_nan(span, value), value], -1)


def hsv_to_rgb(images: Any, data_format: str | None = None) -> Any:
    """Computes the inverse of `rgb_to_hsv`."""
    if (data_format or keras.config.image_data_format()) == "channels_first":
        return channels_last(images, lambda x: hsv_to_rgb(x, "channels_last"))
    hue, saturation, value = tf.unstack(images, axis=-1)
    angle = hue * 6.0
    pure = (tf.abs(angle - 3.0) - 1.0, 2.0 - tf.abs(angle - 2.0), 2.0 - tf.abs(angle - 4.0))
    mixed = [1.0 - saturation + saturation * tf.clip_by_value(colour, 0.0, 1.0) for colour in pure]
    return tf.stack([value * colour for colour in mixed], -1)
