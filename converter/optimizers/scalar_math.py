"""Computes scalar functions exactly on GPUs too: WebGL's pow, cos and modulo are too coarse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tensorflow as tf


def power(base: float, exponent: Any) -> Any:
    """Returns base ** exponent for a constant base >= 0; the exponent must be > 0 if the base is 0."""
    if base == 0.0:
        return tf.zeros_like(exponent)
    return tf.exp(exponent * math.log(float(np.float32(base))))


def one_minus_powers(bases: tuple[float, ...], exponent: Any) -> list[Any]:
    """Returns 1 - base ** exponent for each 0 <= base < 1 and an exponent > 0, to float32 precision.

    For small arguments a series replaces expm1; all bases are computed together.
    """
    # Keras uses the base's float32 value.
    logarithms = [math.log(max(float(np.float32(base)), 1e-37)) for base in bases]
    x = exponent * tf.constant(logarithms, tf.float32)
    small = tf.maximum(x, -0.25)
    series = small * (1.0 / 720.0) + 1.0 / 120.0
    for factorial in (24.0, 6.0, 2.0, 1.0):
        series = series * small + 1.0 / factorial
    return list(tf.unstack(tf.where(x > -0.25, -small * series, 1.0 - tf.exp(x))))


def real_power(base: Any, exponent: float) -> Any:
    """Returns base ** exponent for a base >= 0 and a constant exponent >= 0; 0 ** 0 is 1."""
    if exponent == 0.0:
        return tf.ones_like(base)
    if exponent == 0.5:
        return tf.sqrt(base)
    if exponent == 1.0:
        return base
    if exponent == 2.0:
        return tf.square(base)
    raised = tf.exp(exponent * tf.math.log(tf.maximum(base, 1e-37)))
    return tf.where(base > 0.0, raised, 0.0)


def half_cosine(fraction: Any) -> Any:
    """Returns (1 + cos(pi * fraction)) / 2 for 0 <= fraction <= 1, by the sine's series at the middle."""
    x = math.pi * (fraction - 0.5)
    square = x * x
    series = 1.0 - square / 156.0
    for n in (110.0, 72.0, 42.0, 20.0, 6.0):
        series = 1.0 - square / n * series
    return 0.5 - 0.5 * x * series


def full_steps(step: Any, length: float) -> Any:
    """Returns floor(step / length) of whole numbers, correct even if the division rounds."""
    return tf.floor((step + 0.5) / length)


def table(values: list[float], index: Any) -> Any:
    """Returns values[index] for a float32 scalar index; beyond either end the value at that end."""
    last = float(len(values) - 1)
    position = tf.cast(tf.clip_by_value(index, 0.0, last) + 0.25, tf.int32)
    return tf.gather(tf.constant(values, tf.float32), position)
