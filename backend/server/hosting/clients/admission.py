"""Admission control of one task: bans, closure, proofs of work and the limit on its clients."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from backend.errors import BannedError, BusyError, ClosedError
from backend.server.hosting.clients.work_challenges import WorkChallenges


@dataclass
class AdmissionControl:
    """Decides which clients may join a task. Owned by the task's lifecycle and asked by its host.

    `closed` is the reason why no client may join; None while the task is open. A ban applies to a client's
    id, which is derived from its secret token. A client without its token gets another id, so a ban stops
    devices that misbehave by mistake and costs an adversary a reload, or a proof of work, which `work` asks
    of newcomers; None if the task asks for none.
    """

    closed: str | None = None
    banned: set[str] = field(default_factory=set)
    work: WorkChallenges | None = None

    def check(self, client: str, identity: str) -> None:
        """Returns if `client`, let in as `identity`, may join.

        Raises ClosedError, BannedError or WorkRequiredError.
        """
        if self.closed is not None:
            raise ClosedError(self.closed)
        if client in self.banned:
            raise BannedError("The owner of this task does not let this device take part (any more).")
        if self.work is not None:
            self.work.check(client, identity)


def check_room(client: str, connected: Collection[str], maximum: int, what: str) -> None:
    """Returns if `client` is connected already or a place is free for it. Raises BusyError.

    `what` is the scheme's word for its clients.
    """
    if len(connected) >= maximum and client not in connected:
        raise BusyError(
            f"{maximum} {what} are connected, the limit of this task. Try again in a minute, or choose "
            "another task."
        )
