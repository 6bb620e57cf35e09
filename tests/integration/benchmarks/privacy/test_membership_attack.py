"""Attacks on membership, where the truth is known: scores of normal laws that do or do not depend on it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.privacy.membership import DELTA, halves, noise_for
from benchmarks.privacy.membership_attack import (
    Array,
    Members,
    auc,
    by_likelihood,
    by_threshold,
    caught,
    confidence,
)

MODELS, EXAMPLES = 40, 600


@pytest.fixture(scope="module")
def members() -> Members:
    return halves(MODELS, EXAMPLES)


def scores(members: Members, shift: float) -> Array:
    """Each example has a level of its own, far from the others'; being in raises its score by `shift`."""
    generator = np.random.default_rng(3)
    level = 5.0 * generator.normal(size=members.shape[1])
    drawn: Array = level + shift * members + generator.normal(size=members.shape)
    return drawn


def test_where_membership_changes_nothing_no_attack_does_better_than_guessing(members: Members) -> None:
    for found in (by_threshold(scores(members, 0.0), members), by_likelihood(scores(members, 0.0), members)):
        assert abs(found.auc.mean - 0.5) < 5 * found.auc.error
        assert abs(found.caught.mean - 0.01) < 0.01


def test_the_likelihood_ratio_finds_what_levels_hide_from_a_threshold(members: Members) -> None:
    """Two normal laws a distance s apart have an AUC of Phi(s / sqrt 2)."""
    found = scores(members, 1.5)
    known = 0.5 * (1.0 + math.erf(1.5 / 2))
    by_ratio, by_level = by_likelihood(found, members), by_threshold(found, members)
    # The shadows' estimates cost a little.
    assert known - 0.03 < by_ratio.auc.mean < known + 3 * by_ratio.auc.error
    assert by_level.auc.mean < 0.62
    assert by_ratio.caught.mean > 0.1


def test_every_example_is_in_half_of_the_models(members: Members) -> None:
    assert (members.sum(axis=0) == MODELS // 2).all()
    assert (members.sum(axis=1) == EXAMPLES // 2).all()


def test_auc_is_the_share_of_pairs_in_order_and_ties_count_half() -> None:
    assert auc(np.array([1.0, 3.0]), np.array([0.0, 1.0, 2.0])) == pytest.approx((1.5 + 3) / 6)


def test_the_share_caught_is_above_all_but_so_many_of_the_others() -> None:
    outside = np.arange(100.0)
    inside = np.array([97.5, 98.5, 99.5, 50.0])
    assert caught(inside, outside, 0.0) == 0.25
    assert caught(inside, outside, 0.01) == 0.5
    assert caught(inside, outside, 1.0) == 1.0


def test_confidence_is_the_log_odds_of_the_right_label() -> None:
    told = confidence(np.array([[0.2, 0.8], [1.0, 0.0]]), np.array([1, 1]))
    assert told[0] == pytest.approx(math.log(4))
    assert np.isfinite(told).all()


def test_the_noise_is_the_least_that_keeps_epsilon() -> None:
    """sigma = 1 / mu for delta(epsilon) of mu-Gaussian privacy (Dong, Roth and Su 2022, corollary 2.13)."""

    def delta(epsilon: float, mu: float) -> float:
        def phi(x: float) -> float:
            return 0.5 * math.erfc(-x / 2**0.5)

        return phi(-epsilon / mu + mu / 2) - math.exp(epsilon) * phi(-epsilon / mu - mu / 2)

    noise = noise_for(8.0, 40)
    assert delta(8.0, 40**0.5 / noise) <= DELTA < delta(8.0, 40**0.5 / (noise - 0.01))
