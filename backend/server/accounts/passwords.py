"""Sets and checks passwords, stored as argon2id hashes (RFC 9106)."""

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

# NIST SP 800-63B requires 8, or 15 without a second factor. Sign-in attempts are rate-limited, too.
MIN_LENGTH, MAX_LENGTH = 12, 256
# Each check takes 64 MiB for a tenth of a second, so only a few run concurrently.
MAX_CONCURRENT = 2


@dataclass(frozen=True)
class Passwords:
    """Sets and checks passwords. Owns the semaphore that limits concurrent hashing."""

    records: AccessRecords
    _hashing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CONCURRENT))

    async def set(self, account: str, password: str) -> None:
        """Sets the password of an account (its id). Raises BadRequestError if its length is out of range."""
        if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
            raise BadRequestError(
                f"A password has {MIN_LENGTH} to {MAX_LENGTH} characters here. "
                "Several words are easy to remember."
            )
        async with self._hashing:
            stored = await asyncio.to_thread(lambda: _hasher().hash(password))
        await self.records.set_password(account, stored)

    async def remove(self, account: str) -> None:
        """Removes the password of an account, which then signs in by other means."""
        await self.records.set_password(account, None)

    async def sign_in(self, name: str, password: str) -> AccountRecord:
        """Returns the account of a name and password. Raises SignInError, which says not which is wrong."""
        account = await self.records.account_named(name)
        # The check takes equally long for unknown names, so that its time does not reveal which names exist.
        stored = None if account is None else account.password
        holds = await self.holds(stored, password)
        if account is None or not holds:
            raise SignInError("Name or password is wrong. The server's operator can send you a sign-in link.")
        return account

    async def holds(self, stored: str | None, password: str) -> bool:
        """Whether `password` matches the hash `stored`; never if that is None, but after the same time."""
        if len(password) > MAX_LENGTH:
            return False
        async with self._hashing:
            return await asyncio.to_thread(_verify, stored, password)


def _verify(stored: str | None, password: str) -> bool:
    from argon2.exceptions import VerifyMismatchError

    hasher = _hasher()
    try:
        hasher.verify(_unknown_hash() if stored is None else stored, password)
    except VerifyMismatchError:
        return False
    return stored is not None


@cache
def _unknown_hash() -> str:
    """Returns the hash of a random password that is not stored anywhere."""
    return _hasher().hash(new_code())


def _hasher() -> PasswordHasher:
    # RFC 9106's second choice: 64 MiB, three passes. Imported here, since most servers start without it.
    from argon2 import PasswordHasher, profiles

    return PasswordHasher.from_parameters(profiles.RFC_9106_LOW_MEMORY)
