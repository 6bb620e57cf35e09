"""Accounts that go, with everything that belongs to them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from backend.errors import OrderError
from backend.stores.access import AccessRecords, AccountRecord


@dataclass(frozen=True)
class Leaving:
    """Removes accounts, where nothing is left without anybody who answers for it."""

    records: AccessRecords

    async def check(self, account: AccountRecord, tasks: Collection[str]) -> None:
        """Returns if the account may go. Raises OrderError, which says what is to be handed over first.

        `tasks` are those of the server: roles on what its operator took out of it hold nobody.
        """
        owned = [task for task, role in (await self.records.roles(account.id)).items() if role == "owner"]
        owned = [task for task in owned if task in tasks]
        alone = [task for task in sorted(owned) if await self._is_alone(task)]
        if alone:
            names = ", ".join(f"'{task}'" for task in alone)
            raise OrderError(
                f"{account.name} is the only owner of {names}. Make somebody else an owner first, under "
                "invitations and roles, or delete what is not needed."
            )
        operators = [one for one in await self.records.accounts() if one.operator]
        if account.operator and len(operators) == 1:
            raise OrderError(f"{account.name} is the only operator. Make a link for another one first.")

    async def remove(self, account: AccountRecord, tasks: Collection[str]) -> None:
        """Removes it, its keys, sessions, tokens, links and roles. Raises OrderError, as `check`."""
        await self.check(account, tasks)
        await self.records.remove_account(account.id)

    async def _is_alone(self, task: str) -> bool:
        return sum(one.role == "owner" for one in await self.records.members(task)) == 1
