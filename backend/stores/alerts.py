"""Contract of the alert store: the warnings that a task's owner received, with start and end.

All methods raise StoreError, in a sentence for the operator, when the medium fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

# The number of alerts that a task keeps: the newest.
MAX_KEPT = 200


@dataclass(frozen=True)
class Alert:
    """A warning to a task's owner, from `at` to `cleared` (Unix seconds; None while it lasts).

    `acknowledged` is when the owner confirmed having seen it; None before. The store assigns `id`.
    """

    id: int
    trouble: str
    text: str
    at: float
    cleared: float | None = None
    acknowledged: float | None = None


class AlertStore(Protocol):
    """Stores alerts by the name of their task."""

    async def alerts(self, task: str) -> list[Alert]:
        """Returns the alerts that are kept, oldest first."""
        ...

    async def add_alert(
        self, task: str, trouble: str, text: str, at: float, cleared: float | None = None
    ) -> Alert:
        """Adds an alert, and removes the oldest of the task above MAX_KEPT."""
        ...

    async def clear_alerts(self, task: str, trouble: str, cleared: float) -> None:
        """Sets when the task's lasting alerts of that kind ended."""
        ...

    async def acknowledge(self, task: str, id: int, at: float) -> bool:
        """Records when the owner first confirmed an alert. Returns whether there is such an alert."""
        ...

    async def forget_alerts(self, task: str) -> None:
        """Removes all alerts of a task."""
        ...
