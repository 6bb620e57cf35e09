"""How the mean update becomes the next model version.

A server optimizer is a pure function of (params, mean_update, state, trainable_count) that returns new params
and new state. `params` is the flat float32 vector [P], `mean_update` float64 [P], `state` float32 and empty
before the first round. The first `trainable_count` values are optimized; the rest is non-trainable state
(BatchNormalization's statistics) and takes the plain mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from backend.numerics.vectors import Vector, Vector64

ServerOptimizer: TypeAlias = Callable[[Vector, Vector64, Vector, int], tuple[Vector, Vector]]


def no_state() -> Vector:
    """The state of every server optimizer before its first round."""
    return np.zeros(0, np.float32)


def fedavg(learning_rate: float = 1.0) -> ServerOptimizer:
    """Averaging; with `learning_rate` 1 exactly McMahan et al. 2017, algorithm 1."""

    def step(params: Vector, mean: Vector64, state: Vector, trainable: int) -> tuple[Vector, Vector]:
        return _move(params, mean, learning_rate * mean[:trainable], trainable), state

    return step


def fedavgm(learning_rate: float = 1.0, momentum: float = 0.9) -> ServerOptimizer:
    """Averaging with momentum (Hsu, Qi, Brown 2019, section 4.3): v = momentum * v + mean, w += rate * v.

    The state is v, float32 [trainable_count].
    """

    def step(params: Vector, mean: Vector64, state: Vector, trainable: int) -> tuple[Vector, Vector]:
        velocity = mean[:trainable].copy()
        if len(state):
            velocity += momentum * state.astype(np.float64)
        return _move(params, mean, learning_rate * velocity, trainable), _rounded(velocity)

    return step


SERVER_OPTIMIZERS: dict[str, Callable[..., ServerOptimizer]] = {"fedavg": fedavg, "fedavgm": fedavgm}


def _move(params: Vector, mean: Vector64, change: Vector64, trainable: int) -> Vector:
    moved = params.astype(np.float64)
    moved[:trainable] += change
    moved[trainable:] += mean[trainable:]
    return _rounded(moved)


def _rounded(values: Vector64) -> Vector:
    """float32; what is too large becomes infinite, which the caller looks for."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)
