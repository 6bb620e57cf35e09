"""Optimizers are inverted, as far as float32 keeps what they were given."""

from __future__ import annotations

import numpy as np
import pytest

from backend.lab.leakage.inferred_gradient import Step, infer_gradient
from backend.numerics.vectors import Vector

RATE = 0.005
GENERATOR = np.random.default_rng(11)
WEIGHTS = GENERATOR.normal(size=2000, scale=0.1).astype(np.float32)
GRADIENT = (GENERATOR.normal(size=2000) * 10.0 ** GENERATOR.uniform(-6, -1, 2000)).astype(np.float32)


def sgd(gradient: Vector) -> Vector:
    return (WEIGHTS - np.float32(RATE) * gradient) - WEIGHTS


def adam(gradient: Vector) -> Vector:
    """Adam's first step: Keras' epsilon of 1e-7 is one of 3.2e-6 with its bias correction."""
    change = np.float32(RATE) * gradient / (np.abs(gradient) + np.float32(1e-7 / 0.001**0.5))
    return (WEIGHTS - change) - WEIGHTS


@pytest.mark.parametrize("step", [sgd, adam])
def test_the_gradient_of_one_step_is_within_what_is_told(step: Step) -> None:
    inferred = infer_gradient(step(GRADIENT), step, RATE, 1)
    assert inferred.exact
    # Rounding makes Adam's step fall a little here and there, so some intervals are too narrow.
    assert np.mean(np.abs(inferred.values - GRADIENT) <= 2.001 * inferred.spread + 1e-12) > 0.95
    assert np.linalg.norm(inferred.values - GRADIENT) < 0.1 * np.linalg.norm(GRADIENT)


def test_what_no_gradient_explains_is_only_a_direction() -> None:
    noised = adam(GRADIENT) + GENERATOR.normal(size=2000).astype(np.float32)
    inferred = infer_gradient(noised, adam, RATE, 1)
    assert not inferred.exact
    assert np.allclose(inferred.values, -noised / RATE, rtol=1e-5)
    assert not inferred.spread.any()


def test_of_several_steps_the_mean_direction_is_told() -> None:
    update = 3 * sgd(GRADIENT)
    inferred = infer_gradient(update, sgd, RATE, 3)
    assert not inferred.exact
    assert np.allclose(inferred.values, -update / (3 * RATE), rtol=1e-5)
