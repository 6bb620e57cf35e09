"""Keeps the alerts of one task over restarts of the server; a restart is an alert too."""

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

MAX_SHOWN = 50
RESTARTED = "restarted"


class AlertLog:
    """Owns the newest alerts of a task, in memory and in the store.

    If the store fails, alerts are kept in memory only, with ids below zero, until the server ends.
    """

    def __init__(self, task: str, store: AlertStore, alerts: Sequence[Alert]) -> None:
        self._task, self._store = task, store
        self._alerts = deque(alerts, maxlen=MAX_SHOWN)
        self._unrecorded = 0

    def uncleared(self) -> dict[Trouble, str]:
        """Returns the troubles that were not cleared when the last server ended, with their texts.

        The alarms begin with these troubles, so that they clear like new ones.
        """
        troubles = set(Trouble)
        return {
            Trouble(alert.trouble): alert.text
            for alert in self._alerts
            if alert.cleared is None and alert.trouble in troubles
        }

    def entries(self) -> list[dict[str, Any]]:
        """Returns the alerts, newest first (docs/reference/http.md)."""
        return [asdict(alert) for alert in reversed(self._alerts)]

    async def add(self, trouble: str, text: str, at: float, cleared: float | None = None) -> None:
        """Adds an alert and records it, if the store works. Times are Unix seconds."""
        try:
            alert = await self._store.add_alert(self._task, trouble, text, at, cleared)
        except StoreError as error:
            log.warning("an alert is not recorded", task=self._task, trouble=trouble, reason=str(error))
            self._unrecorded -= 1
            alert = Alert(self._unrecorded, trouble, text, at, cleared)
        self._alerts.append(alert)

    async def clear(self, trouble: str, at: float) -> None:
        """Marks the alerts about `trouble` as cleared."""
        for index, alert in enumerate(self._alerts):
            if alert.trouble == trouble and alert.cleared is None:
                self._alerts[index] = replace(alert, cleared=at)
        with suppress(StoreError):  # A restart clears it again.
            await self._store.clear_alerts(self._task, trouble, at)

    async def acknowledge(self, id: int, at: float) -> None:
        """Marks an alert as seen by the owner. Raises NotFoundError or StoreError."""
        index = next((index for index, alert in enumerate(self._alerts) if alert.id == id), None)
        if index is None:
            raise NotFoundError("There is no such alert; the dashboard shows the newest.")
        if id > 0:
            await self._store.acknowledge(self._task, id, at)
        alert = self._alerts[index]
        self._alerts[index] = replace(alert, acknowledged=alert.acknowledged or at)

    async def restarted(self, host: TaskHost, state: LifeState, now: float) -> None:
        """Clears the store's alert and adds an alert about the restart, if the task was running."""
        # A task is only opened if its stores work.
        await self.clear(Trouble.STORE, now)
        if host.history.lost == 0 or state not in UNDER_WAY:
            return
        scheme, done = scheme_of(host.task.file), host.history.round
        passes = f"{scheme.passes}{'' if done == 1 else 's'}"
        version = host.history.current.version
        recorded = f"Nothing that was recorded is lost: {done} {passes} and version {version}."
        await self.add(RESTARTED, f"The server restarted. {recorded} {scheme.after_restart}", now, now)


async def open_alert_log(task: str, store: AlertStore) -> AlertLog:
    """Reads the recorded alerts of a task. Raises StoreError."""
    return AlertLog(task, store, await store.alerts(task))
