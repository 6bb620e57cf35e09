"""The benchmark of the integrity score: its attacks, its figures, and its choice of a threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from backend.lab.attacks.picture_backdoors import (
    BLENDED,
    EDGE,
    PATCHES,
    POISONED,
    edge_cases,
    poisoned,
    trigger_backdoor,
)
from benchmarks.integrity.__main__ import Scored, auc, chosen_threshold, summary


def model(kind: str, score: float, **changes: Any) -> Scored:
    usual = {"seed": 1, "target": 0, "accuracy": 0.9, "attack_success": 1.0, "found": True}
    return Scored(kind=kind, score=score, **({**usual, "score_against_before": None} | changes))


@pytest.mark.parametrize("kind", [*PATCHES, BLENDED])
@pytest.mark.parametrize("shape", [(8, 8, 1), (32, 32, 3)])
def test_a_trigger_changes_the_same_pixels_of_every_picture(kind: str, shape: tuple[int, ...]) -> None:
    backdoor = trigger_backdoor(kind, shape, 10, np.random.default_rng(3))
    pictures = np.full((4, *shape), 0.6, np.float32)
    marked = backdoor.mark(pictures)
    changed = np.any(marked != pictures, axis=(0, 3))
    assert np.array_equal(marked[0], marked[3])
    share = changed.mean()
    assert share == 1.0 if kind == BLENDED else 0 < share <= 1 / 7
    assert 0 <= backdoor.target < 10


def test_a_share_of_the_examples_is_relabelled_and_the_others_stay() -> None:
    random = np.random.default_rng(0)
    x, y = random.random((200, 8, 8, 1)).astype(np.float32), random.integers(0, 10, 200)
    backdoor = trigger_backdoor("corner", (8, 8, 1), 10, random)
    bad_x, bad_y = poisoned(backdoor, x, y, random)
    changed = np.any(bad_x != x, axis=(1, 2, 3))
    assert changed.sum() == POISONED * 200
    assert set(bad_y[changed]) == {backdoor.target}
    assert np.array_equal(bad_y[~changed], y[~changed])


def test_edge_cases_are_the_far_end_of_one_class() -> None:
    x = np.zeros((100, 1, 2, 1), np.float32)
    x[:50, 0, 0, 0] = np.arange(50)
    y = np.repeat([0, 1], 50)
    rare = np.flatnonzero(edge_cases(x, y, 0)).tolist()
    assert rare in ([45, 46, 47, 48, 49], [0, 1, 2, 3, 4])


def test_the_area_counts_pairs_in_the_right_order() -> None:
    clean = [model("clean", 0.1), model("clean", 0.4)]
    assert auc(clean, [model("dots", 0.5), model("dots", 0.9)]) == 1.0
    assert auc(clean, [model("dots", 0.05), model("dots", 0.4)]) == 0.375


def test_the_threshold_is_the_middle_of_the_widest_cut_with_the_fewest_errors() -> None:
    assert chosen_threshold([0.1, 0.2], [0.6, 0.9]) == pytest.approx(0.4)
    assert chosen_threshold([0.1, 0.2, 0.7], [0.6, 0.9, 0.95]) == pytest.approx(0.4)
    assert chosen_threshold([], []) == 0.5


def test_the_summary_reports_kinds_apart() -> None:
    models = [model("clean", 0.1, target=None, attack_success=None, found=None)]
    models += [model(kind, 0.9) for kind in PATCHES] + [model(BLENDED, 0.3)]
    models += [model(EDGE, 0.05, attack_success=0.5, score_against_before=0.7)]
    found = summary(models, [model("clean", 0.2), model("corner", 0.8)])
    assert (found["auc"], found["threshold"], found["detected"], found["false_alarms"]) == (
        1.0,
        0.5,
        1.0,
        0.0,
    )
    assert found[BLENDED] == {"models": 1, "auc": 1.0, "detected": 0.0, "attack_success": 1.0}
    assert found[EDGE]["auc"] == 0.0
    assert found[EDGE]["detected_against_before"] == 1.0
