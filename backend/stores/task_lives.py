"""What a store of tasks' lives promises: where each is as its owner leads it, and whom the owner keeps out.

All methods raise StoreError, in a sentence for the operator, when the medium fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from backend.protocols.tasks.task_life import Life


@dataclass(frozen=True)
class Ban:
    """A client that may not take part, since when (Unix seconds), and why: the owner's own note."""

    client: str
    reason: str
    since: float


class Lives(Protocol):
    """One life for each name of a task. A task without any is live."""

    async def life(self, task: str) -> Life | None:
        """Where the task was left; None where nobody led it so far."""
        ...

    async def set_life(self, task: str, life: Life) -> None:
        """Remembers where it is."""
        ...

    async def forget_life(self, task: str) -> None:
        """The task is gone: removes its life and its bans."""
        ...

    async def bans(self, task: str) -> list[Ban]:
        """Who may not take part, the oldest ban first."""
        ...

    async def ban(self, task: str, ban: Ban) -> None:
        """Adds a ban, or replaces that of the same client."""
        ...

    async def unban(self, task: str, client: str) -> None:
        """Takes a ban back, if there is one."""
        ...
