"""Signs of a backdoor in norms of triggers, in confusion matrices and in updates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.numerics.integrity.class_drift import drift_among, drift_between
from backend.numerics.integrity.integrity_score import (
    SUSPECT,
    IntegrityPart,
    combined_score,
    drift_part,
    trigger_part,
    updates_part,
)
from backend.numerics.integrity.trigger_norms import trigger_change, trigger_outlier
from backend.numerics.integrity.update_clusters import update_clusters

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


def test_a_class_that_fell_is_found_and_training_alone_is_not() -> None:
    before, trained = confusion([0.9, 0.9, 0.9, 0.9]), confusion([0.95, 0.95, 0.95, 0.95])
    assert drift_between(before, trained).deviations == pytest.approx(0.0, abs=1e-9)
    fallen = drift_between(before, confusion([0.95, 0.6, 0.95, 0.95]))
    assert (fallen.worst, fallen.answered) == (1, 2)
    assert fallen.loss == pytest.approx(0.35)
    assert fallen.deviations > 5.0


def test_a_fall_within_chance_is_no_sign() -> None:
    part = drift_part(confusion([0.9, 0.86, 0.9]), confusion([0.9, 0.9, 0.9]))
    assert part.score is not None
    assert part.score < 0.1
    fallen = drift_part(confusion([0.9, 0.5, 0.9]), confusion([0.9, 0.9, 0.9]))
    assert fallen.score is not None
    assert fallen.score > SUSPECT


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
    assert drift_between(counts, counts).worst != 2


def test_matrices_of_other_examples_are_refused() -> None:
    with pytest.raises(ValueError, match="same examples"):
        drift_between(confusion([0.9, 0.9]), confusion([0.9, 0.9], 50))
    with pytest.raises(ValueError, match="counts examples"):
        drift_among(np.zeros((3, 3), np.int64))


def test_updates_that_point_elsewhere_form_the_smaller_cluster() -> None:
    random = np.random.default_rng(0)
    honest, other = random.normal(size=300), random.normal(size=300)
    rows = [honest + 0.3 * random.normal(size=300) for _ in range(7)]
    rows += [other + 0.1 * random.normal(size=300) for _ in range(3)]
    updates = np.array(rows, np.float32)
    found = update_clusters(updates)
    assert found.members == (7, 8, 9)
    assert found.separation > 0.9
    part = updates_part(updates)
    assert part.score is not None
    assert part.score > SUSPECT
    assert "3 of 10 updates" in part.reason


def test_a_larger_scale_does_not_hide_a_cluster() -> None:
    updates = np.eye(8, 40, dtype=np.float32)
    updates[:, :2] += np.float32(3.0)
    updates[5:, :2] = 0
    updates[5:, 30] = 50
    assert update_clusters(updates).members == (5, 6, 7)


def test_updates_of_one_kind_have_no_clusters() -> None:
    updates = np.random.default_rng(1).normal(size=(12, 500)).astype(np.float32) + np.float32(1.0)
    part = updates_part(updates)
    assert part.score is not None
    assert part.score < 0.1


def test_equal_and_empty_updates_are_no_error() -> None:
    for updates in (np.zeros((6, 5), np.float32), np.ones((6, 5), np.float32)):
        assert abs(update_clusters(updates).separation) < 1e-6


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
