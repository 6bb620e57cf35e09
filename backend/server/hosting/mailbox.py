"""Mailbox of a host: handles its events one by one in one loop with one timer, so no lock is needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

import structlog

log = structlog.stdlib.get_logger("minga.host")

INBOX = 1024
Event = TypeVar("Event")


class Mailbox(Generic[Event]):
    """Owns the bounded inbox of the host of `task`.

    Calls `handle` with each event and the time, or with None when the time that `next_due` returned has come.
    Time is the event loop's.
    """

    def __init__(
        self, task: str, handle: Callable[[Event | None, float], None], next_due: Callable[[], float | None]
    ) -> None:
        self._task = task
        self._handle = handle
        self._next_due = next_due
        self._inbox: asyncio.Queue[Event | None] = asyncio.Queue(INBOX)
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at: float | None = None

    @property
    def waiting(self) -> int:
        """Number of events in the inbox."""
        return self._inbox.qsize()

    async def put(self, event: Event) -> None:
        """Queues an event. Waits while the inbox is full."""
        await self._inbox.put(event)

    async def run(self) -> None:
        """Handles events until cancelled."""
        try:
            while True:
                if self._inbox.empty():
                    self._set_alarm()
                event = await self._inbox.get()
                try:
                    self._handle(event, asyncio.get_running_loop().time())
                except Exception:
                    # A shell: one event that fails must not end the task for all its clients.
                    log.exception("an event failed", task=self._task)
        finally:
            if self._alarm is not None:
                self._alarm.cancel()

    def _set_alarm(self) -> None:
        """Sets the timer to the next due time."""
        due = self._next_due()
        if due == self._alarm_at:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = due
        self._alarm = None if due is None else asyncio.get_running_loop().call_at(due, self._ring)

    def _ring(self) -> None:
        self._alarm_at = self._alarm = None
        if self._inbox.empty():  # Otherwise an event is handled anyway, and the due time with it.
            self._inbox.put_nowait(None)
