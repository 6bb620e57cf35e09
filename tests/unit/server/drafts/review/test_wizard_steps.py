"""How far each step of the wizard is, by the checklist."""

from __future__ import annotations

from typing import Any

import pytest

from backend.server.drafts.review.checklist import Item
from backend.server.drafts.review.wizard_steps import STEPS, first_incomplete_step, step_states, steps


def items(**states: Any) -> list[Item]:
    """A checklist with these states; `_` in a key stands for `-`."""
    return [Item(key.replace("_", "-"), state, f"About {key}.") for key, state in states.items()]


def marks(found: list[Item]) -> dict[str, str]:
    return {step.name: step.state for step in steps(found)}


def test_a_step_is_as_its_worst_item_and_the_review_is_done_last() -> None:
    found = marks(items(model_file="done", convert="running", look="failed", summary="todo", task="done"))
    assert list(found) == list(STEPS)
    assert (found["model"], found["data"], found["about"]) == ("running", "failed", "todo")
    assert (found["plan"], found["review"]) == ("free", "todo")
    assert marks(items(model_file="done", task="done"))["review"] == "done"


def test_an_item_that_no_step_knows_belongs_to_the_review() -> None:
    assert marks(items(model_file="done", novelty="failed"))["review"] == "failed"


@pytest.mark.parametrize(
    ("found", "step", "sentence"),
    [
        (items(model_file="todo", data_file="todo"), "model", "Next: About model_file."),
        (items(summary="todo", data_file="todo"), "data", "Next: About data_file."),
        (items(convert="failed", look="running"), "model", "Under way: About look."),
        (items(convert="failed", data_file="todo"), "model", "Needs attention: About convert."),
        (items(convert="done"), "review", "Everything is ready for the launch."),
    ],
)
def test_a_draft_goes_on_where_something_is_left(found: list[Item], step: str, sentence: str) -> None:
    assert (first_incomplete_step(found), step_states(found)) == (step, sentence)
