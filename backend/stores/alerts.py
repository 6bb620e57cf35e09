"""What a store of alerts promises: what a task's owner was told to look at, from when to when.

All methods raise StoreError, in a sentence for the operator, when the medium fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

# Of each task the newest are kept.
MOST_KEPT = 200


@dataclass(frozen=True)
class Alert:
    """Something that an owner should know, from when to when (Unix seconds; `cleared` None while it lasts).

    `acknowledged` is when the owner said that they had seen it; None before. `id` is the store's.
    """

    id: int
    trouble: str
    text: str
    at: float
    cleared: float | None = None
    acknowledged: float | None = None


class AlertStore(Protocol):
    """Alerts by the name of their task."""

    async def alerts(self, task: str) -> list[Alert]:
        """Those that are kept, the oldest first."""
        ...

    async def add_alert(
        self, task: str, trouble: str, text: str, at: float, cleared: float | None = None
    ) -> Alert:
        """Remembers one more, and forgets the oldest above MOST_KEPT."""
        ...

    async def clear_alerts(self, task: str, trouble: str, cleared: float) -> None:
        """What lasted of that trouble is over."""
        ...

    async def acknowledge(self, task: str, id: int, at: float) -> bool:
        """The owner has seen it, whenever that was first; whether there is such an alert."""
        ...

    async def forget_alerts(self, task: str) -> None:
        """Removes all of a task."""
        ...
