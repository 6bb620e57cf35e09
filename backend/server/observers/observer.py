"""Defines observers of tasks: the log, metrics, hooks and dashboards receive each event of a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import structlog

from backend.server.observers.task_events import TaskEvent

log = structlog.stdlib.get_logger("minga.observer")


class Observer(Protocol):
    """Watches tasks. Called in the event loop, in the order of events; must not block."""

    def notice(self, task: str, event: TaskEvent) -> None:
        """Handles an event of `task`."""
        ...


class Companion(Observer, Protocol):
    """An observer with a job that runs while a task is hosted, such as running its owner's command."""

    async def run(self) -> None:
        """Runs until cancelled."""
        ...


class Observers:
    """Combines observers. The failure of one affects neither the others nor the task."""

    def __init__(self, observers: Sequence[Observer] = ()) -> None:
        self._observers = list(observers)

    def add(self, observer: Observer) -> None:
        """Adds an observer of all later events."""
        self._observers.append(observer)

    def notice(self, task: str, event: TaskEvent) -> None:
        """See Observer."""
        for observer in self._observers:
            try:
                observer.notice(task, event)
            except Exception:
                # An observer's failure must never end the task that it observes.
                log.exception("an observer failed", task=task, happening=type(event).__name__)


NO_OBSERVERS = Observers()
