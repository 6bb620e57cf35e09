"""Links that let volunteers into a task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from backend.errors import BadRequestError, ForbiddenError
from backend.server.accounts.secret_codes import hashed, new_code
from backend.server.accounts.sessions import DAY
from backend.stores.access import AccessRecords, Invitation

MOST_INVITATIONS = 200


@dataclass(frozen=True)
class Invitations:
    """Makes and takes them. `clock` gives seconds (Unix)."""

    records: AccessRecords
    clock: Callable[[], float]

    async def make(self, task: str, note: str, uses: int | None, days: int | None) -> str:
        """The code of a new invitation for so many people and days, None: without end. BadRequestError."""
        if len(await self.of(task)) >= MOST_INVITATIONS:
            raise BadRequestError(f"'{task}' has {MOST_INVITATIONS} invitations. Revoke one that is used up.")
        code, now = new_code(), self.clock()
        expires = None if days is None else now + days * DAY
        await self.records.add_invitation(Invitation(hashed(code), task, note, now, uses, expires))
        return code

    async def of(self, task: str) -> list[Invitation]:
        """All of a task, the newest first."""
        return await self.records.invitations(task)

    async def revoke(self, task: str, id: str) -> bool:
        """Ends the one called `id`, for those whom it let in too; whether there was one."""
        return await self.records.revoke_invitation(task, id)

    async def admit(self, code: str, visitor: str) -> str:
        """Lets a visitor (their secret) in: the task. Raises ForbiddenError for a code that does not hold."""
        task = await self.records.admit(hashed(code), hashed(visitor), self.clock())
        if task is None:
            raise ForbiddenError(
                "This invitation does not hold: it has expired, was revoked, or as many came as it was for. "
                "Ask whoever sent it for another."
            )
        return task

    async def admitted(self, visitor: str) -> frozenset[str]:
        """The tasks into which a visitor (their secret) was let."""
        return frozenset(await self.records.admissions(hashed(visitor), self.clock()))
