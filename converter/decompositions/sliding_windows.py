"""Windows that slide along the first spatial axis, as slices of equal shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Window:
    """`count` windows of `size` positions `dilation` apart, each `stride` further; padding at both ends."""

    size: int
    stride: int
    dilation: int
    count: int
    before: int
    after: int

    @staticmethod
    def along(length: int, size: int, stride: int, padding: str, dilation: int = 1) -> Window:
        """TensorFlow's windows over an axis of `length` for padding "valid" or "same"."""
        reach = (size - 1) * dilation + 1
        if padding.lower() == "valid":
            return Window(size, stride, dilation, (length - reach) // stride + 1, 0, 0)
        count = -(-length // stride)
        missing = max((count - 1) * stride + reach - length, 0)
        return Window(size, stride, dilation, count, missing // 2, missing - missing // 2)

    def slices(self, inputs: Any, filler: float) -> list[Any]:
        """For each position of the window a tensor [B, count, ...]: what lies there in every window."""
        if self.before or self.after:
            paddings = [[0, 0]] * len(inputs.shape)
            paddings[1] = [self.before, self.after]
            inputs = tf.pad(inputs, paddings, constant_values=filler)
        reach = (self.count - 1) * self.stride + 1
        starts = [position * self.dilation for position in range(self.size)]
        return [inputs[:, start : start + reach : self.stride] for start in starts]

    def numbers(self, length: int) -> list[float]:
        """How many of its positions each window has inside the axis."""
        inside = np.zeros(self.before + length + self.after)
        inside[self.before : self.before + length] = 1.0
        starts = [window * self.stride for window in range(self.count)]
        return [float(inside[s : s + self.size * self.dilation : self.dilation].sum()) for s in starts]


def channels_last(inputs: Any, compute: Callable[[Any], Any]) -> Any:
    """`compute` on [B, C, ...] with the channels moved behind, and its result with channels first again."""
    rank = len(inputs.shape)
    output = compute(tf.transpose(inputs, [0, *range(2, rank), 1]))
    return tf.transpose(output, [0, rank - 1, *range(1, rank - 1)])
