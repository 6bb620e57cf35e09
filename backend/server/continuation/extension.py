"""What an owner may change in the plan of a launched task, and what stands against it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from backend.formats.task_file.coordination import Seconds, StopTable
from backend.formats.task_file.reading.dotted_keys import value_at
from backend.formats.task_file.types import Number, Positive
from backend.protocols.rounds.stop_rules import Source
from backend.server.tasks.task import Task, stop_rules
from backend.server.versions.version_history import VersionHistory
from backend.stores.plan_changes import PlanAmendment
from backend.translation import gettext

ROUNDS, EPOCHS = "coordination.rounds", "coordination.units.epochs"
DEADLINE, LEASE = "coordination.deadline", "coordination.units.lease"
# Versions that a menu lists; the page of each other one names its number.
LISTED = 100
STOP, RATE = "coordination.stop", "training.learning_rate"


class Extension(Struct, frozen=True, forbid_unknown_fields=True):
    """The changes that an owner asks for; what is None stays as it is.

    `rounds` are the rounds, or epochs of work units, from now on. `deadline` is the longest time of a round,
    or of the lease of a work unit, in seconds. `stop` replaces all stop rules. `learning_rate` is the
    clients'. An ended task continues from `version`, by default from its newest.
    """

    rounds: Number | None = None
    deadline: Seconds | None = None
    stop: StopTable | None = None
    learning_rate: Positive | None = None
    version: Annotated[int, Meta(ge=0)] | Literal["best"] | None = None


def rounds_done(history: VersionHistory, again: bool) -> int:
    """Returns how many of the plan's rounds are done; `again`: an earlier version is recorded once more."""
    return history.current.version - history.repeats + again


def changes_of(
    asked: Extension, done: int, is_volunteer: bool, tables: dict[str, Any], now: float
) -> list[PlanAmendment]:
    """Returns the changes of the plan after `done` rounds; `tables` are those of the task's file."""

    def values() -> Iterator[tuple[str, Any]]:
        if asked.rounds is not None:
            yield EPOCHS if is_volunteer else ROUNDS, done + asked.rounds
            if is_volunteer and value_at(tables, ROUNDS) is not None:
                yield ROUNDS, None
        if asked.deadline is not None:
            yield LEASE if is_volunteer else DEADLINE, asked.deadline
        if asked.stop is not None:
            yield STOP, _told(asked.stop)
        if asked.learning_rate is not None:
            yield RATE, asked.learning_rate

    return [PlanAmendment(key, value, value_at(tables, key), now) for key, value in values()]


def _told(stop: StopTable) -> dict[str, Any]:
    """Returns the stop rules as a table without the keys that are not set."""
    table: dict[str, Any] = msgspec.to_builtins(stop)
    return {key: value for key, value in table.items() if value is not None}


def fixed_rate(task: Task) -> str | None:
    """Returns why the clients' learning rate cannot be changed; None where it can."""
    if task.file.coordination.byzantine is not None:
        return gettext(
            "Members check each other's work at this learning rate, and all of them keep to it: with another "
            "they would begin again, without votes and bans. Continue as a new task with another rate."
        )
    if task.bundle.manifest.optimizer.schedule is None:
        return None
    return gettext(
        "The learning rate follows a schedule that is part of the converted model, so it cannot be changed "
        "here. Continue as a new task, and convert its model with another schedule."
    )


def objection(task: Task, history: VersionHistory, done: int) -> str | None:
    """Returns why the plan of `task` would end the training at once after `done` rounds; None if not."""
    plan = task.file.coordination
    if done >= plan.rounds:
        return f"All {plan.rounds} rounds of its plan are done. Say how many more there should be."
    source: Source = "server" if task.shards.holdout or plan.volunteer else "clients"
    if reason := history.progress(stop_rules(plan.stop, source)).reason():
        return f"A stop rule would end it at once: {reason} Change the stop rule, too."
    return None


def choices(task: Task, history: VersionHistory) -> dict[str, Any]:
    """Returns the plan as it is, and what its owner can choose, for the page of the dashboard."""
    plan, done = task.file.coordination, rounds_done(history, again=False)
    best = history.best.version if history.best else None
    return {
        "done": done,
        "rounds": plan.rounds - done if plan.rounds > done else plan.rounds,
        "deadline": plan.units.lease if plan.units else plan.deadline,
        "learning_rate": task.learning_rate,
        "fixed_rate": fixed_rate(task),
        "stop": plan.stop,
        "metrics": ["loss", *(metric.name for metric in task.bundle.manifest.metrics)],
        "newest": history.current.version,
        "best": best,
        "versions": [one.version for one in history.versions if one.let_go is None][:-1][-LISTED:][::-1],
    }
