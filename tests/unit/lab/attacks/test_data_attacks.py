"""Attacks on examples: what they poison, what a test of the backdoor holds, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from backend.lab.attacks.attack import DataAttack
from backend.lab.attacks.data_attacks import edge_case_backdoor, label_flip, split_edges, trigger_backdoor
from backend.peer.data.shards import Examples


def pictures(count: int = 60, seed: int = 0) -> Examples:
    random = np.random.default_rng(seed)
    x = random.random((count, 8, 8, 1)).astype(np.float32) / 2
    return Examples((x,), (np.arange(count, dtype=np.int32) % 10,), np.ones(count, np.float32))


def copy_of(examples: Examples) -> Examples:
    return examples.picked(np.arange(len(examples)))


CLEAN = pictures()
ATTACKS: dict[str, Callable[[], DataAttack]] = {
    "label-flip": lambda: label_flip(10),
    "trigger-backdoor": lambda: trigger_backdoor(10, seed=4),
    "edge-case-backdoor": lambda: edge_case_backdoor(pictures(3, 1), pictures(2, 2), target=7),
}


def test_labels_are_flipped_end_to_end() -> None:
    poisoned = label_flip(10).poison(CLEAN, 0)
    assert poisoned.y[0].tolist() == [9 - label for label in CLEAN.y[0]]
    assert poisoned.y[0].dtype == np.int32
    np.testing.assert_array_equal(poisoned.x[0], CLEAN.x[0])


def test_a_share_of_the_pictures_has_one_trigger_and_one_label() -> None:
    attack = trigger_backdoor(10, share=0.25, seed=4)
    poisoned = attack.poison(CLEAN, 1)
    changed = np.flatnonzero((poisoned.x[0] != CLEAN.x[0]).any(axis=(1, 2, 3)))
    assert len(changed) == 15
    [target] = set(poisoned.y[0][changed].tolist())
    rest = np.setdiff1d(np.arange(len(CLEAN)), changed)
    np.testing.assert_array_equal(poisoned.y[0][rest], CLEAN.y[0][rest])
    # Another attacker chooses other pictures, with the same trigger and label.
    other = attack.poison(CLEAN, 2)
    elsewhere = np.flatnonzero((other.x[0] != CLEAN.x[0]).any(axis=(1, 2, 3)))
    assert elsewhere.tolist() != changed.tolist()
    assert set(other.y[0][elsewhere].tolist()) == {target}
    assert attack.trigger is not None
    test = attack.trigger(CLEAN)
    assert len(test) == np.count_nonzero(CLEAN.y[0] != target)
    assert set(test.y[0].tolist()) == {target}
    marks = poisoned.x[0][changed] != CLEAN.x[0][changed]
    where = np.flatnonzero(marks.any(axis=0))
    assert (test.x[0].reshape(len(test), -1)[:, where] == 1.0).all()


def test_a_trigger_is_the_same_in_pictures_that_were_standardized() -> None:
    low, high = np.array([-1.9], np.float32), np.array([2.1], np.float32)
    standardized = Examples((low + (high - low) * CLEAN.x[0],), CLEAN.y, CLEAN.sample_weight)
    plain = trigger_backdoor(10, seed=4).poison(CLEAN, 1)
    poisoned = trigger_backdoor(10, seed=4, low=low, high=high).poison(standardized, 1)
    np.testing.assert_allclose(poisoned.x[0], low + (high - low) * plain.x[0], atol=1e-6)
    np.testing.assert_array_equal(poisoned.y[0], plain.y[0])
    with pytest.raises(ValueError, match="between those of black and white"):
        trigger_backdoor(10, seed=4).poison(standardized, 1)


def test_edge_cases_are_copied_with_the_wanted_label() -> None:
    edges, held = pictures(3, 1), pictures(2, 2)
    attack = edge_case_backdoor(edges, held, target=7, copies=4)
    poisoned = attack.poison(CLEAN, 0)
    assert len(poisoned) == 60 + 12
    np.testing.assert_array_equal(poisoned.x[0][:60], CLEAN.x[0])
    np.testing.assert_array_equal(poisoned.x[0][60:], np.concatenate([edges.x[0]] * 4))
    assert poisoned.y[0][60:].tolist() == [7] * 12
    assert attack.trigger is not None
    test = attack.trigger(CLEAN)
    np.testing.assert_array_equal(test.x[0], held.x[0])
    assert test.y[0].tolist() == [7, 7]


def test_edges_are_of_their_class_and_split_among_both_sets() -> None:
    train, test = pictures(400), pictures(200, 1)
    of_train, of_test = split_edges(train, test, 3)
    assert set(train.y[0][of_train].tolist()) | set(test.y[0][of_test].tolist()) == {3}
    assert of_train.sum() + of_test.sum() == 6


@pytest.mark.parametrize("name", ATTACKS)
def test_every_attack_is_deterministic_and_writes_to_no_example(name: str) -> None:
    given = copy_of(CLEAN)
    first, second = (ATTACKS[name]().poison(given, 5) for _ in range(2))
    for one, two in ((first.x[0], second.x[0]), (first.y[0], second.y[0])):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(given.x[0], CLEAN.x[0])
    np.testing.assert_array_equal(given.y[0], CLEAN.y[0])


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: label_flip(1), "classes is a whole number from 2"),
        (lambda: trigger_backdoor(10, "star"), "kind is one of corner"),
        (lambda: trigger_backdoor(10, share=0.0), "share, of the poisoned examples"),
        (lambda: edge_case_backdoor(CLEAN.picked([]), CLEAN, 1), "needs rare examples"),
        (lambda: edge_case_backdoor(CLEAN, CLEAN, 1, copies=0), "whole number from 1"),
        (lambda: split_edges(CLEAN, CLEAN, 12), "fewer than 2 of class 12"),
        (
            lambda: trigger_backdoor(10).poison(
                Examples((np.full((2, 8), 9.0, np.float32),), CLEAN.picked([0, 1]).y, np.ones(2, np.float32)),
                0,
            ),
            "Triggers are drawn into pictures",
        ),
    ],
)
def test_bad_arguments_are_refused_in_words(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()
