"""What to expect of a plan, from its trial on the server."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.server.drafts.review.forecast import forecast_of
from backend.server.estimates.guessing import chance
from backend.server.sandbox.plan_trial import LearningCurve


def curve(*points: tuple[int, float, float | None], of: int = 20, guess: float | None = 0.1) -> LearningCurve:
    return LearningCurve([(0, 2.3, None if guess is None else 0.1), *points], of, 1, guess, 100)


def test_a_plan_that_learns_says_how_far_it_comes() -> None:
    found = forecast_of(curve((20, 1.1, 0.6)))
    assert found is not None
    assert (found.text, found.warns) == (
        "Tried on this server: after 20 rounds about 60% are right. Guessing the most frequent class gives "
        "10%.",
        False,
    )
    partly = forecast_of(curve((7, 1.5, 0.43)))
    assert partly is not None
    assert "for a minute: after 7 of 20 rounds about 43% are right, and it continues" in partly.text


def test_a_plan_that_ends_at_chance_is_warned_about() -> None:
    found = forecast_of(curve((20, 2.3, 0.13)))
    assert found is not None
    assert found.warns
    assert found.text.startswith("This plan ends at chance: after 20 of 20 rounds about 13% are right")


def test_without_an_accuracy_the_loss_tells() -> None:
    found, stuck = forecast_of(curve((20, 0.5, None), guess=None)), forecast_of(curve((20, 2.29, None)))
    assert found is not None
    assert (found.text, found.warns) == (
        "Tried on this server: after 20 rounds the loss has fallen from 2.3 to 0.5.",
        False,
    )
    assert stuck is not None
    assert stuck.warns


def test_nothing_trained_says_nothing() -> None:
    assert forecast_of(LearningCurve([(0, 1.0, None)], 3)) is None


@pytest.mark.parametrize(
    ("label", "share"),
    [
        (np.array([0, 1, 1, 2], np.int32), 0.5),
        (np.eye(4, dtype=np.float32)[[0, 1, 1, 1]], 0.75),
        (np.array([[0.0], [1.0], [0.0], [0.0]], np.float32), 0.75),
        (np.array([[0.5], [1.5]], np.float32), None),
        (np.zeros((3, 2, 2), np.float32), None),
    ],
)
def test_chance_is_the_share_of_the_most_frequent_class(label: NDArray[Any], share: float | None) -> None:
    assert chance(label) == share


def test_data_without_labels_have_no_chance() -> None:
    assert chance(None) is None
