"""Clipped sums, adaptive clips and trees of noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.crypto.random_words import keyed_words
from backend.numerics.privacy import Words
from backend.numerics.privacy.clipping import AdaptiveClip, clip_factor, norm_of
from backend.numerics.privacy.gaussian import add_gaussian
from backend.numerics.privacy.summing import PrivateMean
from backend.numerics.privacy.tree import Node, add_tree_noise, cover, levels, squared_sensitivity
from backend.numerics.vectors import Vector64


def silence(_values: Vector64) -> None:
    """No noise."""


def test_a_mean_without_noise_is_that_of_the_clipped_updates_whatever_their_examples() -> None:
    mean = PrivateMean(2, 1.0, silence)
    mean.add(np.array([3.0, 4.0], np.float32), 1000)
    mean.add(np.array([0.0, 0.5], np.float32), 1)
    np.testing.assert_allclose(mean.mean(), [0.3, 0.65])
    assert (mean.count, mean.within) == (2, 1)


def test_no_client_changes_the_sum_by_more_than_the_clip() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        updates = [(100 * rng.normal(size=1000)).astype(np.float32) for _ in range(5)]
        with_all, without = PrivateMean(1000, 0.7, silence), PrivateMean(1000, 0.7, silence)
        for update in updates:
            with_all.add(update)
        for update in updates[1:]:
            without.add(update)
        change = 5 * with_all.mean() - 4 * without.mean()
        assert float(np.linalg.norm(change)) <= 0.7 * (1 + 1e-9)


def test_noise_is_added_to_the_sum_before_it_is_divided() -> None:
    def add_six(values: Vector64) -> None:
        values += 6.0

    mean = PrivateMean(3, 1.0, add_six)
    for _ in range(3):
        mean.add(np.zeros(3, np.float32))
    np.testing.assert_array_equal(mean.mean(), [2.0, 2.0, 2.0])


def test_wrong_shapes_and_empty_means_are_refused() -> None:
    mean = PrivateMean(3, 1.0, silence)
    with pytest.raises(ValueError, match="cannot take"):
        mean.add(np.zeros(2, np.float32))
    with pytest.raises(ValueError, match="at least one update"):
        mean.mean()


def test_norms_are_summed_in_float64_over_all_blocks() -> None:
    update = np.full(200_000, 1e20, np.float32)
    assert norm_of(update) == pytest.approx(1e20 * math.sqrt(200_000), rel=1e-6)
    assert clip_factor(0.0, 1.0) == 1.0


def test_an_adaptive_clip_finds_the_quantile_of_the_norms() -> None:
    adaptive, clip = AdaptiveClip(0.5, 0.2, 1.0), 0.1
    norms = np.random.default_rng(1).lognormal(1.0, 0.5, 2000)
    for _ in range(200):
        clip = adaptive.next(clip, int(np.count_nonzero(norms <= clip)), len(norms))
    assert clip == pytest.approx(float(np.median(norms)), rel=0.02)


def test_noise_of_the_sum_makes_up_for_what_the_count_tells() -> None:
    z = AdaptiveClip(0.5, 0.2, 5.0).multiplier_of_sum(1.0)
    # Two Gaussians together are as private as one with the inverse squares added up.
    assert z**-2 + 5.0**-2 == pytest.approx(1.0)
    assert z > 1.0
    with pytest.raises(ValueError, match="over the noise multiplier 1"):
        AdaptiveClip(0.5, 0.2, 1.0).multiplier_of_sum(1.0)


@given(st.integers(1, 5000))
def test_nodes_cover_each_round_once(rounds: int) -> None:
    covered = [at for level, number in cover(rounds) for at in range(number << level, (number + 1) << level)]
    assert covered == list(range(rounds))
    assert len(cover(rounds)) == rounds.bit_count() <= levels(rounds)


def test_running_sums_carry_the_noise_of_their_cover_alone() -> None:
    key, size = bytes(range(32)), 1000

    def node_words(node: Node) -> Words:
        return keyed_words(key, (node[0] << 40) + node[1])

    running = np.zeros(size)
    for number in range(1, 14):
        add_tree_noise(running, number, 2.0, node_words)
        expected = np.zeros(size)
        for node in cover(number):
            noise = np.zeros(size)
            add_gaussian(noise, 2.0, node_words(node))
            expected += noise
        np.testing.assert_allclose(running, expected, atol=1e-9)
        assert running.std() == pytest.approx(2.0 * math.sqrt(number.bit_count()), rel=0.1)


@given(st.lists(st.integers(0, 63), min_size=1, max_size=12, unique=True))
def test_no_choice_of_rounds_changes_the_nodes_by_more_than_stated(taken: list[int]) -> None:
    exact = sum(
        sum(1 for at in taken if at >> level == node) ** 2
        for level in range(levels(64))
        for node in range(64 >> level)
    )
    assert exact <= squared_sensitivity(len(taken), 64)


def test_a_client_that_comes_once_is_in_one_node_of_each_level() -> None:
    assert [squared_sensitivity(1, rounds) for rounds in (1, 3, 4, 100)] == [1, 2, 3, 7]


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 1.0, 7.0]))
def test_no_update_counts_more_than_its_clip(seed: int, clip: float) -> None:
    update = np.random.default_rng(seed).standard_normal(50).astype(np.float32)
    norm = float(np.linalg.norm(update.astype(np.float64)))
    assert norm_of(update) == pytest.approx(norm)
    assert clip_factor(norm_of(update), clip) * norm <= clip * (1 + 1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_norm_of_what_is_no_number_is_none(bad: float) -> None:
    assert not math.isfinite(norm_of(np.array([1.0, bad], np.float32)))


@given(st.integers(1, 200), st.integers(1, 200), st.integers(1, 200))
def test_a_tree_that_is_begun_anew_changes_no_bound(before: int, after: int, more: int) -> None:
    rounds = before + after + more
    parts = squared_sensitivity(before, rounds) + squared_sensitivity(after, rounds)
    assert parts <= squared_sensitivity(before + after, rounds)
