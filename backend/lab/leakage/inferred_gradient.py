"""Infers the gradient behind an update of one step, by inverting the client's optimizer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.numerics.vectors import Vector

Ordered = NDArray[np.int64]
# Maps a gradient [T] to the update [T] of one step, each value from the one at its place.
Step = Callable[[Vector], Vector]

# Larger gradients of one value are not considered.
LIMIT = np.float32(64.0)
# The share of values that a gradient must explain exactly; noise and sums of updates explain next to none.
EXPLAINED = 0.9


@dataclass(frozen=True)
class InferredGradient:
    """The gradient `values` [T], float32. Each is known up to its `spread` [T].

    If `exact`, one step with it gives the observed update, bit for bit; else it is the update's direction.
    """

    values: Vector
    spread: Vector
    exact: bool


def infer_gradient(update: Vector, step: Step, rate: float, steps: int) -> InferredGradient:
    """Returns the gradient behind `update` [T] of `steps` steps at learning rate `rate`.

    Most optimizers change a value by its own gradient alone, the more the larger it is. So the gradients that
    explain a value of the update, with the rounding of float32, are an interval; its ends are found by
    bisection. Adam's first step, rate * g / (|g| + e), hides less than its form suggests: float32 keeps 1 in
    10^7 of it. If no gradient explains the update (noise, a sum of clients, several steps, an optimizer with
    a norm over all values), the result is -update / (rate * steps).
    """
    if steps == 1:
        low, high = _interval(update, step)
        values = _middle(low, high)
        if np.mean(step(values) == update) >= EXPLAINED:
            return InferredGradient(values, ((high - low) / 2).astype(np.float32), True)
    direction = (-update.astype(np.float64) / (rate * max(steps, 1))).astype(np.float32)
    return InferredGradient(direction, np.zeros_like(direction), False)


def _interval(update: Vector, step: Step) -> tuple[Vector, Vector]:
    """Returns the smallest and the largest float32 [T] whose step gives the update."""
    end = int(_ordered(np.array([LIMIT]))[0])
    # The update falls with the gradient: at `low` it is still above, at `high` it is below.
    smallest = _bisected(-end, end, len(update), lambda values: step(values) <= update)
    beyond = _bisected(-end, end, len(update), lambda values: step(values) < update)
    return _floats(smallest), np.maximum(_floats(smallest), _floats(beyond - 1))


def _bisected(low: int, high: int, count: int, holds: Callable[[Vector], NDArray[np.bool_]]) -> Ordered:
    """Returns for each value the first number, in the order of float32, from which on `holds` is true."""
    lows, highs = np.full(count, low, np.int64), np.full(count, high, np.int64)
    while np.any(lows < highs):
        middles = (lows + highs) // 2
        true = holds(_floats(middles))
        highs, lows = np.where(true, middles, highs), np.where(true, lows, np.minimum(middles + 1, highs))
    return highs


def _middle(low: Vector, high: Vector) -> Vector:
    """Returns a value within each interval: the harmonic mean, since rounding spreads 1/g evenly for Adam."""
    wide_low, wide_high = low.astype(np.float64), high.astype(np.float64)
    same_sign = wide_low * wide_high > 0.0
    total = np.where(same_sign, wide_low + wide_high, 1.0)
    harmonic = 2.0 * wide_low * wide_high / total
    return np.where(same_sign, harmonic, (wide_low + wide_high) / 2.0).astype(np.float32)


def _ordered(values: Vector) -> Ordered:
    """Numbers float32 values in their order; 0 is number 0."""
    bits = values.view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)


def _floats(numbers: Ordered) -> Vector:
    """Returns the float32 values with these numbers."""
    magnitude = np.abs(numbers).astype(np.int32).view(np.float32)
    return np.where(numbers < 0, -magnitude, magnitude).astype(np.float32)
