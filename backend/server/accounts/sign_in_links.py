"""Manages one-time sign-in links for the first operator, invited owners, and owners who lost all keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from backend.errors import BadRequestError, RecordedBeforeError, SignInError
from backend.server.accounts.secret_codes import hashed, new_code, new_id
from backend.server.accounts.sessions import DAY
from backend.stores.access import AccessRecords, AccountRecord, SignInLink

LINK_SECONDS = 7 * DAY
_NAME = re.compile(r"[a-z0-9][a-z0-9._@-]{0,63}")


@dataclass(frozen=True)
class SignInLinks:
    """Creates and redeems sign-in links. `clock` gives Unix seconds."""

    records: AccessRecords
    clock: Callable[[], float]

    async def first(self) -> str | None:
        """Creates the first operator's link, in place of older ones; None if there is an operator."""
        if any(account.operator for account in await self.records.accounts()):
            return None
        await self.records.drop_first_links()
        return await self.make(operator=True)

    async def make(self, operator: bool = False, account: str | None = None) -> str:
        """Creates a link into `account`, or into a new operator's or owner's account. Returns its secret."""
        code, now = new_code(), self.clock()
        await self.records.add_link(SignInLink(hashed(code), operator, now, now + LINK_SECONDS, account))
        return code

    async def look(self, code: str) -> AccountRecord | None:
        """Returns the account of a link; None for a new one. Raises SignInError if the link is invalid."""
        link = await self.records.link(hashed(code), self.clock())
        if link is None:
            raise _used()
        return None if link.account is None else await self.records.account(link.account)

    async def open(self, code: str, name: str) -> AccountRecord:
        """Redeems a link. Returns its account, which is named `name` if it is new.

        Raises SignInError if the link is invalid, BadRequestError if the name is invalid or taken.
        """
        now = self.clock()
        if await self.look(code) is None:
            await self._check(name)
        link = await self.records.take_link(hashed(code), now)
        if link is None:
            raise _used()
        if link.account is not None:
            account = await self.records.account(link.account)
            if account is None:
                raise _used()
            return account
        account = AccountRecord(new_id(), name, link.operator, now)
        try:
            await self.records.add_account(account)
        except RecordedBeforeError:
            # Another account took the name meanwhile: the link stays valid.
            await self.records.add_link(link)
            raise _taken(name) from None
        return account

    async def _check(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise BadRequestError(
                "A name has 1 to 64 characters: small letters a-z, digits and . _ @ -, and begins with a "
                "letter or digit."
            )
        if await self.records.account_named(name) is not None:
            raise _taken(name)


def _used() -> SignInError:
    return SignInError(
        "This link was already used, or has expired. Ask for another; the server's operator makes one with "
        "`minga account link`."
    )


def _taken(name: str) -> BadRequestError:
    return BadRequestError(f"The name '{name}' is taken. Choose another name.")
