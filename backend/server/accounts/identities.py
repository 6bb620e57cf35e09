"""Resolves session cookies and API tokens to requesters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from backend.server.accounts.permissions import ANYBODY, Requester, Role
from backend.server.accounts.sessions import Sessions
from backend.server.accounts.tokens import Tokens
from backend.stores.access import AccessRecords


@dataclass(frozen=True)
class Identities:
    """Resolves secrets to requesters."""

    records: AccessRecords
    sessions: Sessions
    tokens: Tokens

    async def of_session(self, code: str) -> Requester:
        """Resolves a session's secret; ANYBODY if it is unknown or expired."""
        session = await self.sessions.find(code)
        return ANYBODY if session is None else await self._of(session.account)

    async def of_token(self, code: str) -> Requester:
        """Resolves an API token to the account for which a program acts. Raises SignInError."""
        token = await self.tokens.find(code)
        identity = await self._of(token.account)
        return replace(identity, scopes=frozenset(token.scopes), only=token.task)

    async def _of(self, account: str) -> Requester:
        record = await self.records.account(account)
        if record is None:
            return ANYBODY
        roles = {task: cast(Role, role) for task, role in (await self.records.roles(account)).items()}
        return Requester(record.id, record.name, record.operator, roles)
