"""Verdicts on versions: which parts count, and when the smallest triggers are compared."""

from __future__ import annotations

from backend.formats.task_file import IntegrityTable
from backend.numerics.integrity.integrity_score import IntegrityPart
from backend.server.integrity.version_verdict import judge_version
from backend.server.sandbox.integrity import IntegrityMeasurement

FAIR = [(one, one, 50) for one in range(5)]
USUAL = [9.0, 10.0, 8.0, 11.0, 24.0]
OFFERED = IntegrityMeasurement(5, FAIR, USUAL)
# The smallest trigger of class 4 shrank, and is still a usual one.
SHRUNK = IntegrityMeasurement(5, FAIR, [9.0, 10.0, 8.0, 11.0, 9.0])
# Class 3 is forgotten: its examples are taken for class 1.
FORGETFUL = IntegrityMeasurement(5, [*FAIR[:3], (3, 1, 50), FAIR[4]], USUAL)
UPDATES = IntegrityPart("updates", 0.4, "A minority pushes.")
ALL = IntegrityTable()


def test_a_forgotten_class_fails_a_version_by_its_name() -> None:
    verdict = judge_version(ALL, FORGETFUL, OFFERED, UPDATES, ["a", "b", "c", "owl", "e"])
    assert verdict.outcome == "failed"
    [_, drift, updates] = verdict.parts
    assert (
        "class 3 (owl) is recognised in 0.0 % of its 50 held-out examples, before in 100.0 %" in drift.reason
    )
    assert "most of those lost are taken for class 1 (b)" in drift.reason
    assert updates == UPDATES


def test_a_part_that_the_task_does_not_name_does_not_count() -> None:
    by_trigger = IntegrityTable(parts=("trigger",))
    verdict = judge_version(by_trigger, FORGETFUL, OFFERED, UPDATES)
    assert (verdict.outcome, [part.name for part in verdict.parts]) == ("passed", ["trigger"])


def test_smallest_triggers_are_compared_only_if_a_minority_pushes_too() -> None:
    assert judge_version(ALL, SHRUNK, OFFERED, UPDATES, is_pushed=False).outcome == "passed"
    verdict = judge_version(ALL, SHRUNK, OFFERED, UPDATES, is_pushed=True)
    assert verdict.outcome == "failed"
    assert "the smallest trigger of class 4 shrank" in verdict.parts[0].reason


def test_a_minority_that_pushes_fails_no_version_alone() -> None:
    assert judge_version(ALL, OFFERED, OFFERED, UPDATES, is_pushed=True).outcome == "passed"


def test_an_untrained_version_is_nothing_to_compare_with() -> None:
    untrained = IntegrityMeasurement(5, [(one, 0, 50) for one in range(5)], USUAL)
    later = IntegrityMeasurement(5, [(0, 1, 50), *FAIR[1:]], USUAL)
    verdict = judge_version(ALL, later, untrained, UPDATES, has_passed=False)
    assert verdict.outcome == "passed"
    assert verdict.parts[1].reason.startswith("Least recognised is class 0")
