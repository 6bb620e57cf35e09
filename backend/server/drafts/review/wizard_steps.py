"""The steps of the wizard, and how far each is by the checklist: which step asks for what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from backend.server.drafts.review.checklist import Item, missing

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
# Where an item of the checklist is dealt with; those that stand nowhere here belong to the review.
_STEP_OF: dict[str, StepName] = {
    "model-file": "model",
    "convert": "model",
    "devices": "model",
    "data": "data",
    "data-file": "data",
    "address": "data",
    "look": "data",
    "cut": "preprocess",
    "summary": "about",
    "licence": "about",
    "consent": "about",
    "ethics": "about",
    "rehearse": "trial",
    "browser": "trial",
}
# What is asked for first says how a step stands.
_WEIGHT = ("failed", "running", "todo")


class WizardStep(Struct):
    """A step and how it stands; `free` where nothing has to be done: its defaults hold."""

    name: StepName
    state: Literal["done", "todo", "running", "failed", "free"]


def step_of(key: str) -> StepName:
    """The step in which an item of the checklist is dealt with."""
    return _STEP_OF.get(key, "review")


def steps(items: Sequence[Item]) -> list[WizardStep]:
    """All steps in their order. The review is done when everything is."""
    return [WizardStep(name, _state(name, items)) for name in STEPS]


def first_left(items: Sequence[Item]) -> StepName:
    """The step to go on with: the first that lacks something, or the review."""
    left = {step_of(item.key) for item in missing(list(items))}
    return next((name for name in STEPS if name in left), "review")


def step_states(items: Sequence[Item]) -> str:
    """How a draft stands, in a sentence or two."""
    left = sorted(missing(list(items)), key=lambda item: STEPS.index(step_of(item.key)))
    if not left:
        return "Everything is ready for the launch."
    for state, words in (("running", "Under way: "), ("failed", "This needs you: ")):
        for item in left:
            if item.state == state:
                return words + item.text
    return f"Next: {left[0].text}"


def _state(name: StepName, items: Sequence[Item]) -> Literal["done", "todo", "running", "failed", "free"]:
    mine = [item.state for item in items if step_of(item.key) == name]
    if name == "review" and set(mine) <= {"done"}:
        return "todo" if missing(list(items)) else "done"
    for state in _WEIGHT:
        if state in mine:
            return state
    return "done" if mine else "free"
