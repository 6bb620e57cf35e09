"""Manages API tokens, with which programs act for an account."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from backend.errors import BadRequestError, SignInError
from backend.server.accounts.permissions import SCOPES
from backend.server.accounts.secret_codes import hashed, new_code
from backend.server.accounts.sessions import DAY
from backend.stores.access import AccessRecords, TokenRecord

# Identifies a leaked token, in a public file for example.
PREFIX = "minga_"
MAX_TOKENS = 50
_USED_SECONDS = 3600.0


@dataclass(frozen=True)
class Tokens:
    """Creates, finds and revokes API tokens. `clock` gives Unix seconds."""

    records: AccessRecords
    clock: Callable[[], float]

    async def make(
        self, account: str, name: str, scopes: Collection[str], task: str | None, days: int | None
    ) -> str:
        """Creates a token, whose text cannot be read again. Raises BadRequestError."""
        unknown = sorted(set(scopes) - set(SCOPES))
        if unknown or not scopes:
            raise BadRequestError(f"A token's scopes are some of {', '.join(SCOPES)}.")
        if len(await self.records.tokens(account)) >= MAX_TOKENS:
            raise BadRequestError(f"You have {MAX_TOKENS} API tokens. Revoke one that is no longer used.")
        code, now = PREFIX + new_code(), self.clock()
        expires = None if days is None else now + days * DAY
        await self.records.add_token(
            TokenRecord(hashed(code), account, name, sorted(scopes), now, task, expires=expires)
        )
        return code

    async def find(self, code: str) -> TokenRecord:
        """Returns the token of a secret and records its use. Raises SignInError."""
        now = self.clock()
        token = await self.records.token(hashed(code), now)
        if token is None:
            raise SignInError("This API token is unknown, expired or revoked. Make one on the page /account.")
        if token.used is None or now - token.used > _USED_SECONDS:
            await self.records.token_used(token.secret, now)
        return token

    async def of(self, account: str) -> list[TokenRecord]:
        """Returns all tokens of an account, the newest first."""
        return await self.records.tokens(account)

    async def revoke(self, account: str, id: str) -> bool:
        """Revokes the token `id`. Returns whether it existed."""
        return await self.records.revoke_token(account, id)
