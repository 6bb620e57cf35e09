"""Manages the sessions of signed-in browsers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from backend.server.accounts.secret_codes import hashed, new_code
from backend.stores.access import AccessRecords, SessionRecord

DAY = 86_400.0
SESSION_SECONDS = 30 * DAY
# Resolution of a session's time of last use, to write it rarely.
_SEEN_SECONDS = 3600.0


@dataclass(frozen=True)
class Sessions:
    """Begins, finds and ends sessions. `clock` gives Unix seconds."""

    records: AccessRecords
    clock: Callable[[], float]

    async def begin(self, account: str, agent: str) -> str:
        """Begins a session of `account` in the browser called `agent`. Returns its secret."""
        code, now = new_code(), self.clock()
        await self.records.add_session(
            SessionRecord(hashed(code), account, agent[:200], now, now, now + SESSION_SECONDS)
        )
        return code

    async def find(self, code: str) -> SessionRecord | None:
        """Returns the session of a secret and records its use; None if it is unknown or expired."""
        now = self.clock()
        session = await self.records.session(hashed(code), now)
        if session is not None and now - session.seen > _SEEN_SECONDS:
            await self.records.seen(session.secret, now)
        return session

    async def of(self, account: str) -> list[SessionRecord]:
        """Returns all sessions of an account, the newest first."""
        return await self.records.sessions(account, self.clock())

    async def end(self, account: str, id: str | None = None) -> int:
        """Ends the session `id`, or all sessions of an account. Returns how many."""
        return await self.records.end_sessions(account, id)
