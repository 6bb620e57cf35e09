"""Passwords, kept as argon2id (RFC 9106)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from backend.errors import BadRequestError, SignInError
from backend.server.accounts.secret_codes import new_code
from backend.stores.access import AccessRecords, AccountRecord

if TYPE_CHECKING:
    from argon2 import PasswordHasher

# NIST SP 800-63B asks for 8, and 15 where nothing else is shown. Guesses are counted here, too.
SHORTEST, LONGEST = 12, 256
# Each check takes 64 MiB for a tenth of a second: so many at a time.
MOST_AT_ONCE = 2


@dataclass(frozen=True)
class Passwords:
    """Sets and checks them. Owns the turns by which checks wait for one another."""

    records: AccessRecords
    _mailbox: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_AT_ONCE))

    async def set(self, account: str, password: str) -> None:
        """Gives an account (its id) a password. Raises BadRequestError for one that is short."""
        if not SHORTEST <= len(password) <= LONGEST:
            raise BadRequestError(
                f"A password has {SHORTEST} to {LONGEST} characters here. Several words are easy to remember."
            )
        async with self._mailbox:
            kept = await asyncio.to_thread(lambda: _hasher().hash(password))
        await self.records.set_password(account, kept)

    async def remove(self, account: str) -> None:
        """An account is signed in to without a password from now on."""
        await self.records.set_password(account, None)

    async def sign_in(self, name: str, password: str) -> AccountRecord:
        """The account of that name and password. Raises SignInError, which does not tell which is wrong."""
        account = await self.records.account_named(name)
        # For a name that nobody has, the check takes as long as for one that somebody has.
        kept = None if account is None else account.password
        holds = await self.holds(kept, password)
        if account is None or not holds:
            raise SignInError(
                "Name or password is wrong. Whoever runs the server can make you a link that signs you in."
            )
        return account

    async def holds(self, kept: str | None, password: str) -> bool:
        """Whether `password` is the one that was kept; None is like a password that nobody knows."""
        if len(password) > LONGEST:
            return False
        async with self._mailbox:
            return await asyncio.to_thread(_verify, kept, password)


def _verify(kept: str | None, password: str) -> bool:
    from argon2.exceptions import VerifyMismatchError

    hasher = _hasher()
    try:
        hasher.verify(_nobodys() if kept is None else kept, password)
    except VerifyMismatchError:
        return False
    return kept is not None


@cache
def _nobodys() -> str:
    """Hash of a password that nobody knows."""
    return _hasher().hash(new_code())


def _hasher() -> PasswordHasher:
    # RFC 9106's second choice: 64 MiB, three passes. Imported by who needs it: most servers start without.
    from argon2 import PasswordHasher, profiles

    return PasswordHasher.from_parameters(profiles.RFC_9106_LOW_MEMORY)
