"""Who may take part in one task."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from backend.errors import BannedError, BusyError, ClosedError


@dataclass
class AdmissionControl:
    """Owned by a task's lifecycle; its host asks. `closed` says why nobody may come in, None while they may.

    A ban is of a client's id, which its secret token makes. Whoever throws the token away has another id: a
    ban keeps out devices that misbehave by mistake, and costs an adversary a reload.
    """

    closed: str | None = None
    banned: set[str] = field(default_factory=set)

    def check(self, client: str) -> None:
        """Returns if `client` may come in. Raises ClosedError or BannedError."""
        if self.closed is not None:
            raise ClosedError(self.closed)
        if client in self.banned:
            raise BannedError("The owner of this task does not let this device take part (any more).")


def check_room(client: str, here: Collection[str], most: int, what: str) -> None:
    """Returns if `client` may come in beside those who are `here`, or in its own place. Raises BusyError.

    `what` they are called in the scheme of the task.
    """
    if len(here) >= most and client not in here:
        raise BusyError(
            f"{most} {what} are here, as many as this task may have. "
            "Try again in a minute, or choose another task."
        )
