"""What a training's measurements say: it learns, it stays at chance, it overfits, or it gets no better."""

from __future__ import annotations

import math

import pytest

from backend.protocols.tasks.alerts import Alarms, Cleared, Raised, Trouble
from backend.protocols.tasks.learning import Diagnosis, LearningTrouble, MeasuredVersion, diagnose


def curve(
    losses: list[float], accuracies: list[float] | None = None, training: list[float] | None = None
) -> list[MeasuredVersion]:
    return [
        MeasuredVersion(
            number,
            loss,
            None if accuracies is None else accuracies[number],
            None if training is None else training[number],
        )
        for number, loss in enumerate(losses)
    ]


FALLING = [2.3 * 0.9**n for n in range(12)]


def trouble(found: Diagnosis | None) -> LearningTrouble | None:
    return None if found is None else found.trouble


def test_a_training_that_learns_is_left_alone() -> None:
    assert diagnose(curve(FALLING, [0.1 + 0.05 * n for n in range(12)], FALLING), 20, 0.1) is None
    assert diagnose([], 20, None) is None
    assert diagnose(curve([math.nan] * 12), 20, None) is None


def test_chance_is_told_after_a_quarter_of_the_rounds() -> None:
    right = [0.1, 0.11, 0.1, 0.12, 0.1, 0.11, 0.1, 0.1, 0.11, 0.12]
    assert diagnose(curve(FALLING[:8], right[:8]), 40, 0.1) is None
    found = diagnose(curve(FALLING[:10], right), 36, 0.1)
    assert found is not None
    assert found.trouble is LearningTrouble.CHANCE
    assert found.text.startswith("After 9 versions 12% of the held-out examples are right, and guessing")
    assert "learning rate" in found.text


def test_a_loss_that_stays_is_chance_too_where_answers_are_no_classes() -> None:
    assert trouble(diagnose(curve([1.0, 0.99, 1.01, 0.98, 0.99, 1.0, 0.97]), 20, None)) == "at-chance"
    assert diagnose(curve([1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4]), 20, None) is None


def test_a_better_accuracy_than_a_guess_is_no_chance_though_the_loss_is_the_same() -> None:
    assert diagnose(curve([1.0] * 7, [0.5, 0.6, 0.7, 0.8, 0.8, 0.8, 0.8]), 20, 0.5) is None


def test_overfitting_names_the_best_version() -> None:
    held = [2.0, 1.5, 1.0, 1.05, 1.1, 1.2, 1.3, 1.4]
    training = [2.0, 1.4, 1.0, 0.8, 0.6, 0.5, 0.4, 0.3]
    found = diagnose(curve(held, training=training), 20, None)
    assert found is not None
    assert found.trouble is LearningTrouble.OVERFITTING
    assert "since version 2 the held-out loss has risen from 1 to 1.4" in found.text
    assert "continue from it" in found.text
    # A training loss that rises as well is another trouble.
    assert trouble(diagnose(curve(held, training=held), 20, None)) is None
    # One bad version is chance.
    assert diagnose(curve([*held[:5], 0.99, 1.2, 1.0], training=training), 20, None) is None


def test_no_better_version_for_long_is_told() -> None:
    flat = [2.0, 1.0, *[0.995, 1.01] * 5]
    found = diagnose(curve(flat), 40, None)
    assert found is not None
    assert found.trouble is LearningTrouble.FLAT
    assert found.text.startswith("No version since 1 is better: its held-out loss was 1,")
    assert diagnose(curve(flat[:8]), 40, None) is None


@pytest.mark.parametrize("kind", list(LearningTrouble))
def test_a_diagnosis_is_told_once_and_cleared_when_it_is_over(kind: LearningTrouble) -> None:
    alarms = Alarms(60.0)
    found, word = Diagnosis(kind, "It does not learn."), Trouble(kind.value)
    assert alarms.measured(True, found) == [Raised(word, "It does not learn.")]
    assert alarms.measured(True, Diagnosis(kind, "It still does not.")) == []
    other = next(one for one in LearningTrouble if one is not kind)
    assert alarms.measured(True, Diagnosis(other, "Something else.")) == [
        Cleared(word),
        Raised(Trouble(other.value), "Something else."),
    ]
    assert alarms.measured(True) == [Cleared(Trouble(other.value))]
