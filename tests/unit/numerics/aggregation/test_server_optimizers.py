from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.numerics.aggregation.server_optimizers import (
    SERVER_OPTIMIZERS,
    ServerOptimizer,
    fedadagrad,
    fedadam,
    fedavg,
    fedavgm,
    fedyogi,
    nesterov,
    no_state,
)

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


def straightforward(name: str, means: list[list[float]], rate: float) -> list[float]:
    """Where one trainable value of 1.0 ends, one number at a time and without vectors."""
    w, m, v = 1.0, 0.0, 1e-3**2
    velocity = 0.0
    for (delta,) in means:
        if name == "nesterov":
            velocity = 0.9 * velocity + delta
            w += rate * (delta + 0.9 * velocity)
            continue
        if name == "fedadagrad":
            m, v = delta, v + delta**2
        else:
            m = 0.9 * m + 0.1 * delta
            if name == "fedadam":
                v = 0.99 * v + 0.01 * delta**2
            else:
                v += 0.01 * delta**2 * (1 if delta**2 > v else -1 if delta**2 < v else 0)
        w += rate * m / (v**0.5 + 1e-3)
    return [w]


@pytest.mark.parametrize("make", [fedadagrad, fedadam, fedyogi, nesterov])
@given(
    means=st.lists(st.lists(st.floats(-2, 2, width=32), min_size=1, max_size=1), min_size=1, max_size=6),
    rate=st.floats(0.01, 1.0),
)
def test_each_follows_its_recurrence(
    make: Callable[..., ServerOptimizer], means: list[list[float]], rate: float
) -> None:
    step, params, state = make(rate), np.ones(1, np.float32), no_state()
    for mean in means:
        params, state = step(params, np.array(mean), state, 1)
    expected = straightforward(make.__name__, means, rate)
    np.testing.assert_allclose(params, expected, rtol=1e-4, atol=1e-4)


def test_defaults_are_those_of_the_papers_and_of_flower() -> None:
    first = {name: make()(PARAMS, MEAN, no_state(), TRAINABLE)[0] for name, make in SERVER_OPTIMIZERS.items()}
    root = np.sqrt(1e-6 + 0.01 * (MEAN[:TRAINABLE] ** 2 - 1e-6)) + 1e-3
    moved = {name: (params - PARAMS)[:TRAINABLE] for name, params in first.items()}
    np.testing.assert_allclose(moved["fedadam"], 0.1 * 0.1 * MEAN[:TRAINABLE] / root, rtol=1e-4)
    root = np.sqrt(1e-6 + 0.01 * MEAN[:TRAINABLE] ** 2) + 1e-3
    np.testing.assert_allclose(moved["fedyogi"], 0.01 * 0.1 * MEAN[:TRAINABLE] / root, rtol=1e-3)
    root = np.sqrt(1e-6 + MEAN[:TRAINABLE] ** 2) + 1e-3
    np.testing.assert_allclose(moved["fedadagrad"], 0.1 * MEAN[:TRAINABLE] / root, rtol=1e-4)
    np.testing.assert_allclose(moved["nesterov"], 0.7 * 1.9 * MEAN[:TRAINABLE], rtol=1e-5)


@every
def test_the_state_survives_as_one_float32_vector(make: Callable[..., ServerOptimizer]) -> None:
    step, params, state = make(), PARAMS, no_state()
    for _ in range(3):
        params, state = step(params, MEAN, np.frombuffer(state.tobytes(), "<f4"), TRAINABLE)
    assert state.ndim == 1
    assert len(state) % TRAINABLE == 0


@every
def test_state_of_the_model_takes_the_plain_mean(make: Callable[..., ServerOptimizer]) -> None:
    step, params, state = make(0.1), PARAMS, no_state()
    for _ in range(3):
        params, state = step(params, MEAN, state, TRAINABLE)
    assert np.array_equal(params[TRAINABLE:], (PARAMS + 3 * MEAN)[TRAINABLE:])


@every
def test_arguments_are_left_as_they_are(make: Callable[..., ServerOptimizer]) -> None:
    params, mean, state = PARAMS.copy(), MEAN.copy(), make()(PARAMS, MEAN, no_state(), TRAINABLE)[1]
    kept = state.copy()
    make()(params, mean, state, TRAINABLE)
    assert np.array_equal(params, PARAMS)
    assert np.array_equal(mean, MEAN)
    assert np.array_equal(state, kept)


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
