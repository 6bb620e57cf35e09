"""Server optimizers: turn the mean update into the next model version.

A server optimizer is a pure function of (params, mean_update, state, trainable_count) that returns new params
and new state. `params` is the flat float32 vector [P], `mean_update` float64 [P], `state` float32 and empty
before the first round. The first `trainable_count` values are optimized; the rest is non-trainable state
(BatchNormalization's statistics) and takes the plain mean.

Each value is optimized independently, so values are processed block by block: temporary whole vectors would
cost more than the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from backend.numerics.vectors import Vector, Vector64, blocks

# (mean, slots before) -> (change of the params, slots after), for a block of values in float64.
Rule: TypeAlias = Callable[[Vector64, list[Vector64]], tuple[Vector64, list[Vector64]]]
ServerOptimizer: TypeAlias = Callable[[Vector, Vector64, Vector, int], tuple[Vector, Vector]]


def no_state() -> Vector:
    """Returns the state of every server optimizer before its first round."""
    return np.zeros(0, np.float32)


def fedavg(learning_rate: float = 1.0) -> ServerOptimizer:
    """Averaging; with `learning_rate` 1 exactly McMahan et al. 2017, algorithm 1."""

    def rule(mean: Vector64, _before: list[Vector64]) -> tuple[Vector64, list[Vector64]]:
        return learning_rate * mean, []

    return _by_blocks(rule)


def fedavgm(learning_rate: float = 1.0, momentum: float = 0.9) -> ServerOptimizer:
    """Averaging with momentum (Hsu, Qi, Brown 2019, section 4.3): v = momentum * v + mean, w += rate * v.

    The state is v, float32 [trainable_count].
    """

    def rule(mean: Vector64, before: list[Vector64]) -> tuple[Vector64, list[Vector64]]:
        velocity = mean + momentum * before[0]
        return learning_rate * velocity, [velocity]

    return _by_blocks(rule, 0.0)


def nesterov(learning_rate: float = 0.7, momentum: float = 0.9) -> ServerOptimizer:
    """Nesterov's momentum (DiLoCo's outer optimizer, Douillard et al. 2023; the defaults are theirs).

    v = momentum * v + mean, w += rate * (mean + momentum * v). The state is v, float32 [trainable_count].
    """

    def rule(mean: Vector64, before: list[Vector64]) -> tuple[Vector64, list[Vector64]]:
        velocity = momentum * before[0] + mean
        return learning_rate * (mean + momentum * velocity), [velocity]

    return _by_blocks(rule, 0.0)


def fedadagrad(eta: float = 0.1, tau: float = 1e-3) -> ServerOptimizer:
    """Adagrad on the server (Reddi et al. 2021, algorithm 2): v += mean^2, w += eta * mean / (sqrt(v) + tau).

    As in the paper v begins with tau^2. The state is v, float32 [trainable_count].
    """

    def rule(mean: Vector64, before: list[Vector64]) -> tuple[Vector64, list[Vector64]]:
        second = before[0] + mean**2
        return eta * mean / (np.sqrt(second) + tau), [second]

    return _by_blocks(rule, tau**2)


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
    """m = beta_1 * m + (1 - beta_1) * mean, w += eta * m / (sqrt(v) + tau), without bias correction.

    As in the paper v begins with tau^2. The state is m and v, float32 [2 * trainable_count].
    """

    def rule(mean: Vector64, before: list[Vector64]) -> tuple[Vector64, list[Vector64]]:
        first = beta_1 * before[0] + (1.0 - beta_1) * mean
        second = second_moment(before[1], mean**2)
        return eta * first / (np.sqrt(second) + tau), [first, second]

    return _by_blocks(rule, 0.0, tau**2)


SERVER_OPTIMIZERS: dict[str, Callable[..., ServerOptimizer]] = {
    "fedavg": fedavg,
    "fedavgm": fedavgm,
    "fedadagrad": fedadagrad,
    "fedadam": fedadam,
    "fedyogi": fedyogi,
    "nesterov": nesterov,
}


def _by_blocks(rule: Rule, *first: float) -> ServerOptimizer:
    """Returns the server optimizer of `rule`; `first` has the initial value of each of its slots.

    Values too large for float32 become infinite; the caller checks for that.
    """

    def step(params: Vector, mean: Vector64, state: Vector, trainable: int) -> tuple[Vector, Vector]:
        moved = np.empty(len(params), np.float32)
        slots = np.empty((len(first), trainable), np.float32)
        old_slots = state.reshape(slots.shape) if len(state) else None
        with np.errstate(over="ignore"):
            for part in blocks(trainable):
                change, after = rule(mean[part], _before(old_slots, part, first))
                np.add(params[part], change, out=moved[part], casting="same_kind")
                for slot, values in zip(slots, after, strict=True):
                    slot[part] = values
            np.add(params[trainable:], mean[trainable:], out=moved[trainable:], casting="same_kind")
        return moved, slots.ravel()

    return step


def _before(slots: Vector | None, part: slice, first: tuple[float, ...]) -> list[Vector64]:
    """Returns a block of each slot before the step, in float64."""
    if slots is None:
        return [np.full(part.stop - part.start, value) for value in first]
    return [slot[part].astype(np.float64) for slot in slots]
