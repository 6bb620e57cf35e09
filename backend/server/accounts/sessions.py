"""Browsers in which somebody is signed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from backend.server.accounts.secret_codes import hashed, new_code
from backend.stores.access import AccessRecords, SessionRecord

DAY = 86_400.0
SESSION_SECONDS = 30 * DAY
# How old the time may be at which a session was last seen: nobody needs it to the second.
_SEEN_SECONDS = 3600.0


@dataclass(frozen=True)
class Sessions:
    """Begins, finds and ends them. `clock` gives seconds (Unix)."""

    records: AccessRecords
    clock: Callable[[], float]

    async def begin(self, account: str, agent: str) -> str:
        """The secret of a new session of `account` in the browser called `agent`."""
        code, now = new_code(), self.clock()
        await self.records.add_session(
            SessionRecord(hashed(code), account, agent[:200], now, now, now + SESSION_SECONDS)
        )
        return code

    async def find(self, code: str) -> SessionRecord | None:
        """The session of a secret, which is thereby seen; None when there is none (any more)."""
        now = self.clock()
        session = await self.records.session(hashed(code), now)
        if session is not None and now - session.seen > _SEEN_SECONDS:
            await self.records.seen(session.secret, now)
        return session

    async def of(self, account: str) -> list[SessionRecord]:
        """All of an account, the newest first."""
        return await self.records.sessions(account, self.clock())

    async def end(self, account: str, id: str | None = None) -> int:
        """Ends the one called `id`, or all of an account; how many."""
        return await self.records.end_sessions(account, id)
