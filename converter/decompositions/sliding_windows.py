"""Slides windows along the first spatial axis and returns them as slices of equal shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Window:
    """Windows of `size` positions each.

    There are `count` windows; their positions are `dilation` apart, consecutive windows `stride` apart.
    `before` and `after` are the padding at both ends.
    """

    size: int
    stride: int
    dilation: int
    count: int
    before: int
    after: int

    @staticmethod
    def along(length: int, size: int, stride: int, padding: str, dilation: int = 1) -> Window:
        """Returns TensorFlow's windows over an axis of `length` for padding "valid" or "same"."""
        reach = (size - 1) * dilation + 1
        if padding.lower() == "valid":
            return Window(size, stride, dilation, (length - reach) // stride + 1, 0, 0)
        count = -(-length // stride)
        missing = max((count - 1) * stride + reach - length, 0)
        return Window(size, stride, dilation, count, missing // 2, missing - missing // 2)

    def slices(self, inputs: Any, filler: float) -> list[Any]:
        """Returns for each position of the window a tensor [B, count, ...] of its values in all windows."""
        if self.before or self.after:
            paddings = [[0, 0]] * len(inputs.shape)
            paddings[1] = [self.before, self.after]
            inputs = tf.pad(inputs, paddings, constant_values=filler)
        reach = (self.count - 1) * self.stride + 1
        starts = [position * self.dilation for position in range(self.size)]
        return [inputs[:, start : start + reach : self.stride] for start in starts]

    def numbers(self, length: int) -> list[float]:
        """Returns for each window how many of its positions lie inside the axis."""
        inside = np.zeros(self.before + length + self.after)
        inside[self.before : self.before + length] = 1.0
        starts = [window * self.stride for window in range(self.count)]
        return [float(inside[s : s + self.size * self.dilation : self.dilation].sum()) for s in starts]


def channels_last(inputs: Any, compute: Callable[[Any], Any]) -> Any:
    """Applies `compute` to [B, C, ...] with the channels moved last; returns them to the front."""
    rank = len(inputs.shape)
    output = compute(tf.transpose(inputs, [0, *range(2, rank), 1]))
    return tf.transpose(output, [0, rank - 1, *range(1, rank - 1)])
