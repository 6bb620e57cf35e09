"""Convolutions and poolings in three dimensions, and their gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tests.conformance.ops.case import Array, Case, Fixed, Shape, floats, steps

# Volume, filter, strides, padding.
WINDOWS: tuple[tuple[Shape, Shape, Shape, str], ...] = (
    ((4, 5, 6), (3, 3, 3), (1, 1, 1), "SAME"),
    ((4, 5, 6), (2, 3, 2), (1, 1, 1), "VALID"),
    ((4, 4, 4), (2, 2, 2), (2, 2, 2), "VALID"),
    ((5, 4, 3), (3, 3, 3), (2, 2, 2), "SAME"),
    ((5, 6, 4), (1, 2, 3), (1, 2, 1), "SAME"),
    ((3, 3, 3), (1, 1, 1), (1, 1, 1), "VALID"),
    ((2, 2, 3), (3, 3, 4), (1, 1, 1), "SAME"),
    ((5, 5, 5), (1, 2, 1), (2, 3, 2), "SAME"),
    ((3, 4, 5), (3, 4, 5), (1, 1, 1), "VALID"),
)


def convolutions() -> Iterator[Case]:
    for volume, kernel, strides, padding in WINDOWS:
        for batch, channels, filters in ((1, 1, 1), (2, 3, 2), (1, 4, 5)):
            window = {"strides": [1, *strides, 1], "padding": padding}
            x, weights = floats(batch, *volume, channels), floats(*kernel, channels, filters)
            y = tf.raw_ops.Conv3D(input=x, filter=weights, **window)
            dy = floats(*y.shape)
            yield "Conv3D", {"input": x, "filter": weights, **window}
            inputs: dict[str, Any] = {"input_sizes": Fixed(*x.shape), "filter": weights}
            yield "Conv3DBackpropInputV2", {**inputs, "out_backprop": dy, **window}
            inputs = {"input": x, "filter_sizes": Fixed(*weights.shape)}
            yield "Conv3DBackpropFilterV2", {**inputs, "out_backprop": dy, **window}


def pools() -> Iterator[Case]:
    for volume, kernel, strides, padding in WINDOWS:
        for batch, channels in ((1, 1), (2, 3)):
            window = {"ksize": [1, *kernel, 1], "strides": [1, *strides, 1], "padding": padding}
            yield from _pool(floats(batch, *volume, channels), window)
            yield from _pool(steps(batch, *volume, channels), window)


def _pool(x: Array, window: dict[str, Any]) -> Iterator[Case]:
    y: Array = np.asarray(tf.raw_ops.MaxPool3D(input=x, **window))
    dy = floats(*y.shape)
    yield "MaxPool3D", {"input": x, **window}
    yield "MaxPool3DGrad", {"orig_input": x, "orig_output": y, "grad": dy, **window}
    yield "AvgPool3D", {"input": x, **window}
    yield "AvgPool3DGrad", {"orig_input_shape": Fixed(*x.shape), "grad": dy, **window}
