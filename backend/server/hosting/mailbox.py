"""Handles the events of a host one by one: a bounded inbox, one loop, one timer, and so no lock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

import structlog

log = structlog.stdlib.get_logger("minga.host")

INBOX = 1024
Event = TypeVar("Event")


class Mailbox(Generic[Event]):
    """Owns the inbox of the host of `task`. `turn` is called with each event, or None when something is due
    (see `due`), and with the time; time is the event loop's."""

    def __init__(
        self, task: str, turn: Callable[[Event | None, float], None], due: Callable[[], float | None]
    ) -> None:
        self._task = task
        self._turn = turn
        self._due = due
        self._inbox: asyncio.Queue[Event | None] = asyncio.Queue(INBOX)
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at: float | None = None

    @property
    def waiting(self) -> int:
        """Number of events that wait."""
        return self._inbox.qsize()

    async def put(self, event: Event) -> None:
        """Brings an event. Waits while the inbox is full."""
        await self._inbox.put(event)

    async def run(self) -> None:
        """Takes turns until cancelled."""
        try:
            while True:
                if self._inbox.empty():
                    self._set_alarm()
                event = await self._inbox.get()
                try:
                    self._turn(event, asyncio.get_running_loop().time())
                except Exception:
                    # A shell: one event that fails must not end the task for everybody.
                    log.exception("an event failed", task=self._task)
        finally:
            if self._alarm is not None:
                self._alarm.cancel()

    def _set_alarm(self) -> None:
        """Sees to it that a turn comes when something is due."""
        due = self._due()
        if due == self._alarm_at:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = due
        self._alarm = None if due is None else asyncio.get_running_loop().call_at(due, self._ring)

    def _ring(self) -> None:
        self._alarm_at = self._alarm = None
        if self._inbox.empty():  # Else a turn comes anyway.
            self._inbox.put_nowait(None)
