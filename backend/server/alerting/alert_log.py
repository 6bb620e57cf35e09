"""The alerts of one task, kept over restarts, which are told among them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

import structlog

from backend.errors import NotFoundError, StoreError
from backend.protocols.tasks.alerts import Trouble
from backend.protocols.tasks.task_life import UNDER_WAY, LifeState
from backend.server.hosting.task_host import TaskHost
from backend.server.schemes import scheme_of
from backend.stores.alerts import Alert, AlertStore

log = structlog.stdlib.get_logger("minga.alerts")

SHOWN = 50
RESTARTED = "restarted"


class AlertBook:
    """Owns what is known of a task's alerts, in memory and in the store.

    Where the disk is the trouble, alerts are told all the same: those that could not be recorded have ids
    below zero, and are forgotten with this server.
    """

    def __init__(self, task: str, store: AlertStore, alerts: Sequence[Alert]) -> None:
        self._task, self._store = task, store
        self._alerts = deque(alerts, maxlen=SHOWN)
        self._unrecorded = 0

    def lasting(self) -> dict[Trouble, str]:
        """What was wrong when the last server ended, with its sentence; it clears as if it were new."""
        known = set(Trouble)
        return {
            Trouble(one.trouble): one.text
            for one in self._alerts
            if one.cleared is None and one.trouble in known
        }

    def entries(self) -> list[dict[str, Any]]:
        """Returns the alerts, newest first (docs/reference/http.md)."""
        return [asdict(one) for one in reversed(self._alerts)]

    async def add(self, trouble: str, text: str, at: float, cleared: float | None = None) -> None:
        """Adds an alert, recorded if the store works."""
        try:
            alert = await self._store.add_alert(self._task, trouble, text, at, cleared)
        except StoreError as error:
            log.warning("an alert is not recorded", task=self._task, trouble=trouble, reason=str(error))
            self._unrecorded -= 1
            alert = Alert(self._unrecorded, trouble, text, at, cleared)
        self._alerts.append(alert)

    async def clear(self, trouble: str, at: float) -> None:
        """Marks the alerts about `trouble` as cleared."""
        for index, one in enumerate(self._alerts):
            if one.trouble == trouble and one.cleared is None:
                self._alerts[index] = replace(one, cleared=at)
        with suppress(StoreError):  # A restart clears it again.
            await self._store.clear_alerts(self._task, trouble, at)

    async def acknowledge(self, id: int, at: float) -> None:
        """Marks an alert as seen by the owner. Raises NotFoundError or StoreError."""
        index = next((index for index, one in enumerate(self._alerts) if one.id == id), None)
        if index is None:
            raise NotFoundError("There is no such alert (any more); the dashboard shows the newest.")
        if id > 0:
            await self._store.acknowledge(self._task, id, at)
        one = self._alerts[index]
        self._alerts[index] = replace(one, acknowledged=one.acknowledged or at)

    async def restarted(self, host: TaskHost, state: LifeState, now: float) -> None:
        """Tells the owner of a task that was under way that its server was started anew, and what of it."""
        # Its stores work again, or it would not have been opened.
        await self.clear(Trouble.STORE, now)
        if host.history.lost == 0 or state not in UNDER_WAY:
            return
        scheme, done = scheme_of(host.task.file), host.history.round
        passes = f"{scheme.passes}{'' if done == 1 else 's'}"
        version = host.history.current.version
        went = f"Nothing that was recorded is lost: {done} {passes} and version {version}."
        await self.add(RESTARTED, f"The server was started anew. {went} {scheme.after_restart}", now, now)


async def open_book(task: str, store: AlertStore) -> AlertBook:
    """The alerts of a task, as its last server left them. Raises StoreError."""
    return AlertBook(task, store, await store.alerts(task))
