"""Contract of the store of plan changes: what owners changed in the plans of their tasks after the launch.

All methods raise StoreError, in a sentence for the operator, when the medium fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class PlanAmendment:
    """A changed value of a task file, by its dotted `key`, since `at` (Unix seconds).

    `value` and `was`, which the task file said then, are values of JSON; None is a key that is absent.
    """

    key: str
    value: Any
    was: Any
    at: float


class PlanChanges(Protocol):
    """Stores the newest change of each key, by the name of the task."""

    async def plan_changes(self, task: str) -> list[PlanAmendment]:
        """Returns the changes of a task's plan, by key."""
        ...

    async def change_plan(self, task: str, changes: Sequence[PlanAmendment]) -> None:
        """Adds the changes in one transaction; each replaces that of the same key."""
        ...

    async def forget_plan(self, task: str) -> None:
        """Removes the changes of a deleted task."""
        ...
