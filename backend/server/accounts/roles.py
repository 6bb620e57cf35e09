"""Manages accounts' roles on tasks."""

from __future__ import annotations

from dataclasses import dataclass

from backend.errors import BadRequestError, NotFoundError
from backend.server.accounts.permissions import Role
from backend.stores.access import AccessRecords, ForgottenAccess, RoleMember


@dataclass(frozen=True)
class Roles:
    """Grants and revokes roles."""

    records: AccessRecords

    async def begin(self, task: str, account: str) -> None:
        """Makes the account the only owner of a new task; roles on an earlier task of its name are void."""
        await self.forget(task)
        await self.grant(task, account, "owner")

    async def put_back(self, task: str, access: ForgottenAccess) -> None:
        """Restores what `forget` returned, because no new task of that name came about."""
        await self.records.put_back(task, access)

    async def grant(self, task: str, account: str, role: Role | None) -> None:
        """Sets the role of an account (its id) on a task; None removes it.

        Raises BadRequestError if the task would have no owner.
        """
        if role != "owner":
            owners = [member.account for member in await self.members(task) if member.role == "owner"]
            if owners == [account]:
                raise BadRequestError(f"'{task}' needs an owner: add another one first.")
        await self.records.grant(task, account, role)

    async def grant_by_name(self, task: str, name: str, role: Role | None) -> None:
        """Sets the role of the account called `name`. Raises NotFoundError, or as `grant`."""
        account = await self.records.account_named(name)
        if account is None:
            raise NotFoundError(f"There is no account '{name}'. An operator can create one on /account.")
        await self.grant(task, account.id, role)

    async def of(self, account: str) -> dict[str, str]:
        """Returns the account's roles by task."""
        return await self.records.roles(account)

    async def members(self, task: str) -> list[RoleMember]:
        """Returns every account with a role on a task, by name."""
        return await self.records.members(task)

    async def forget(self, task: str) -> ForgottenAccess:
        """Deletes the roles on a task, invitations to it and tokens for it alone. Returns what there was."""
        return await self.records.forget_task(task)
