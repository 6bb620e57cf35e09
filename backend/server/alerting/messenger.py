"""Delivers alerts one after the other, with retries and a rate limit."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog

from backend.errors import TaskFileError
from backend.formats.task_file import TaskFile
from backend.protocols.token_bucket import NEVER, Rate
from backend.server.alerting import mail, webhook

log = structlog.stdlib.get_logger("minga.alerts")

# Limits the alerts of a task whose alarms are raised and cleared every minute.
PER_HOUR, BURST = 6, 12
MAX_WAITING = 32
# Seconds between attempts; after the last one the alert is dropped and the dashboard shows the failure.
RETRY_PAUSES = (5.0, 60.0)


@dataclass(frozen=True)
class AlertDestinations:
    """Where alerts may be sent: the `origins` of allowed webhooks, and the operator's mail server."""

    origins: frozenset[str] = frozenset()
    mailbox: mail.OutgoingMail = mail.NO_MAIL


NO_DESTINATIONS = AlertDestinations()


class Messenger:
    """Sends the alerts of one task to the destinations in its task file.

    `clock` gives the time of day (Unix seconds). `trouble` describes the last failed delivery; None after a
    successful one. Raises TaskFileError if this server may not send there.
    """

    def __init__(
        self,
        file: TaskFile,
        destinations: AlertDestinations = NO_DESTINATIONS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._file, self._mailbox, self._clock = file, destinations.mailbox, clock
        self._waiting: deque[dict[str, Any]] = deque(maxlen=MAX_WAITING)
        self._queued = asyncio.Event()
        self._rate, self._bucket_full_at = Rate(PER_HOUR / 3600, BURST), NEVER
        self.trouble: str | None = None
        check_destinations(file, destinations)

    def send(self, trouble: str, text: str) -> None:
        """Queues an alert for delivery, unless the rate limit is exceeded."""
        now = self._clock()
        full_at = self._rate.spend(self._bucket_full_at, now)
        if full_at is None:
            log.warning("an alert is left out: too many", task=self._file.name, trouble=trouble)
            return
        self._bucket_full_at = full_at
        content = {"task": self._file.name, "title": self._file.title, "trouble": trouble, "text": text}
        self._waiting.append({**content, "at": now})
        self._queued.set()

    async def run(self) -> None:
        """Delivers queued alerts until cancelled."""
        while True:
            await self._queued.wait()
            self._queued.clear()
            await self.deliver()

    async def deliver(self) -> None:
        """Delivers the queued alerts."""
        while self._waiting:
            await self._deliver(self._waiting.popleft())

    async def _deliver(self, content: dict[str, Any]) -> None:
        alerts = self._file.alerts
        if (url := alerts.webhook) is not None:
            await self._send_with_retries("webhook", lambda: webhook.post(url, content))
        if alerts.email:
            subject = f"Minga: {self._file.title}"
            await self._send_with_retries(
                "e-mail", lambda: mail.send(self._mailbox, alerts.email, subject, content["text"])
            )

    async def _send_with_retries(self, way: str, send: Callable[[], None]) -> None:
        for pause in (*RETRY_PAUSES, None):
            try:
                await asyncio.to_thread(send)
            except OSError as error:
                self._failed(way, error)
            except ValueError as error:
                # What cannot be written as a message will not be so later; further alerts may.
                self._failed(way, error)
                return
            else:
                self.trouble = None
                return
            if pause is not None:
                await asyncio.sleep(pause)

    def _failed(self, way: str, error: Exception) -> None:
        self.trouble = f"An alert could not be sent by {way}: {error}"
        log.warning("an alert was not sent", task=self._file.name, way=way, reason=str(error))


def check_destinations(file: TaskFile, destinations: AlertDestinations) -> None:
    """Checks that the task's alerts may be sent as its file says. Raises TaskFileError."""
    if file.alerts.webhook is not None:
        webhook.check_webhook(file.name, file.alerts.webhook, destinations.origins)
    if file.alerts.email and not destinations.mailbox.host:
        raise TaskFileError(
            f"{file.name}: alerts.email needs a mail server, and this server has none. Ask its operator to "
            "set MINGA_SMTP_HOST, or take it out."
        )
