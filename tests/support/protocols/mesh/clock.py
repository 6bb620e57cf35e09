"""Virtual time for a mesh: events at seconds, and lines that keep their order."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from random import Random


class Clock:
    """Plays events in the order of their times; `now` is in seconds."""

    def __init__(self, random: Random) -> None:
        self.random, self.now = random, 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def at(self, time: float, event: Callable[[], None]) -> None:
        """Schedules an event."""
        heapq.heappush(self._events, (max(time, self.now), next(self._numbers), event))

    def after(self, least: float, most: float, event: Callable[[], None]) -> None:
        """Schedules an event in a random number of seconds."""
        self.at(self.now + self.random.uniform(least, most), event)

    def run(self, seconds: float) -> None:
        """Plays all events of the next `seconds`."""
        end = self.now + seconds
        while self._events and self._events[0][0] <= end:
            self.now, _, event = heapq.heappop(self._events)
            event()
        self.now = end


class Line:
    """Delivers in order, each event after a random delay of at most `slowest` seconds."""

    def __init__(self, clock: Clock, slowest: float) -> None:
        self._clock, self._slowest = clock, slowest
        self._last = 0.0

    def send(self, event: Callable[[], None]) -> None:
        """Delivers `event` after all earlier ones."""
        clock = self._clock
        self._last = max(self._last, clock.now + clock.random.uniform(0.0, self._slowest))
        clock.at(self._last, event)
