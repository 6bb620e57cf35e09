"""Changes of classes between two versions: found where chance does not explain them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from backend.numerics.integrity.class_drift import (
    FALSE_ALARMS,
    chance_of,
    changes_between,
    known_classes,
)


def confusion(recalls: list[float], count: int = 100) -> NDArray[np.int64]:
    """Examples of each class; mistakes go to the next class."""
    right = np.round(np.array(recalls) * count).astype(np.int64)
    counts: NDArray[np.int64] = np.diag(right) + np.roll(np.diag(count - right), 1, axis=1)
    return counts


def drawn(recall: float, count: int, classes: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Answers of a version to examples drawn at random; each wrong answer is equally likely."""
    wrong = (1.0 - recall) / (classes - 1)
    shares = np.full((classes, classes), wrong) + np.eye(classes) * (recall - wrong)
    return np.stack([random.multinomial(count, row) for row in shares])


@given(before=st.integers(0, 12), after=st.integers(0, 12), examples=st.integers(12, 20))
def test_the_chance_is_that_of_the_hypergeometric_distribution(
    before: int, after: int, examples: int
) -> None:
    total = before + after
    ways = [math.comb(examples, one) * math.comb(examples, total - one) for one in range(total + 1)]
    expected = sum(ways[after : examples + 1]) / sum(ways)
    assert chance_of(before, after, examples) == pytest.approx(expected)


def test_a_class_that_fell_is_found_with_the_class_it_is_taken_for() -> None:
    fall, rise, *_ = changes_between(confusion([0.9] * 5), confusion([0.95, 0.6, 0.95, 0.95, 0.95]))
    assert (fall.kind, fall.number, fall.other) == ("fall", 1, 2)
    assert (fall.before, fall.after, fall.examples) == (10, 40, 100)
    assert (rise.kind, rise.number, rise.other) == ("rise", 2, 1)
    assert (rise.before, rise.after, rise.examples) == (10, 40, 400)
    assert rise.precision == pytest.approx((0.9, 95 / 135))
    assert max(fall.chance, rise.chance) < FALSE_ALARMS / 10


def test_training_that_makes_all_classes_better_or_worse_is_no_change_of_one() -> None:
    for recall in (0.95, 0.6):
        changes = changes_between(confusion([0.9] * 5), confusion([recall] * 5))
        assert min(one.chance for one in changes) > 0.5


def test_classes_that_all_swing_hide_no_more_than_the_usual_swing() -> None:
    swinging = [0.7, 0.95, 0.75, 0.95, 0.7, 0.95, 0.75, 0.95, 0.95, 0.95]
    before = confusion([0.85] * 10)
    assert changes_between(before, confusion(swinging))[0].chance > FALSE_ALARMS
    assert changes_between(before, confusion([*swinging[:9], 0.0]))[0].chance < FALSE_ALARMS


def test_a_class_that_the_earlier_version_did_not_know_may_fall() -> None:
    before = np.array([[50, 0, 0], [30, 20, 0], [30, 0, 20]])
    after = np.array([[25, 25, 0], [0, 50, 0], [0, 0, 50]])
    assert known_classes(before).tolist() == [False, False, False]
    assert known_classes(np.diag([5, 0, 5])).tolist() == [True, False, True]
    found = {(one.kind, one.number) for one in changes_between(before, after) if one.chance < FALSE_ALARMS}
    assert found == {("rise", 1)}


@pytest.mark.parametrize(("recall", "count"), [(0.98, 30), (0.8, 30), (0.9, 150)])
def test_versions_that_differ_by_chance_alone_raise_no_more_alarms_than_stated(
    recall: float, count: int
) -> None:
    random = np.random.default_rng(5)
    pairs = [(drawn(recall, count, 10, random), drawn(recall, count, 10, random)) for _ in range(300)]
    alarms = sum(changes_between(*pair)[0].chance <= FALSE_ALARMS for pair in pairs)
    assert alarms <= FALSE_ALARMS * len(pairs)


def test_classes_without_examples_are_not_tested() -> None:
    counts = confusion([0.9, 0.9, 0.9])
    counts[2] = 0
    assert ("fall", 2) not in {(one.kind, one.number) for one in changes_between(counts, counts)}


def test_other_examples_are_refused() -> None:
    with pytest.raises(ValueError, match="same examples"):
        changes_between(confusion([0.9, 0.9]), confusion([0.9, 0.9], 50))
    with pytest.raises(ValueError, match="counts examples"):
        changes_between(np.zeros((3, 3), np.int64), np.zeros((3, 3), np.int64))
