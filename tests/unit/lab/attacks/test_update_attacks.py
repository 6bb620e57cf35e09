"""Attacks on updates: their definitions by numbers, what they never do, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.lab.attacks.attack import AttackedRound, UpdateRows
from backend.lab.attacks.blind_attacks import (
    free_rider,
    gaussian_noise,
    model_replacement,
    not_finite,
    scaled,
    sign_flip,
    stale_replay,
    sybils,
)
from backend.lab.attacks.informed_attacks import (
    DIRECTIONS,
    Direction,
    a_little_is_enough,
    flame_adaptive,
    inner_product,
    mimic,
    min_max,
    min_sum,
    supported_z,
)
from backend.lab.attacks.table import UPDATE_ATTACKS
from backend.numerics.aggregators.similarity_rules import cosines, majority
from backend.numerics.aggregators.update_set import UpdateSet


def rows(*values: list[float]) -> UpdateRows:
    return np.array(values, np.float32)


def drawn(seed: int, attackers: int = 3, honest: int = 7, size: int = 40, number: int = 0) -> AttackedRound:
    random = np.random.default_rng(seed)
    common = random.standard_normal(size)
    own, others = (common + random.standard_normal((n, size)) for n in (attackers, honest))
    earlier = [random.standard_normal((attackers, size)).astype(np.float32) for _ in range(number)]
    return AttackedRound(number, own.astype(np.float32), others.astype(np.float32), earlier)


KNOWN = AttackedRound(
    0, own=rows([1, 2], [3, 4]), honest=rows([0, 2], [2, 2], [4, 8]), earlier=[rows([5, 5], [6, 6])]
)


def test_own_updates_are_flipped_scaled_and_replaced() -> None:
    assert sign_flip(4.0)(KNOWN).tolist() == [[-4, -8], [-12, -16]]
    assert scaled(10.0)(KNOWN).tolist() == [[10, 20], [30, 40]]
    # 5 participants, 2 attackers, rate 0.5: n / (k rate) = 5.
    assert model_replacement(0.5)(KNOWN).tolist() == [[5, 10], [15, 20]]


def test_a_replaced_model_is_the_attackers_own_where_honest_updates_cancel_out() -> None:
    honest = rows([1, -2], [-1, 2])
    own = rows([7, 3])
    sent = model_replacement()(AttackedRound(0, own, honest))
    np.testing.assert_allclose(np.concatenate([sent, honest]).mean(axis=0), own[0], rtol=1e-6)


def test_the_honest_mean_is_turned_and_moved_by_deviations() -> None:
    # Means 2 and 4, deviations sqrt(8/3) and sqrt(8).
    assert inner_product(2.0)(KNOWN).tolist() == [[-4, -8]] * 2
    expected = [2 + 1.5 * np.sqrt(8 / 3), 4 + 1.5 * np.sqrt(8)]
    np.testing.assert_allclose(a_little_is_enough(1.5)(KNOWN), [expected] * 2, rtol=1e-6)


@pytest.mark.parametrize(
    ("participants", "attackers", "share"),
    [(50, 12, 24 / 38), (10, 3, 4 / 7), (20, 8, 9 / 12), (4, 1, 1 / 3)],
)
def test_the_supported_deviation_is_the_papers_quantile(
    participants: int, attackers: int, share: float
) -> None:
    from scipy.stats import norm

    assert supported_z(participants, attackers) == pytest.approx(max(norm.ppf(share), 0.0))
    assert supported_z(3, 2) == 3.0


def test_mimics_copy_the_honest_update_that_stands_out() -> None:
    honest = rows([1, 0], [1, 0.1], [1, -0.1], [1, 9])
    assert mimic()(AttackedRound(0, rows([1, 0], [1, 0]), honest)).tolist() == [[1, 9]] * 2


def largest_distance(update: UpdateRows, honest: UpdateRows) -> float:
    return float(np.linalg.norm(honest.astype(np.float64) - update, axis=1).max())


@pytest.mark.parametrize("direction", DIRECTIONS)
@given(seed=st.integers(0, 2**31), honest=st.integers(2, 9))
def test_min_max_goes_exactly_as_far_as_honest_updates_are_apart(
    direction: Direction, seed: int, honest: int
) -> None:
    known = drawn(seed, honest=honest)
    sent = min_max(direction)(known)
    apart = max(float(np.linalg.norm(a - b)) for a, b in combinations(known.honest.astype(np.float64), 2))
    assert largest_distance(sent[0], known.honest) == pytest.approx(apart, rel=1e-4)


@pytest.mark.parametrize("direction", DIRECTIONS)
@given(seed=st.integers(0, 2**31), honest=st.integers(2, 9))
def test_min_sum_reaches_the_largest_sum_of_an_honest_update(
    direction: Direction, seed: int, honest: int
) -> None:
    known = drawn(seed, honest=honest)
    wide = known.honest.astype(np.float64)
    sums = [((wide - row) ** 2).sum() for row in wide]
    sent = min_sum(direction)(known)[0]
    assert ((wide - sent) ** 2).sum() == pytest.approx(max(sums), rel=1e-4)


@given(seed=st.integers(0, 2**31))
def test_the_adaptive_attack_stays_in_flames_cluster_and_below_the_median_norm(seed: int) -> None:
    known = drawn(seed, size=200)
    against = AttackedRound(0, -5 * known.own, known.honest)
    sent = flame_adaptive()(against)
    norms = np.linalg.norm(known.honest, axis=1)
    assert (np.linalg.norm(sent, axis=1) <= np.median(norms) * (1 + 1e-5)).all()
    mean = known.honest_mean()
    mean /= np.linalg.norm(mean)
    honest_cosines = known.honest @ mean / norms
    sent_cosines = sent @ mean / np.linalg.norm(sent, axis=1)
    assert (sent_cosines >= np.median(honest_cosines) - 1e-5).all()
    # Its own part survives: it is not the honest mean.
    assert (sent_cosines < 0.999).all()


def test_flame_drops_the_plain_attackers_and_keeps_adaptive_ones() -> None:
    known = drawn(3, size=400)
    against = AttackedRound(0, -known.own, known.honest)

    def kept(sent: UpdateRows) -> np.ndarray:  # type: ignore[type-arg]
        updates = UpdateSet(np.concatenate([sent, known.honest]))
        return majority(cosines(updates.distances))[: len(sent)]

    assert not kept(against.own).any()
    assert kept(flame_adaptive()(against)).all()


def test_sybils_are_one_update_with_little_noise() -> None:
    known = drawn(1)
    sent = sybils(0.01, seed=3)(known)
    off = np.linalg.norm(sent - known.own[0], axis=1) / np.linalg.norm(known.own[0])
    np.testing.assert_allclose(off, 0.01, rtol=1e-3)
    assert len({row.tobytes() for row in sent}) == 3


def test_noise_has_its_deviation_and_differs_by_round_and_attacker() -> None:
    for make, deviation in ((gaussian_noise, 10.0), (free_rider, 0.001)):
        first, second = (make(seed=2)(drawn(0, size=20_000, number=number)) for number in (0, 1))
        assert first.std() == pytest.approx(deviation, rel=0.02)
        assert abs(first.mean()) < 0.02 * deviation
        assert len({row.tobytes() for row in (*first, *second)}) == 6
    assert not free_rider(0.0)(KNOWN).any()


def test_an_old_update_is_sent_again_the_oldest_in_the_first_rounds() -> None:
    late = drawn(0, number=7)
    np.testing.assert_array_equal(stale_replay(5)(late), late.earlier[2])
    np.testing.assert_array_equal(stale_replay(5)(KNOWN), KNOWN.earlier[0])
    first = drawn(0)
    np.testing.assert_array_equal(stale_replay(5)(first), first.own)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_nothing_finite_is_sent(value: float) -> None:
    sent = not_finite(value)(KNOWN)
    np.testing.assert_array_equal(sent, np.full((2, 2), value, np.float32))


@pytest.mark.parametrize("name", UPDATE_ATTACKS)
@given(seed=st.integers(0, 2**31), attackers=st.integers(1, 4), honest=st.integers(1, 6))
def test_every_attack_is_deterministic_and_writes_to_nothing_it_is_given(
    name: str, seed: int, attackers: int, honest: int
) -> None:
    known = drawn(seed, attackers, honest, size=5, number=2)
    before = [known.own.copy(), known.honest.copy(), *(one.copy() for one in known.earlier)]
    sent, again = (UPDATE_ATTACKS[name]()(known) for _ in range(2))
    assert sent.dtype == np.float32
    assert sent.shape == known.own.shape
    np.testing.assert_array_equal(sent, again)
    assert name in ("nan", "infinity") or np.isfinite(sent).all()
    for old, new in zip(before, [known.own, known.honest, *known.earlier], strict=True):
        np.testing.assert_array_equal(old, new)
        assert not np.shares_memory(sent, new)


@pytest.mark.parametrize("name", UPDATE_ATTACKS)
def test_equal_and_zero_updates_are_no_exception(name: str) -> None:
    for value in (0.0, 1.0):
        same = AttackedRound(1, np.full((2, 4), value, np.float32), np.full((3, 4), value, np.float32))
        sent = UPDATE_ATTACKS[name]()(same)
        assert name in ("nan", "infinity") or np.isfinite(sent).all()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: sign_flip(0.0), "scale is a finite number above 0"),
        (lambda: scaled(float("nan")), "factor is a finite number above 0"),
        (lambda: gaussian_noise(-1.0), "deviation is a finite number above 0"),
        (lambda: free_rider(-1.0), "deviation is a finite number from 0"),
        (lambda: not_finite(1.0), "NaN or infinity, not 1.0"),
        (lambda: a_little_is_enough(0.0), "z is a finite number above 0"),
        (lambda: inner_product(-1.0), "epsilon is a finite number above 0"),
        (lambda: min_max("up"), "direction is one of deviation, mean, sign"),  # type: ignore[arg-type]
        (lambda: min_sum("up"), "direction is one of deviation, mean, sign"),  # type: ignore[arg-type]
        (lambda: model_replacement(0.0), "server_learning_rate is a finite number above 0"),
        (lambda: stale_replay(0), "rounds from 1 up"),
        (lambda: flame_adaptive(1.5), "quantile is from 0 to 1"),
        (lambda: sybils(-0.1), "noise is a finite number from 0"),
        (lambda: supported_z(3, 3), "at least one must be honest"),
        (lambda: AttackedRound(0, rows([1, 2]), np.empty((0, 2), np.float32)), "at least one of each"),
        (lambda: AttackedRound(0, rows([1, 2]), rows([1, 2, 3])), "one length"),
    ],
)
def test_bad_arguments_are_refused_in_words(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize("name", UPDATE_ATTACKS)
def test_an_attack_that_does_not_train_sends_the_same_whatever_its_own_updates_are(name: str) -> None:
    attack, known = UPDATE_ATTACKS[name](), drawn(6, number=1)
    untrained = AttackedRound(known.number, np.zeros_like(known.own), known.honest, known.earlier)
    same = np.array_equal(attack(known), attack(untrained), equal_nan=True)
    # A replay sends what it trained rounds before.
    assert same == (not attack.trains or name == "stale-replay")
