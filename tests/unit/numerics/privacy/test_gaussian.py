"""Gaussian noise has the scale that it claims."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2

from backend.crypto.random_words import keyed_words
from backend.numerics.privacy import deviation
from backend.numerics.privacy.gaussian import add_gaussian, gaussian
from backend.peer.training.noise import fresh_words

MILLIONS = 10_000_000


@pytest.mark.parametrize(("clip", "multiplier"), [(1.0, 0.1), (20.0, 1.0), (0.25, 4.0)])
def test_ten_million_draws_have_a_standard_deviation_within_one_percent_of_the_claimed(
    clip: float, multiplier: float
) -> None:
    noise = np.zeros(MILLIONS)
    add_gaussian(noise, deviation(clip, multiplier), fresh_words())
    claimed = clip * multiplier
    assert abs(noise.std() / claimed - 1.0) < 0.01
    # Nearer still: 10^7 draws say it to 0.02 %.
    assert abs(noise.std() / claimed - 1.0) < 6 / math.sqrt(2 * MILLIONS)
    assert abs(noise.mean()) < 6 * claimed / math.sqrt(MILLIONS)


def test_its_shape_is_that_of_the_normal_distribution_far_into_the_tails() -> None:
    values = gaussian(keyed_words(bytes(32))(2 * MILLIONS))
    assert abs(np.mean(values**3)) < 6 * math.sqrt(15 / MILLIONS)
    assert abs(np.mean(values**4) - 3.0) < 6 * math.sqrt(96 / MILLIONS)
    for bound in (1.0, 2.0, 3.0, 4.0, 5.0):
        expected = MILLIONS * math.erfc(bound / math.sqrt(2))
        found = int(np.count_nonzero(np.abs(values) > bound))
        assert abs(found - expected) < 6 * math.sqrt(expected) + 1
    edges = np.linspace(-4, 4, 81)
    inner = np.array([0.5 * math.erfc(-edge / math.sqrt(2)) for edge in edges])
    expected_counts = MILLIONS * np.diff(np.concatenate([[0.0], inner, [1.0]]))
    counts, _ = np.histogram(values, np.concatenate([[-np.inf], edges, [np.inf]]))
    statistic = float(np.sum((counts - expected_counts) ** 2 / expected_counts))
    assert statistic < chi2.ppf(1 - 1e-6, len(counts) - 1)


def test_odd_lengths_and_blocks_change_nothing() -> None:
    long, short = np.zeros(200_001), np.zeros(70_000)
    add_gaussian(long, 1.0, keyed_words(bytes(32)))
    add_gaussian(short, 1.0, keyed_words(bytes(32)))
    np.testing.assert_array_equal(long[:70_000], short)


def test_streams_of_one_key_differ_and_can_be_had_again() -> None:
    first, again, other = (
        keyed_words(bytes(32), 5)(8),
        keyed_words(bytes(32), 5)(8),
        keyed_words(bytes(32), 6)(8),
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
