"""Manages invitations: links that admit volunteers to a task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from backend.errors import BadRequestError, ForbiddenError
from backend.server.accounts.secret_codes import hashed, new_code
from backend.server.accounts.sessions import DAY
from backend.stores.access import AccessRecords, Invitation

MAX_INVITATIONS = 200


@dataclass(frozen=True)
class Invitations:
    """Creates, revokes and redeems invitations. `clock` gives Unix seconds."""

    records: AccessRecords
    clock: Callable[[], float]

    async def make(self, task: str, note: str, uses: int | None, days: int | None) -> str:
        """Creates an invitation for a number of uses and days (None: unlimited). Returns its code.

        Raises BadRequestError.
        """
        if len(await self.of(task)) >= MAX_INVITATIONS:
            raise BadRequestError(
                f"'{task}' has {MAX_INVITATIONS} invitations. Revoke one that is no longer needed."
            )
        code, now = new_code(), self.clock()
        expires = None if days is None else now + days * DAY
        await self.records.add_invitation(Invitation(hashed(code), task, note, now, uses, expires))
        return code

    async def of(self, task: str) -> list[Invitation]:
        """Returns all invitations of a task, the newest first."""
        return await self.records.invitations(task)

    async def revoke(self, task: str, id: str) -> bool:
        """Revokes the invitation `id`, also for visitors that it admitted. Returns whether it existed."""
        return await self.records.revoke_invitation(task, id)

    async def admit(self, code: str, visitor: str) -> str:
        """Admits a visitor (their secret). Returns the task. Raises ForbiddenError if the code is invalid."""
        task = await self.records.admit(hashed(code), hashed(visitor), self.clock())
        if task is None:
            raise ForbiddenError(
                "This invitation is not valid: it expired, was revoked, or has no uses left. "
                "Ask its sender for another."
            )
        return task

    async def admitted(self, visitor: str) -> dict[str, bool]:
        """Returns the tasks to which a visitor (their secret) was admitted.

        The value says whether that was by an invitation for a limited number of people.
        """
        return await self.records.admissions(hashed(visitor), self.clock())
