"""Signs of a backdoor in norms of triggers, in confusion matrices and in updates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.numerics.integrity.class_drift import drift_among
from backend.numerics.integrity.integrity_score import (
    SUSPECT,
    IntegrityPart,
    combined_score,
    drift_part,
    trigger_part,
    updates_part,
)
from backend.numerics.integrity.trigger_norms import trigger_change, trigger_outlier

HONEST = [10.0, 12.0, 9.0, 11.0, 8.0]
BACKDOORED = [10.0, 12.0, 2.0, 11.0, 8.0]


def confusion(recalls: list[float], count: int = 100) -> NDArray[np.int64]:
    """Examples of each class; mistakes go to the next class."""
    right = np.round(np.array(recalls) * count).astype(np.int64)
    counts: NDArray[np.int64] = np.diag(right) + np.roll(np.diag(count - right), 1, axis=1)
    return counts


def test_the_class_with_the_smallest_trigger_stands_out() -> None:
    found = trigger_outlier(BACKDOORED)
    assert (found.target, found.ratio, found.lead) == (2, 5.0, 4.0)
    # Distances from the median 10: 0, 2, 8, 1, 2.
    assert found.anomaly_index == pytest.approx(8.0 / (1.4826 * 2.0))
    assert found.strength == pytest.approx(math.sqrt(20.0))


def test_equal_triggers_show_no_class() -> None:
    found = trigger_outlier([3.0, 3.0, 3.0])
    assert (found.ratio, found.lead, found.anomaly_index, found.strength) == (1.0, 1.0, 0.0, 1.0)


def test_a_trigger_of_no_size_stands_out_finitely() -> None:
    assert math.isfinite(trigger_outlier([0.0, 5.0, 5.0]).ratio)
    assert trigger_outlier([0.0, 0.0, 0.0]).strength == 1.0


@pytest.mark.parametrize("norms", [[1.0, 2.0], [1.0, math.nan, 3.0], [1.0, -1.0, 3.0], [math.inf, 1.0, 2.0]])
def test_norms_that_cannot_be_compared_are_refused(norms: list[float]) -> None:
    with pytest.raises(ValueError, match=r"classes are needed|finite"):
        trigger_outlier(norms)


def test_a_trigger_that_shrank_is_seen_though_all_did() -> None:
    after = [norm / 2.0 for norm in HONEST]
    after[3] /= 4.0
    assert trigger_change(HONEST, after).target == 3
    assert trigger_change(HONEST, after).ratio == pytest.approx(4.0)
    with pytest.raises(ValueError, match="5 classes cannot be compared with 4"):
        trigger_change(HONEST, after[:4])


def test_a_backdoor_scores_above_an_honest_version() -> None:
    honest, backdoored = trigger_part(HONEST), trigger_part(BACKDOORED)
    assert honest.score is not None
    assert backdoored.score is not None
    assert honest.score < SUSPECT < backdoored.score
    assert "class 2 is 5 times smaller" in backdoored.reason
    assert "sign of a backdoor" in backdoored.reason


def test_a_trigger_that_is_usual_by_itself_is_a_sign_where_it_shrank() -> None:
    before = [10.0, 12.0, 9.0, 11.0, 24.0]
    part = trigger_part(HONEST, before)
    assert part.score is not None
    assert part.score > SUSPECT
    assert "Since the other version, the smallest trigger of class 4 shrank 3 times" in part.reason


def test_a_fall_within_chance_is_no_sign() -> None:
    part = drift_part(confusion([0.9, 0.86, 0.9]), confusion([0.9, 0.9, 0.9]))
    assert part.score is not None
    assert part.score < 0.1
    assert "Chance explains it." in part.reason


def test_the_reason_names_the_class_with_its_numbers() -> None:
    part = drift_part(confusion([0.9, 0.5, 0.9]), confusion([0.9, 0.9, 0.9]), ["cat", "dog", "2"])
    assert part.score is not None
    assert part.score > SUSPECT
    fall = "class 1 (dog) is recognised in 50.0 % of its 100 held-out examples, before in 90.0 %"
    assert fall in part.reason
    assert "are taken for class 2." in part.reason
    assert "25.0 % of the 200 held-out examples of other classes are taken for class 2" in part.reason
    assert "of its answers 90 % and 64 % were right before and now" in part.reason
    assert "% of checks. This is a sign of a backdoor." in part.reason


def test_a_version_that_no_check_cleared_is_compared_with_if_it_knows_all_classes() -> None:
    early = np.array([[20, 30, 0], [0, 50, 0], [0, 0, 50]])
    later = np.array([[50, 0, 0], [25, 25, 0], [0, 0, 50]])
    excused = drift_part(later, early, is_cleared=False)
    assert excused.score is not None
    assert excused.score < SUSPECT
    assert excused.reason.startswith("Least recognised is class 1: 50.0 points below the median class")
    fair = np.diag([50, 50, 50])
    for one, is_cleared in ((early, True), (fair, False)):
        found = drift_part(later, one, is_cleared=is_cleared)
        assert found.score is not None
        assert found.score > SUSPECT


def test_a_class_that_is_hard_by_nature_never_makes_a_suspect_alone() -> None:
    found = drift_among(confusion([0.95, 0.95, 0.0, 0.95]))
    assert (found.worst, found.answered) == (2, 3)
    part = drift_part(confusion([0.95, 0.95, 0.0, 0.95]))
    assert part.score is not None
    assert 0.3 < part.score < SUSPECT


def test_classes_without_examples_are_left_out() -> None:
    counts = confusion([0.9, 0.9, 0.9])
    counts[2] = 0
    assert drift_among(counts).worst != 2


def test_matrices_of_other_examples_are_refused() -> None:
    with pytest.raises(ValueError, match="same examples"):
        drift_part(confusion([0.9, 0.9]), confusion([0.9, 0.9], 50))
    with pytest.raises(ValueError, match="counts examples"):
        drift_among(np.zeros((3, 3), np.int64))


def test_updates_that_point_elsewhere_are_a_reason_but_never_make_a_suspect() -> None:
    random = np.random.default_rng(0)
    honest, other = random.normal(size=300), random.normal(size=300)
    rows = [honest + 0.3 * random.normal(size=300) for _ in range(7)]
    rows += [other + 0.1 * random.normal(size=300) for _ in range(3)]
    part = updates_part(np.array(rows, np.float32))
    assert part.score is not None
    assert 0.35 < part.score < SUSPECT
    assert "3 of 10 updates point elsewhere than the others: numbers 7, 8, 9" in part.reason
    assert "a reason to look at the other parts" in part.reason


def test_updates_of_one_kind_show_no_minority() -> None:
    updates = np.random.default_rng(1).normal(size=(12, 500)).astype(np.float32) + np.float32(1.0)
    part = updates_part(updates)
    assert part.score is not None
    assert part.score < 0.05


def test_too_few_updates_are_not_scored_and_broken_ones_are_refused() -> None:
    assert updates_part(np.ones((3, 5), np.float32)).score is None
    with pytest.raises(ValueError, match="not finite"):
        updates_part(np.full((6, 5), np.nan, np.float32))


def test_one_strong_sign_is_enough() -> None:
    parts = [IntegrityPart("a", 0.1, ""), IntegrityPart("b", 0.8, ""), IntegrityPart("c", None, "")]
    assert combined_score(parts).score == 0.8
    assert combined_score(parts).suspect
    assert not combined_score(parts[:1]).suspect
    assert combined_score(parts[2:]).score is None
