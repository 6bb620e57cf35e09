"""How far a bundle may differ from Keras where Keras' own numbers move by rounding."""

from __future__ import annotations

import pytest

from converter.validation.second_opinion.opinion import _wrong
from converter.validation.second_opinion.step_pair import Comparison

pytestmark = pytest.mark.tensorflow
FIRST, SECOND, METRIC = "the gradient of a", "the gradient of b", "the metric accuracy in training"


def compared(differences: dict[str, float], noise: dict[str, float]) -> Comparison:
    comparison = Comparison(lambda: noise)
    for name in (FIRST, SECOND):
        comparison.kinds[name] = "gradient"
    comparison.kinds[METRIC] = "metrics"
    comparison.differences |= differences
    return comparison


def test_a_gradient_may_differ_by_ten_times_its_own_noise() -> None:
    assert _wrong(compared({FIRST: 9e-4}, {FIRST: 1e-4})) == {}
    assert _wrong(compared({FIRST: 2e-3}, {FIRST: 1e-4})) == {FIRST: 2e-3}


def test_the_noise_of_another_gradient_counts_only_where_it_is_large() -> None:
    assert _wrong(compared({FIRST: 5e-3}, {FIRST: 0.0, SECOND: 9e-4})) == {FIRST: 5e-3}
    assert _wrong(compared({FIRST: 5e-3}, {FIRST: 0.0, SECOND: 2e-3})) == {}


def test_no_noise_explains_a_fifth() -> None:
    assert _wrong(compared({FIRST: 0.3}, {FIRST: 0.1})) == {FIRST: 0.3}


def test_a_metric_that_jumps_leaves_the_noise_of_gradients_as_it_is() -> None:
    comparison = compared({FIRST: 9e-3, METRIC: 1250.0}, {FIRST: 2e-3, METRIC: 0.0})
    assert _wrong(comparison) == {METRIC: 1250.0}
    assert comparison.rounding == 2e-3


def test_without_noise_a_metric_is_wrong() -> None:
    comparison = compared({METRIC: 0.5}, {})
    assert _wrong(comparison) == {METRIC: 0.5}
    assert comparison.rounding == 0.0
