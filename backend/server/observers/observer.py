"""Observers of tasks: the log, metrics, hooks and dashboards are told each event of a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import structlog

from backend.server.observers.task_events import TaskEvent

log = structlog.stdlib.get_logger("minga.observer")


class Observer(Protocol):
    """Watches tasks. Called in the event loop, in the order of events: it returns at once."""

    def notice(self, task: str, event: TaskEvent) -> None:
        """Handles an event of `task`."""
        ...


class Companion(Observer, Protocol):
    """An observer with something to do as long as a task is hosted, such as to run its owner's command."""

    async def run(self) -> None:
        """Runs until cancelled."""
        ...


class Observers:
    """Several as one. What one of them does wrong harms neither the others nor the task."""

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
                # A shell: watching must never end what is watched.
                log.exception("an observer failed", task=task, happening=type(event).__name__)


SILENCE = Observers()
