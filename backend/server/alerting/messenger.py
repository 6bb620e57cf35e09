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

# Of a task whose alarms come and go every minute the first are told, then some of them.
PER_HOUR, AT_ONCE = 6, 12
WAITING = 32
# Seconds between attempts; after the last an alert is given up, and its owner told on the dashboard.
PAUSES = (5.0, 60.0)


@dataclass(frozen=True)
class Outside:
    """What alerts may reach: `origins` that webhooks may be at, and the operator's mail server."""

    origins: frozenset[str] = frozenset()
    mailbox: mail.OutgoingMail = mail.NO_MAIL


NOWHERE = Outside()


class Messenger:
    """Sends the alerts of one task where its task file says. `clock` gives the time of day (Unix seconds).

    `trouble` says what could not be delivered last; None while all is well.
    """

    def __init__(
        self, file: TaskFile, outside: Outside = NOWHERE, clock: Callable[[], float] = time.time
    ) -> None:
        self._file, self._mailbox, self._clock = file, outside.mailbox, clock
        self._waiting: deque[dict[str, Any]] = deque(maxlen=WAITING)
        self._more = asyncio.Event()
        self._rate, self._full = Rate(PER_HOUR / 3600, AT_ONCE), NEVER
        self.trouble: str | None = None
        check(file, outside)

    def send(self, trouble: str, text: str) -> None:
        """Has an alert delivered, if there is anywhere to; returns at once."""
        now = self._clock()
        after = self._rate.spend(self._full, now)
        if after is None:
            log.warning("an alert is left out: too many", task=self._file.name, trouble=trouble)
            return
        self._full = after
        content = {"task": self._file.name, "title": self._file.title, "trouble": trouble, "text": text}
        self._waiting.append({**content, "at": now})
        self._more.set()

    async def run(self) -> None:
        """Delivers until cancelled."""
        while True:
            await self._more.wait()
            self._more.clear()
            await self.deliver()

    async def deliver(self) -> None:
        """Delivers the queued alerts."""
        while self._waiting:
            await self._deliver(self._waiting.popleft())

    async def _deliver(self, content: dict[str, Any]) -> None:
        alerts = self._file.alerts
        if (url := alerts.webhook) is not None:
            await self._insist("webhook", lambda: webhook.post(url, content))
        if alerts.email:
            subject = f"Minga: {self._file.title}"
            await self._insist(
                "e-mail", lambda: mail.send(self._mailbox, alerts.email, subject, content["text"])
            )

    async def _insist(self, way: str, act: Callable[[], None]) -> None:
        for pause in (*PAUSES, None):
            try:
                await asyncio.to_thread(act)
            except OSError as error:
                self.trouble = f"An alert could not be sent by {way}: {error}"
                log.warning("an alert was not sent", task=self._file.name, way=way, reason=str(error))
            else:
                self.trouble = None
                return
            if pause is not None:
                await asyncio.sleep(pause)


def check(file: TaskFile, outside: Outside) -> None:
    """Returns if a task's alerts can leave as its file says. Raises TaskFileError, which says what to do."""
    if file.alerts.webhook is not None:
        webhook.check_webhook(file.name, file.alerts.webhook, outside.origins)
    if file.alerts.email and not outside.mailbox.host:
        raise TaskFileError(
            f"{file.name}: alerts.email needs a mail server, and this server knows none. Ask its operator to "
            "set MINGA_SMTP_HOST, or take it out."
        )
