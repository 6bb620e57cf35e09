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


def nesterov(learning_rate: float = 0.7, momentum: float = 0.9) -> ServerOptimizer:
    """Nesterov's momentum (DiLoCo's outer optimizer, Douillard et al. 2023; the defaults are theirs).

    v = momentum * v + mean, w += rate * (mean + momentum * v). The state is v, float32 [trainable_count].
    """

    def step(params: Vector, mean: Vector64, state: Vector, trainable: int) -> tuple[Vector, Vector]:
        (before,) = _slots(state, trainable, 0.0)
        velocity = momentum * before + mean[:trainable]
        ahead = mean[:trainable] + momentum * velocity
        return _move(params, mean, learning_rate * ahead, trainable), _rounded(velocity)

    return step


def fedadagrad(eta: float = 0.1, tau: float = 1e-3) -> ServerOptimizer:
    """Adagrad on the server (Reddi et al. 2021, algorithm 2): v += mean^2, w += eta * mean / (sqrt(v) + tau).

    As in the paper v begins with tau^2. The state is v, float32 [trainable_count].
    """

    def step(params: Vector, mean: Vector64, state: Vector, trainable: int) -> tuple[Vector, Vector]:
        (before,) = _slots(state, trainable, tau**2)
        second = before + mean[:trainable] ** 2
        change = eta * mean[:trainable] / (np.sqrt(second) + tau)
        return _move(params, mean, change, trainable), _rounded(second)

    return step


def fedadam(
    eta: float = 0.1, beta_1: float = 0.9, beta_2: float = 0.99, tau: float = 1e-3
) -> ServerOptimizer:
    """Adam on the server (Reddi et al. 2021, algorithm 2): v = beta_2 * v + (1 - beta_2) * mean^2."""

    def second(before: Vector64, square: Vector64) -> Vector64:
        return beta_2 * before + (1.0 - beta_2) * square

    return _adaptive(second, eta, beta_1, tau)


def fedyogi(
    eta: float = 0.01, beta_1: float = 0.9, beta_2: float = 0.99, tau: float = 1e-3
) -> ServerOptimizer:
    """Yogi on the server (Reddi et al. 2021, algorithm 2): v -= (1 - beta_2) * mean^2 * sign(v - mean^2)."""

    def second(before: Vector64, square: Vector64) -> Vector64:
        moved: Vector64 = before - (1.0 - beta_2) * square * np.sign(before - square)
        return moved

    return _adaptive(second, eta, beta_1, tau)


def _adaptive(
    second_moment: Callable[[Vector64, Vector64], Vector64], eta: float, beta_1: float, tau: float
) -> ServerOptimizer:
    """m = beta_1 * m + (1 - beta_1) * mean, w += eta * m / (sqrt(v) + tau), without correction of bias.

    As in the paper v begins with tau^2. The state is m and v, float32 [2 * trainable_count].
    """

    def step(params: Vector, mean: Vector64, state: Vector, trainable: int) -> tuple[Vector, Vector]:
        before_first, before_second = _slots(state, trainable, 0.0, tau**2)
        first = beta_1 * before_first + (1.0 - beta_1) * mean[:trainable]
        second = second_moment(before_second, mean[:trainable] ** 2)
        change = eta * first / (np.sqrt(second) + tau)
        return _move(params, mean, change, trainable), _rounded(np.concatenate([first, second]))

    return step


SERVER_OPTIMIZERS: dict[str, Callable[..., ServerOptimizer]] = {
    "fedavg": fedavg,
    "fedavgm": fedavgm,
    "fedadagrad": fedadagrad,
    "fedadam": fedadam,
    "fedyogi": fedyogi,
    "nesterov": nesterov,
}


def _slots(state: Vector, length: int, *first: float) -> list[Vector64]:
    """The state in float64, a vector for each value of `first`, which fills it before the first round."""
    if not len(state):
        return [np.full(length, value) for value in first]
    return np.split(state.astype(np.float64), len(first))


def _move(params: Vector, mean: Vector64, change: Vector64, trainable: int) -> Vector:
    moved = params.astype(np.float64)
    moved[:trainable] += change
    moved[trainable:] += mean[trainable:]
    return _rounded(moved)


def _rounded(values: Vector64) -> Vector:
    """float32; what is too large becomes infinite, which the caller looks for."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)
