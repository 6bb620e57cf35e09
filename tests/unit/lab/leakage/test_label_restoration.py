"""Labels from the derivative by the last bias: exact where the probabilities are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.lab.leakage.label_restoration import labels_of_batch, restored_share


@given(st.integers(0, 2**31), st.integers(2, 20), st.integers(1, 40))
def test_the_labels_of_a_batch_are_restored_from_its_mean_derivative(
    seed: int, classes: int, examples: int
) -> None:
    generator = np.random.default_rng(seed)
    labels = np.sort(generator.integers(classes, size=examples))
    probabilities = generator.dirichlet(np.ones(classes), examples)
    derivative = (probabilities - np.eye(classes)[labels]).mean(axis=0)
    restored = labels_of_batch(derivative, probabilities.mean(axis=0), examples)
    assert restored.tolist() == labels.tolist()
    assert restored_share(restored, labels) == 1.0


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=12), st.integers(1, 30))
def test_whatever_is_seen_gives_as_many_labels_as_there_are_examples(
    seen: list[float], examples: int
) -> None:
    uniform = np.full(len(seen), 1 / len(seen))
    labels = labels_of_batch(np.array(seen), uniform, examples)
    assert len(labels) == examples
    assert labels.min() >= 0
    assert labels.max() < len(seen)


def test_a_label_that_occurs_twice_must_be_restored_twice() -> None:
    assert restored_share(np.array([1, 2, 3]), np.array([1, 1, 3])) == pytest.approx(2 / 3)
    assert restored_share(np.array([0, 0]), np.array([1, 2])) == 0.0
