"""Skellam noise is that distribution, and shares of it add up to it."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ive
from scipy.stats import chi2

from backend.crypto.random_words import keyed_words
from backend.numerics.privacy.skellam import MAX_VARIANCE, Skellam
from backend.peer.training.noise import fresh_words

GOLDEN = json.loads((Path(__file__).parents[3] / "contract" / "vectors" / "skellam.json").read_text())
MILLIONS = 10_000_000


def exact(sampler: Skellam) -> list[int]:
    """P(|X| = k) as the table has it, in units of 2^-63."""
    sums = [0, *map(int, sampler.thresholds), 2**63]
    return [after - before for before, after in pairwise(sums)]


@pytest.mark.parametrize("variance", [0.01, 1.0, 37.5, 1e4, 1e6])
def test_the_table_is_the_distribution_to_within_its_stated_error(variance: float) -> None:
    counts = exact(Skellam(variance))
    orders = np.arange(len(counts))
    truth = ive(orders, variance) * np.where(orders == 0, 1.0, 2.0)
    left_out = max(0.0, 1.0 - math.fsum(truth))
    distance = 0.5 * (float(np.abs(np.array(counts) / 2.0**63 - truth).sum()) + left_out)
    assert distance < 1e-13


@pytest.mark.parametrize("variance", [1.0, 1e3, 1e6, MAX_VARIANCE])
def test_its_moments_are_exactly_those_of_the_difference_of_two_poisson_variables(variance: float) -> None:
    counts = exact(Skellam(variance))
    second = sum(count * k**2 for k, count in enumerate(counts)) / 2**63
    fourth = sum(count * k**4 for k, count in enumerate(counts)) / 2**63
    assert second == pytest.approx(variance, rel=1e-11)
    assert fourth == pytest.approx(3 * variance**2 + variance, rel=1e-10)


@pytest.mark.parametrize("variance", [0.3, 100.0, 4e6])
def test_ten_million_draws_have_a_standard_deviation_within_one_percent_of_the_claimed(
    variance: float,
) -> None:
    drawn = Skellam(variance).draw(fresh_words()(2 * MILLIONS))
    assert abs(drawn.std() / math.sqrt(variance) - 1.0) < 0.01
    kurtosis = 3.0 + 1.0 / variance
    assert abs(drawn.var() / variance - 1.0) < 6 * math.sqrt((kurtosis - 1.0) / MILLIONS)
    assert abs(drawn.mean()) < 6 * math.sqrt(variance / MILLIONS)


def test_draws_pass_a_chi_square_test() -> None:
    sampler = Skellam(30.0)
    drawn = sampler.draw(keyed_words(bytes(32))(2 * MILLIONS))
    shown = np.arange(-25, 26)
    counts = np.array([np.count_nonzero(drawn == k) for k in shown])
    expected = MILLIONS * ive(np.abs(shown), 30.0)
    assert float(np.sum((counts - expected) ** 2 / expected)) < chi2.ppf(1 - 1e-6, len(shown))


def test_shares_of_clients_add_up_to_the_noise_of_the_whole() -> None:
    clients, variance, values = 5, 60.0, 400_000
    share = Skellam(variance / clients)
    total = sum(share.draw(fresh_words()(2 * values)).astype(np.int64) for _ in range(clients))
    counts = np.array([np.count_nonzero(total == k) for k in range(-20, 21)])
    expected = values * ive(np.abs(np.arange(-20, 21)), variance)
    assert float(np.sum((counts - expected) ** 2 / expected)) < chi2.ppf(1 - 1e-6, 41)


@pytest.mark.parametrize("one", GOLDEN, ids=lambda one: str(one["variance"]))
def test_values_for_known_words_are_those_that_browsers_draw(one: dict[str, Any]) -> None:
    sampler = Skellam(one["variance"])
    assert len(sampler.thresholds) == one["entries"]
    np.testing.assert_array_equal(sampler.draw(np.array(one["words"], np.uint32)), one["values"])


@pytest.mark.parametrize("variance", [0.0, -1.0, math.nan, 2 * MAX_VARIANCE])
def test_a_variance_without_a_table_is_refused(variance: float) -> None:
    with pytest.raises(ValueError, match="at most 2"):
        Skellam(variance)
