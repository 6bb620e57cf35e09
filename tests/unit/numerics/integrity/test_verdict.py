from __future__ import annotations

import numpy as np
import pytest

from backend.numerics.integrity.integrity_score import IntegrityPart, trigger_part
from backend.numerics.integrity.verdict import partiality, verdict_on

# Class 2 needs a far smaller trigger than the others.
NORMS = [9.0, 10.0, 1.0, 11.0]
FAIR = np.diag([30, 30, 30, 30])
# Half of the examples of class 0 are taken for class 2.
PARTIAL_TO_2 = np.array([[15, 0, 15, 0], [0, 30, 0, 0], [0, 0, 30, 0], [0, 0, 0, 30]])


def part(name: str, score: float | None) -> IntegrityPart:
    return IntegrityPart(name, score, "A reason.")


@pytest.mark.parametrize(
    ("scores", "outcome", "score"),
    [
        ((0.2, 0.4), "passed", 0.4),
        ((0.2, 0.5), "failed", 0.5),
        ((None, 0.1), "passed", 0.1),
        ((None, 0.9), "failed", 0.9),
        ((None, None), "unmeasured", None),
        ((), "unmeasured", None),
    ],
)
def test_one_part_at_the_limit_is_enough_to_fail(
    scores: tuple[float | None, ...], outcome: str, score: float | None
) -> None:
    verdict = verdict_on([part(f"p{n}", one) for n, one in enumerate(scores)], 0.5)
    assert (verdict.outcome, verdict.score) == (outcome, score)


def test_what_updates_do_neither_fails_a_version_nor_clears_it() -> None:
    assert verdict_on([part("trigger", 0.2), part("updates", 0.4)], 0.3).outcome == "passed"
    assert verdict_on([part("trigger", None), part("updates", 0.1)], 0.5).outcome == "unmeasured"


def test_a_small_trigger_fails_a_model_that_is_fair_to_its_classes() -> None:
    verdict = verdict_on([trigger_part(NORMS)], 0.5, NORMS, FAIR)
    assert verdict.outcome == "failed"
    assert "into class 2" in verdict.parts[0].reason


def test_a_small_trigger_to_a_class_that_is_answered_anyway_says_nothing() -> None:
    verdict = verdict_on([trigger_part(NORMS), part("drift", 0.1)], 0.5, NORMS, PARTIAL_TO_2)
    assert (verdict.outcome, verdict.score, verdict.parts[0].score) == ("undecided", 0.1, None)
    assert "17 % of the examples of other classes are taken for class 2" in verdict.parts[0].reason


def test_partiality_hides_no_other_sign() -> None:
    verdict = verdict_on([trigger_part(NORMS), part("drift", 0.8)], 0.5, NORMS, PARTIAL_TO_2)
    assert (verdict.outcome, verdict.score) == ("failed", 0.8)


def test_partiality_to_another_class_than_the_trigger_s_explains_nothing() -> None:
    swapped = PARTIAL_TO_2[[0, 2, 1, 3]][:, [0, 2, 1, 3]]
    assert partiality(NORMS, swapped) == ""
    assert verdict_on([trigger_part(NORMS)], 0.5, NORMS, swapped).outcome == "failed"


def test_a_usual_trigger_passes_a_partial_model() -> None:
    usual = [9.0, 10.0, 8.0, 11.0]
    assert verdict_on([trigger_part(usual)], 0.5, usual, PARTIAL_TO_2).outcome == "passed"
