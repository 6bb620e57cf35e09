"""A simulated device that works on several units at once, which share its cores."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass

# Work that rounding left over, in seconds.
NOTHING = 1e-9


@dataclass
class _Job:
    """A unit in training: `left` of its `seconds` on a core of its own, for `steps` steps."""

    seconds: float
    left: float
    steps: int
    done: Callable[[], None]

    @property
    def whole_steps(self) -> int:
        """The number of complete steps so far."""
        if self.left <= NOTHING:
            return self.steps
        return math.floor(self.steps * (1.0 - self.left / self.seconds) + NOTHING)


class SharedDevice:
    """Owns the units in training. `busy` counts the seconds in which there was any.

    A unit uses one core; more units than `cores` share them evenly.
    """

    def __init__(self, cores: int = 1) -> None:
        if cores < 1:
            raise ValueError("a device has at least one core")
        self.busy = 0.0
        self._cores = cores
        self._jobs: dict[int, _Job] = {}
        self._loop = asyncio.get_running_loop()
        self._advanced_at = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None

    def start(self, lease: int, steps: int, seconds: float, done: Callable[[], None]) -> None:
        """Starts `steps` steps, which take `seconds` on a core of their own; calls `done` then."""
        self._advance()
        self._jobs[lease] = _Job(seconds, seconds, steps, done)
        self._set_timer()

    def steps(self, lease: int) -> int:
        """Returns the number of steps done of a unit in training; 0 for others."""
        self._advance()
        job = self._jobs.get(lease)
        return 0 if job is None else job.whole_steps

    def stop(self, lease: int) -> int:
        """Stops a unit, if it is in training; returns the number of steps done."""
        steps = self.steps(lease)
        if self._jobs.pop(lease, None) is not None:
            self._set_timer()
        return steps

    def _advance(self) -> None:
        now = self._loop.time()
        elapsed, self._advanced_at = now - self._advanced_at, now
        if not self._jobs:
            return
        self.busy += elapsed
        for job in self._jobs.values():
            job.left -= elapsed / self._crowding

    @property
    def _crowding(self) -> float:
        """How many times longer each unit takes than on a core of its own."""
        return max(1.0, len(self._jobs) / self._cores)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._jobs:
            least = max(0.0, min(job.left for job in self._jobs.values()))
            self._timer = self._loop.call_later(least * self._crowding, self._finish)

    def _finish(self) -> None:
        self._timer = None
        self._advance()
        finished = [lease for lease, job in self._jobs.items() if job.left <= NOTHING]
        jobs = [self._jobs.pop(lease) for lease in finished]
        self._set_timer()
        for job in jobs:
            job.done()
