"""Measures how long a session works at its task, and how long it waits for work."""

from __future__ import annotations

from collections.abc import Callable

# Phases of a client that may get work at any moment, and those of one without its server.
_WITHOUT_WORK = frozenset({"waiting", "resting", "connecting", "offline"})
# Phases that count neither as work nor as waiting: the model is loaded, or the session is over.
_UNCOUNTED = frozenset({"loading", "stopped", "finished"})


class WorkClock:
    """Adds up the seconds of one session by its phases. `now` is a monotonic clock in seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._phase = "stopped"
        self._since = now()
        self._worked = 0.0
        # When the current wait began; None while there is work or the model is loaded.
        self._waiting_since: float | None = None

    def enter(self, phase: str) -> None:
        """Notes the phase that the session is in from now on."""
        now = self._now()
        self._worked = self.seconds_worked
        self._phase, self._since = phase, now
        if phase not in _WITHOUT_WORK:
            self._waiting_since = None
        elif self._waiting_since is None:
            self._waiting_since = now

    @property
    def seconds_worked(self) -> float:
        """Seconds with a unit or a round in hand, or at a measurement, since the session began."""
        is_working = self._phase not in _WITHOUT_WORK | _UNCOUNTED
        return self._worked + (self._now() - self._since if is_working else 0.0)

    @property
    def seconds_waiting(self) -> float:
        """Seconds without work since the last; 0 while there is some, and while the model is loaded."""
        return 0.0 if self._waiting_since is None else self._now() - self._waiting_since
