"""Contract of the task-life store: the state that an owner set for each task, and banned clients.

All methods raise StoreError, in a sentence for the operator, when the medium fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from backend.protocols.tasks.task_life import Life


@dataclass(frozen=True)
class Ban:
    """A client that may not take part, since when (Unix seconds), and the owner's note on the reason."""

    client: str
    reason: str
    since: float


class Lives(Protocol):
    """Stores one life for each task name. A task without a record is live."""

    async def life(self, task: str) -> Life | None:
        """Returns the task's state; None when its owner never changed it."""
        ...

    async def set_life(self, task: str, life: Life) -> None:
        """Stores the task's state."""
        ...

    async def forget_life(self, task: str) -> None:
        """Removes the life and the bans of a deleted task."""
        ...

    async def bans(self, task: str) -> list[Ban]:
        """Returns the bans of a task, oldest first."""
        ...

    async def ban(self, task: str, ban: Ban) -> None:
        """Adds a ban, or replaces the same client's."""
        ...

    async def unban(self, task: str, client: str) -> None:
        """Removes a client's ban, if there is one."""
        ...
