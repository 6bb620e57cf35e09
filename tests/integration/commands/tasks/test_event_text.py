from __future__ import annotations

from typing import Any

from backend.commands.tasks.event_text import MAX_UNMEASURED, RoundEvents

MEASURED = {"loss": 0.5, "metrics": {}}


def one(number: int, evaluation: dict[str, Any] | None = None, made: bool = True) -> dict[str, Any]:
    return {"round": number, "made": {"version": number, "evaluation": evaluation} if made else None}


def told(story: RoundEvents, *rounds: dict[str, Any]) -> list[tuple[str, int]]:
    return [(event["event"], event["round"]) for event in story.new_events(rounds)]


def test_each_round_is_told_once() -> None:
    story = RoundEvents()
    assert told(story, one(1, MEASURED), one(2, MEASURED)) == [("round", 1), ("round", 2)]
    assert told(story, one(2, MEASURED), one(3, MEASURED)) == [("round", 3)]
    assert told(story) == []
    assert story.after == 3


def test_a_measurement_that_comes_later_is_told_once() -> None:
    story = RoundEvents()
    assert told(story, one(1), one(2, made=False)) == [("round", 1), ("round", 2)]
    assert story.after == 0
    assert told(story, one(1), one(2, made=False)) == []
    assert told(story, one(1, MEASURED), one(2, made=False)) == [("measured", 1)]
    assert told(story, one(1, MEASURED)) == []
    assert story.after == 2


def test_versions_that_nobody_measures_are_not_waited_for_without_end() -> None:
    story = RoundEvents()
    for number in range(1, 200):
        told(story, one(number))
    assert story.after == 199 - MAX_UNMEASURED
