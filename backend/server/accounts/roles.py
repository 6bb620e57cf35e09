"""Who has which role on a task."""

from __future__ import annotations

from dataclasses import dataclass

from backend.errors import BadRequestError, NotFoundError
from backend.server.accounts.permissions import Role
from backend.stores.access import AccessRecords, RoleMember


@dataclass(frozen=True)
class Roles:
    """Gives and takes them."""

    records: AccessRecords

    async def begin(self, task: str, account: str) -> None:
        """A new task is of this account alone: what an earlier one of its name left behind is void."""
        await self.forget(task)
        await self.grant(task, account, "owner")

    async def grant(self, task: str, account: str, role: Role | None) -> None:
        """Gives an account (its id) a role on a task, instead of the one it has; None takes it away.

        Raises BadRequestError where the task would be left without an owner.
        """
        if role != "owner":
            owners = [one.account for one in await self.members(task) if one.role == "owner"]
            if owners == [account]:
                raise BadRequestError(f"'{task}' needs an owner: make somebody else one first.")
        await self.records.grant(task, account, role)

    async def grant_by_name(self, task: str, name: str, role: Role | None) -> None:
        """As `grant`, for the account called `name`. Raises NotFoundError, too."""
        account = await self.records.account_named(name)
        if account is None:
            raise NotFoundError(f"Nobody is called '{name}' here. An operator can invite them on /account.")
        await self.grant(task, account.id, role)

    async def of(self, account: str) -> dict[str, str]:
        """Its roles by task."""
        return await self.records.roles(account)

    async def members(self, task: str) -> list[RoleMember]:
        """Everybody with a role on a task, by name."""
        return await self.records.members(task)

    async def forget(self, task: str) -> None:
        """The task is gone for good: nobody has a role on it, an invitation to it or a token for it alone."""
        await self.records.forget_task(task)
