"""The attack on labels, on biases whose answer is known."""

from __future__ import annotations

import numpy as np

from benchmarks.privacy.label_leakage import CLASSES, RATE, named, score


def moved(*up: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """An update whose biases of these classes went up, all others down."""
    update = np.full(50, 7.0, np.float32)
    update[-CLASSES:] = -RATE
    update[[index - CLASSES for index in up]] = RATE
    return update


def test_classes_whose_bias_rose_are_named() -> None:
    assert named(moved(2, 9)).tolist() == [2, 9]


def test_of_a_sum_those_are_named_that_anybody_moved_up() -> None:
    together = moved(2) + moved(2) + moved(5)
    assert named(together, 3).tolist() == [2, 5]


def test_precision_and_recall_are_of_the_classes_that_are_there() -> None:
    assert score(np.array([1, 2, 3, 4]), np.array([1, 2, 9])) == (0.5, 2 / 3)
    assert score(np.array([], np.int64), np.array([1])) == (0.0, 0.0)
