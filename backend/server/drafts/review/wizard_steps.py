"""Maps the checklist's items to the wizard's steps, and computes the state of each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from backend.server.drafts.review.checklist import Item, missing
from backend.translation import gettext

StepName = Literal["model", "data", "preprocess", "plan", "privacy", "about", "trial", "review"]
STEPS: tuple[StepName, ...] = (
    "model",
    "data",
    "preprocess",
    "plan",
    "privacy",
    "about",
    "trial",
    "review",
)
# Item of the checklist -> the step that completes it; other items belong to the review.
_STEP_OF: dict[str, StepName] = {
    "model-file": "model",
    "starter": "data",
    "build": "model",
    "convert": "model",
    "devices": "model",
    "data": "data",
    "data-file": "data",
    "address": "data",
    "look": "data",
    "cut": "preprocess",
    "name": "about",
    "summary": "about",
    "licence": "about",
    "consent": "about",
    "ethics": "about",
    "contact": "about",
    "rehearse": "trial",
    "browser": "trial",
}
# The first of these states that one of its items has is the step's state.
_STATE_ORDER = ("failed", "running", "todo")


class WizardStep(Struct):
    """A step and its state; `free` means that it requires nothing because its defaults apply."""

    name: StepName
    state: Literal["done", "todo", "running", "failed", "free"]


def step_of(key: str) -> StepName:
    """Returns the step that completes an item of the checklist."""
    return _STEP_OF.get(key, "review")


def steps(items: Sequence[Item]) -> list[WizardStep]:
    """Returns all steps in their order. The review is done when every item is."""
    return [WizardStep(name, _state(name, items)) for name in STEPS]


def first_incomplete_step(items: Sequence[Item]) -> StepName:
    """Returns the first step with an item that is not done, or the review."""
    incomplete = {step_of(item.key) for item in missing(list(items))}
    return next((name for name in STEPS if name in incomplete), "review")


def step_states(items: Sequence[Item]) -> str:
    """Returns a sentence on the draft's most urgent open item."""
    incomplete = sorted(missing(list(items)), key=lambda item: STEPS.index(step_of(item.key)))
    if not incomplete:
        return gettext("Everything is ready for the launch.")
    for state, words in (
        ("running", gettext("Under way: %(what)s")),
        ("failed", gettext("Needs attention: %(what)s")),
    ):
        for item in incomplete:
            if item.state == state:
                return words % {"what": item.text}
    return gettext("Next: %(what)s") % {"what": incomplete[0].text}


def _state(name: StepName, items: Sequence[Item]) -> Literal["done", "todo", "running", "failed", "free"]:
    states = [item.state for item in items if step_of(item.key) == name]
    if name == "review" and set(states) <= {"done"}:
        return "todo" if missing(list(items)) else "done"
    for state in _STATE_ORDER:
        if state in states:
            return state
    return "done" if states else "free"
