"""Deletes accounts with everything that belongs to them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from backend.errors import OrderError
from backend.stores.access import AccessRecords, AccountRecord


@dataclass(frozen=True)
class AccountDeletion:
    """Deletes accounts unless a task would lose its only owner, or the server its only operator."""

    records: AccessRecords

    async def check(self, account: AccountRecord, tasks: Collection[str]) -> None:
        """Raises OrderError if the account may not be deleted; the text says what to hand over first.

        `tasks` are those of the server: roles on tasks that its operator removed do not count.
        """
        owned = [task for task, role in (await self.records.roles(account.id)).items() if role == "owner"]
        owned = [task for task in owned if task in tasks]
        only_owned = [task for task in sorted(owned) if await self._has_one_owner(task)]
        if only_owned:
            names = ", ".join(f"'{task}'" for task in only_owned)
            raise OrderError(
                f"{account.name} is the only owner of {names}. Transfer them first, under invitations and "
                f"roles, or delete them."
            )
        operators = [record for record in await self.records.accounts() if record.operator]
        if account.operator and len(operators) == 1:
            raise OrderError(f"{account.name} is the only operator. Add another operator by a link first.")

    async def remove(self, account: AccountRecord, tasks: Collection[str]) -> None:
        """Deletes the account, its keys, sessions, tokens, links and roles. Raises OrderError, as `check`."""
        await self.check(account, tasks)
        await self.records.remove_account(account.id)

    async def _has_one_owner(self, task: str) -> bool:
        return sum(member.role == "owner" for member in await self.records.members(task)) == 1
