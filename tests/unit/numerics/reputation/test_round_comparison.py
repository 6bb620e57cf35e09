"""How far single updates are from those of a round, and how many others they oppose."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.numerics.aggregators.update_set import UpdateSet
from backend.numerics.reputation.round_comparison import FEWEST, RoundComparison, compare_round, most_false

SIZE = 400
Rows = NDArray[np.float32]


def honest(count: int, seed: int = 1) -> Rows:
    random = np.random.default_rng(seed)
    common = random.standard_normal(SIZE)
    return (common + 2.0 * random.standard_normal((count, SIZE))).astype(np.float32)


def compared(rows: Rows, steps: list[int] | None = None) -> RoundComparison:
    return compare_round(UpdateSet(rows), steps or [10] * len(rows))


def test_a_third_may_be_false() -> None:
    assert [most_false(count) for count in (0, 1, 2, 3, 8, 9, 10)] == [0, 0, 0, 1, 2, 3, 3]


@pytest.mark.parametrize("count", [6, 9, 10, 21])
def test_a_third_cannot_hide_behind_one_another(count: int) -> None:
    rows, false = honest(count), most_false(count)
    rows[:false] *= 10
    found = compared(rows)
    assert found.distances[:false].min() > 5
    assert found.distances[false:].max() < 1.2


def test_honest_updates_are_at_the_usual_distance_and_oppose_few() -> None:
    found = compared(honest(10))
    assert found.distances.min() > 0.8
    assert found.distances.max() < 1.2
    assert found.opposed.max() <= 0.2


@pytest.mark.parametrize("factor", [5.0, 100.0, 1e6])
def test_an_update_that_is_too_long_is_far_by_its_length(factor: float) -> None:
    rows = honest(10)
    rows[3] *= factor
    found = compared(rows)
    assert found.distances[3] == pytest.approx(factor, rel=0.2)
    assert np.delete(found.distances, 3).max() < 1.2


def test_a_reversed_update_opposes_the_others() -> None:
    rows = honest(10)
    rows[:3] *= -1
    opposed = compared(rows).opposed
    assert opposed[:3].min() >= 2 / 3
    assert opposed[3:].max() <= 0.5


def test_false_updates_near_the_centre_do_not_make_others_far() -> None:
    rows = honest(10)
    rows[:3] = rows[3:].mean(axis=0)
    assert compared(rows).distances.max() < 1.3


def test_false_updates_against_one_client_are_no_two_thirds() -> None:
    rows = honest(10)
    rows[:3] = -rows[9]
    found = compared(rows)
    assert found.opposed[9] < 2 / 3
    assert found.distances[9] < 2


def test_an_update_of_many_steps_may_be_longer() -> None:
    rows = honest(10)
    rows[4] *= 4
    assert compared(rows).distances[4] > 3
    assert compared(rows, [10] * 4 + [40] + [10] * 5).distances[4] < 1.2
    assert compared(rows, [40] * 10).distances[4] > 3


def test_an_update_of_few_steps_need_not_be_shorter() -> None:
    found = [compared(honest(10), [10] * 4 + [few] + [10] * 5).distances[4] for few in (10, 1, 0)]
    assert found[0] == found[1] == found[2]


def test_neither_order_nor_scale_matters() -> None:
    rows, order = honest(9), np.random.default_rng(2).permutation(9)
    rows[2] *= -4
    found, again = compared(rows), compared(rows[order] * np.float32(0.01))
    np.testing.assert_allclose(again.distances, found.distances[order], rtol=1e-4)
    np.testing.assert_array_equal(again.opposed, found.opposed[order])


def test_few_updates_are_not_compared() -> None:
    rows = honest(FEWEST - 1)
    rows[0] *= -1e6
    found = compared(rows)
    assert not found.distances.any()
    assert not found.opposed.any()


def test_zeros_and_equal_updates_are_no_evidence() -> None:
    zeros = compared(np.zeros((6, SIZE), np.float32), [0] * 6)
    equal = compared(np.ones((6, SIZE), np.float32))
    for found in (zeros, equal):
        assert found.distances.max() <= 1
        assert not found.opposed.any()


def test_an_update_that_is_not_finite_is_refused() -> None:
    rows = honest(6)
    rows[2, 7] = np.nan
    with pytest.raises(ValueError, match="Update 2 of 6 holds NaN"):
        compared(rows)


def test_an_update_without_a_voice_opposes_nobody_and_is_compared() -> None:
    """Three of ten reverse a victim's update, and others do not point its way either."""
    rows = honest(10)
    rows[:3] = -rows[9]
    rows[3:6] *= -1
    voices = [False] * 3 + [True] * 7
    heard, silenced = compared(rows), compare_round(UpdateSet(rows), [10] * 10, voices)
    assert heard.opposed[9] >= 2 / 3
    assert silenced.opposed[9] <= 1 / 3
    assert (silenced.opposed[:3] > 0.0).all()
    np.testing.assert_array_equal(silenced.distances, heard.distances)
