"""The clients that are kept out of a task's rounds: for a time that doubles, or until the next version."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

# The first time lasts so many seconds, or three rounds; the longest one a day.
FIRST_SECONDS, ROUNDS, MOST_SECONDS = 300.0, 3.0, 86_400.0
# The clients whose earlier reasons are remembered; the oldest are forgotten first.
MOST_REMEMBERED = 10_000


@dataclass
class Exclusions:
    """Tracks until when clients are excluded, in the rounds' own time.

    Owned by the round machine. Clients that wait for the next version are excluded until there is one.
    """

    _until: dict[str, float] = field(default_factory=dict)
    _times: dict[str, int] = field(default_factory=dict)

    def __contains__(self, client: str) -> bool:
        return client in self._until

    def add(self, client: str, deadline: float, now: float) -> float:
        """Keeps a client out from `now` on; returns for how many seconds. A round lasts up to `deadline`."""
        times = self._times.pop(client, 0)
        self._times[client] = times + 1
        if len(self._times) > MOST_REMEMBERED:
            del self._times[next(iter(self._times))]
        seconds = min(MOST_SECONDS, max(FIRST_SECONDS, ROUNDS * deadline) * 2.0 ** min(times, 32))
        self._until[client] = now + seconds
        return seconds

    def await_version(self, client: str) -> None:
        """Keeps a client out until the next version, unless it is kept out already."""
        self._until.setdefault(client, math.inf)

    def version_made(self) -> list[str]:
        """Forgets and returns the clients that waited for a version."""
        return self._forget(lambda until: until == math.inf)

    def next_end(self) -> float | None:
        """Returns when the next client may take part again; None if no exclusion ends by time."""
        return min((until for until in self._until.values() if until < math.inf), default=None)

    def ended(self, now: float) -> list[str]:
        """Forgets and returns the clients that may take part again."""
        return self._forget(lambda until: now >= until)

    def _forget(self, is_over: Callable[[float], bool]) -> list[str]:
        over = [client for client, until in self._until.items() if is_over(until)]
        for client in over:
            del self._until[client]
        return over
