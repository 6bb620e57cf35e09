"""Resizes images with whole-number weights, so that any order of summation gives the same pixels."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.numerics.preprocess.fitted import Resize

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]

# 255 * 2**40 times 2.6, the largest sum of absolute bicubic weights, is exact in float64.
BITS = 20
ONE = float(1 << BITS)


class Taps(NamedTuple):
    """`weights` [m, taps] of the source pixels from `first` [m] on; 0 past the last pixel."""

    first: NDArray[np.int64]
    weights: Floats


def resize(
    pixels: Pixels, height: tuple[float, float, int], width: tuple[float, float, int], method: Resize
) -> Pixels:
    """Resizes [h, w, channels] to [m_y, m_x, channels]; each axis has (start, length, target pixels).

    Memory depends on the target's size: a photo is never converted to float64 as a whole.
    """
    rows = _weighted(pixels, axis_taps(pixels.shape[0], *height, method))
    sums = _weighted(rows.swapaxes(0, 1), axis_taps(pixels.shape[1], *width, method))
    levels = np.floor((sums + ONE * ONE / 2) / (ONE * ONE)).clip(0, 255)
    return np.ascontiguousarray(levels.astype(np.uint8).swapaxes(0, 1))


def _weighted(values: NDArray[np.uint8] | Floats, taps: Taps) -> Floats:
    """Returns weighted sums along the first axis: [n, other, channels] to [m, other, channels]."""
    sums = np.empty((len(taps.first), *values.shape[1:]))
    for target, first, weights in zip(sums, taps.first.tolist(), taps.weights, strict=True):
        pixels = values[first : first + len(weights)].astype(np.float64)
        np.einsum("k,kwc->wc", weights[: len(pixels)], pixels, out=target)
    return sums


@lru_cache(maxsize=64)
def axis_taps(n: int, start: float, length: float, m: int, method: Resize) -> Taps:
    """Returns the weights of source pixels for each target pixel: whole numbers that add up to 2**20."""
    step = length / m
    target = np.arange(m, dtype=np.float64)[:, None]
    reach = _REACH[method] * max(step, 1.0)
    # One pixel more on each side than can have a weight, so that rounding never cuts off a weight.
    first = np.clip(np.floor(_centre(start, step, target) - reach) - 1, 0, n - 1)
    source = first + np.arange(min(n, int(2 * reach) + 5))
    weights = np.where(source < n, _WEIGHTS[method](source, start, step, target, n), 0.0)
    # Added in ascending order, one at a time: numpy's sum adds pairwise.
    total = np.cumsum(weights, axis=1)[:, -1:]
    whole: Floats = np.floor(weights / total * ONE + 0.5)
    largest = whole.argmax(axis=1)
    whole[np.arange(m), largest] += ONE - whole.sum(axis=1)
    whole.flags.writeable = False
    return Taps(first[:, 0].astype(np.int64), whole)


def _centre(start: float, step: float, target: Floats) -> Floats:
    return start + (target + 0.5) * step


def _nearest(source: Floats, start: float, step: float, target: Floats, n: int) -> Floats:
    nearest = np.clip(np.floor(_centre(start, step, target)), 0, n - 1)
    weights: Floats = (source == nearest).astype(np.float64)
    return weights


def _bilinear(source: Floats, start: float, step: float, target: Floats, _n: int) -> Floats:
    distance = (source + 0.5 - _centre(start, step, target)) / max(step, 1.0)
    weights: Floats = np.maximum(0.0, 1.0 - np.abs(distance))
    return weights


def _bicubic(source: Floats, start: float, step: float, target: Floats, _n: int) -> Floats:
    t = np.abs((source + 0.5 - _centre(start, step, target)) / max(step, 1.0))
    near = (1.5 * t - 2.5) * t * t + 1.0
    far = ((-0.5 * t + 2.5) * t - 4.0) * t + 2.0
    weights: Floats = np.where(t < 1.0, near, np.where(t < 2.0, far, 0.0))
    return weights


def _area(source: Floats, start: float, step: float, target: Floats, _n: int) -> Floats:
    low, high = start + target * step, start + (target + 1.0) * step
    overlap: Floats = np.minimum(source + 1.0, high) - np.maximum(source, low)
    return np.clip(overlap, 0.0, None)


# Distance from a target pixel's centre within which source pixels count, in steps of at least 1 pixel.
_REACH: dict[Resize, float] = {"nearest": 1.0, "bilinear": 1.0, "bicubic": 2.0, "area": 1.0}
_WEIGHTS: dict[Resize, Callable[[Floats, float, float, Floats, int], Floats]] = {
    "nearest": _nearest,
    "bilinear": _bilinear,
    "bicubic": _bicubic,
    "area": _area,
}
