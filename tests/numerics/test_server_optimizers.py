from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from backend.numerics.server_optimizers import SERVER_OPTIMIZERS, ServerOptimizer, fedavg, fedavgm, no_state

PARAMS = np.array([1.0, -2.0, 3.0, 10.0, 20.0], np.float32)
MEAN = np.array([0.5, 0.25, -1.0, 4.0, -8.0])
TRAINABLE = 3

every = pytest.mark.parametrize("make", SERVER_OPTIMIZERS.values(), ids=list(SERVER_OPTIMIZERS))


def test_fedavg_adds_the_mean() -> None:
    params, state = fedavg()(PARAMS, MEAN, no_state(), TRAINABLE)
    assert np.array_equal(params, (PARAMS + MEAN).astype(np.float32))
    assert len(state) == 0


def test_fedavgm_follows_its_recurrence() -> None:
    step = fedavgm(learning_rate=0.5, momentum=0.9)
    params, state, velocity, expected = PARAMS, no_state(), np.zeros(TRAINABLE), PARAMS.astype(np.float64)
    for _ in range(5):
        params, state = step(params, MEAN, state, TRAINABLE)
        velocity = 0.9 * velocity + MEAN[:TRAINABLE]
        expected[:TRAINABLE] += 0.5 * velocity
        expected[TRAINABLE:] += MEAN[TRAINABLE:]
        np.testing.assert_allclose(state, velocity, rtol=1e-6)
        np.testing.assert_allclose(params, expected, rtol=1e-6)


def test_fedavgm_without_momentum_is_fedavg() -> None:
    averaged, _ = fedavg(0.7)(PARAMS, MEAN, no_state(), TRAINABLE)
    moved, state = fedavgm(0.7, 0.0)(PARAMS, MEAN, no_state(), TRAINABLE)
    again, _ = fedavgm(0.7, 0.0)(moved, MEAN, state, TRAINABLE)
    assert np.array_equal(averaged, moved)
    assert np.array_equal(again, fedavg(0.7)(averaged, MEAN, no_state(), TRAINABLE)[0])


@every
def test_state_of_the_model_takes_the_plain_mean(make: Callable[..., ServerOptimizer]) -> None:
    step, params, state = make(learning_rate=0.1), PARAMS, no_state()
    for _ in range(3):
        params, state = step(params, MEAN, state, TRAINABLE)
    assert np.array_equal(params[TRAINABLE:], (PARAMS + 3 * MEAN)[TRAINABLE:])


@every
def test_arguments_are_left_as_they_are(make: Callable[..., ServerOptimizer]) -> None:
    params, mean, state = PARAMS.copy(), MEAN.copy(), np.ones(TRAINABLE, np.float32)
    make()(params, mean, state, TRAINABLE)
    assert np.array_equal(params, PARAMS)
    assert np.array_equal(mean, MEAN)
    assert np.array_equal(state, np.ones(TRAINABLE))


@every
def test_no_update_and_no_state_change_nothing(make: Callable[..., ServerOptimizer]) -> None:
    params, _ = make()(PARAMS, np.zeros(5), no_state(), TRAINABLE)
    assert np.array_equal(params, PARAMS)


@every
def test_the_same_arguments_give_the_same_answer(make: Callable[..., ServerOptimizer]) -> None:
    step = make()
    answers = [step(PARAMS, MEAN, no_state(), TRAINABLE) for _ in range(3)]
    assert all(np.array_equal(a, b) and np.array_equal(s, t) for (a, s), (b, t) in pairwise(answers))


@every
def test_vectors_stay_float32(make: Callable[..., ServerOptimizer]) -> None:
    params, state = make()(PARAMS, MEAN, no_state(), TRAINABLE)
    assert params.dtype == state.dtype == np.float32
