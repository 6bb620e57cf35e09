"""Convolutions, depthwise convolutions, poolings, and their gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tests.conformance.ops.case import Array, Case, Fixed, chance, floats, steps

CHANNELS = (1, 2, 3, 4, 5, 8, 16, 17)
SIZES = (1, 2, 3, 4, 5, 7, 8, 9)


@dataclass(frozen=True)
class Window:
    """A filter on an image: sizes as (height, width), padding as the op's attributes say it."""

    image: tuple[int, int]
    kernel: tuple[int, int]
    strides: tuple[int, int]
    padding: str
    explicit: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilations: tuple[int, int] = (1, 1)

    def attributes(self) -> dict[str, Any]:
        found: dict[str, Any] = {"strides": [1, *self.strides, 1], "padding": self.padding}
        if self.padding == "EXPLICIT":
            found["explicit_paddings"] = [0, 0, *self.explicit, 0, 0]
        if self.dilations != (1, 1):
            found["dilations"] = [1, *self.dilations, 1]
        return found

    def out(self) -> tuple[int, int] | None:
        """Size of the result; None if there is none."""
        sizes = []
        for axis in range(2):
            reach = (self.kernel[axis] - 1) * self.dilations[axis] + 1
            length = self.image[axis] + sum(self.explicit[2 * axis : 2 * axis + 2])
            if self.padding == "SAME":
                sizes.append(-(-self.image[axis] // self.strides[axis]))
            else:
                sizes.append((length - reach) // self.strides[axis] + 1)
        return (sizes[0], sizes[1]) if min(sizes) > 0 else None


NAMED = (
    Window((7, 6), (3, 3), (1, 1), "SAME"),
    Window((7, 6), (3, 2), (1, 1), "VALID"),
    Window((7, 6), (3, 3), (2, 2), "SAME"),
    Window((8, 8), (3, 3), (2, 2), "SAME"),
    Window((8, 8), (1, 1), (2, 2), "VALID"),
    Window((9, 7), (2, 4), (3, 3), "VALID"),
    Window((5, 5), (5, 5), (1, 1), "VALID"),
    # Larger than the image: only borders meet it.
    Window((2, 3), (5, 5), (1, 1), "SAME"),
    Window((2, 2), (5, 4), (2, 2), "SAME"),
    Window((1, 1), (3, 3), (1, 1), "SAME"),
    # As Conv1D does it.
    Window((1, 9), (1, 3), (1, 2), "SAME"),
    Window((1, 8), (1, 5), (1, 1), "VALID"),
    Window((9, 1), (4, 1), (3, 1), "SAME"),
    # Strides wider than the filter leave pixels out.
    Window((8, 9), (1, 2), (3, 3), "SAME"),
    Window((9, 9), (2, 1), (3, 2), "VALID"),
    Window((6, 5), (3, 3), (1, 2), "EXPLICIT", (1, 0, 2, 1)),
    Window((5, 5), (3, 3), (2, 2), "EXPLICIT", (0, 1, 0, 1)),
    Window((4, 4), (2, 2), (1, 1), "EXPLICIT", (1, 1, 1, 1)),
)


def _drawn(count: int, largest_kernel: int, explicit: bool) -> Iterator[Window]:
    """Windows from the cross product of sizes, strides and paddings that have a result."""
    generator, made = chance(), 0
    paddings = ("SAME", "VALID", "EXPLICIT") if explicit else ("SAME", "VALID")
    while made < count:
        height, width, h, w = (
            int(generator.choice(SIZES)),
            int(generator.choice(SIZES)),
            *(int(n) for n in generator.integers(1, largest_kernel + 1, 2)),
        )
        padding = str(generator.choice(paddings))
        top, bottom, left, right = (int(generator.integers(0, size)) for size in (h, h, w, w))
        borders = (top, bottom, left, right) if padding == "EXPLICIT" else (0, 0, 0, 0)
        strides = (int(generator.integers(1, 4)), int(generator.integers(1, 4)))
        window = Window((height, width), (h, w), strides, padding, borders)
        if window.out() is not None:
            made += 1
            yield window


def _image(window: Window, batch: int, channels: int) -> Array:
    return floats(batch, *window.image, channels)


def convolutions() -> Iterator[Case]:
    for window in (*NAMED, *_drawn(34, 5, explicit=True)):
        batch, channels, filters = _counts()
        yield from _convolution(window, batch, channels, filters)
    # The usual case with every number of channels: kernels take four at a time.
    for channels in CHANNELS:
        yield from _convolution(NAMED[0], 2, channels, int(chance().choice(CHANNELS)))
        yield from _convolution(NAMED[2], 1, int(chance().choice(CHANNELS)), channels)
    # One pixel of filter is a product of matrices.
    for channels, filters in ((1, 1), (3, 8), (16, 4), (17, 5)):
        yield from _convolution(Window((5, 4), (1, 1), (1, 1), "SAME"), 2, channels, filters)
    for dilations in ((2, 2), (3, 1), (1, 2)):
        for padding in ("SAME", "VALID"):
            window = Window((9, 8), (3, 3), (1, 1), padding, dilations=dilations)
            attributes = window.attributes()
            yield "Conv2D", {"input": _image(window, 2, 3), "filter": floats(3, 3, 3, 4), **attributes}


def _counts() -> tuple[int, int, int]:
    """Batch, channels in, channels out."""
    generator = chance()
    return int(generator.integers(1, 4)), int(generator.choice(CHANNELS)), int(generator.choice(CHANNELS))


def _convolution(window: Window, batch: int, channels: int, filters: int) -> Iterator[Case]:
    attributes, out = window.attributes(), window.out()
    assert out is not None
    x, weights = _image(window, batch, channels), floats(*window.kernel, channels, filters)
    dy = floats(batch, *out, filters)
    yield "Conv2D", {"input": x, "filter": weights, **attributes}
    sizes = Fixed(*x.shape)
    yield "Conv2DBackpropInput", {"input_sizes": sizes, "filter": weights, "out_backprop": dy, **attributes}
    sizes = Fixed(*weights.shape)
    yield "Conv2DBackpropFilter", {"input": x, "filter_sizes": sizes, "out_backprop": dy, **attributes}


def depthwise() -> Iterator[Case]:
    # TensorFlow's CPU kernels take equal strides and no explicit padding here.
    for window in (*NAMED, *_drawn(60, 5, explicit=False)):
        if window.strides[0] != window.strides[1] or window.padding == "EXPLICIT":
            continue
        batch, channels, _ = _counts()
        yield from _depthwise(window, batch, channels, int(chance().integers(1, 4)))
    for channels in CHANNELS:
        for multiplier in (1, 2):
            yield from _depthwise(NAMED[0], 2, channels, multiplier)


def _depthwise(window: Window, batch: int, channels: int, multiplier: int) -> Iterator[Case]:
    attributes, out = window.attributes(), window.out()
    assert out is not None
    x, weights = _image(window, batch, channels), floats(*window.kernel, channels, multiplier)
    dy = floats(batch, *out, channels * multiplier)
    yield "DepthwiseConv2dNative", {"input": x, "filter": weights, **attributes}
    sizes = Fixed(*x.shape)
    inputs = {"input_sizes": sizes, "filter": weights, "out_backprop": dy}
    yield "DepthwiseConv2dNativeBackpropInput", {**inputs, **attributes}
    sizes = Fixed(*weights.shape)
    inputs = {"input": x, "filter_sizes": sizes, "out_backprop": dy}
    yield "DepthwiseConv2dNativeBackpropFilter", {**inputs, **attributes}


def pools() -> Iterator[Case]:
    for window in (*NAMED, *_drawn(40, 4, explicit=False)):
        batch, channels, _ = _counts()
        yield from _pool(window, _image(window, batch, channels))
    for channels in CHANNELS:
        window = Window((6, 6), (2, 2), (2, 2), "VALID")
        yield from _pool(window, _image(window, 2, channels))
    # Of equal values in a window the first one counts.
    for window in (NAMED[0], NAMED[2], NAMED[7], Window((6, 6), (2, 2), (2, 2), "VALID")):
        yield from _pool(window, steps(2, *window.image, 3))
        yield from _pool(window, np.zeros((1, *window.image, 4), np.float32))
        yield from _pool(window, -np.abs(_image(window, 1, 5)))


def _pool(window: Window, x: Array) -> Iterator[Case]:
    attributes = {"ksize": [1, *window.kernel, 1], **window.attributes()}
    y = tf.raw_ops.MaxPool(input=x, **attributes).numpy()
    dy = floats(*y.shape)
    yield "MaxPool", {"input": x, **attributes}
    yield "MaxPoolGrad", {"orig_input": x, "orig_output": y, "grad": dy, **attributes}
    if window.padding != "EXPLICIT":
        yield "AvgPool", {"value": x, **attributes}
        yield "AvgPoolGrad", {"orig_input_shape": Fixed(*x.shape), "grad": dy, **attributes}
