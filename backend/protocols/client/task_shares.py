"""Divides a client's time among tasks by shares, as a machine without I/O.

Stride scheduling (Waldspurger, Weihl 1995): the next task is the one whose work, divided by its share, is
least. A task that had no work for the client waits longer each time, and is owed nothing for that time.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

# Seconds before a task that had no work is tried again; each further try in vain doubles them.
FIRST_PAUSE = 30.0
LONGEST_PAUSE = 600.0


@dataclass
class TaskShares:
    """Owns the work done for each task. `shares` has the share of each named task; others have 1."""

    shares: Mapping[str, float] = field(default_factory=dict)
    # Seconds of work per unit of share.
    _strides: dict[str, float] = field(default_factory=dict)
    _pauses: dict[str, float] = field(default_factory=dict)
    _paused_until: dict[str, float] = field(default_factory=dict)
    # The tasks among which the last choice was made, and the least stride of one of them.
    _competing: frozenset[str] = frozenset()
    _least: float = 0.0

    def share(self, task: str) -> float:
        """Returns the share of `task`; one of 0 is never chosen."""
        return self.shares.get(task, 1.0)

    def worked(self, task: str, seconds: float) -> None:
        """Counts work for `task`, which had some."""
        if seconds > 0.0:
            self._strides[task] = self._strides.get(task, self._least) + seconds / self.share(task)
            self._pauses.pop(task, None)
            self._paused_until.pop(task, None)

    def without_work(self, task: str, now: float) -> None:
        """Lets `task`, which had no work, wait before it is chosen again."""
        pause = min(LONGEST_PAUSE, 2.0 * self._pauses.get(task, FIRST_PAUSE / 2.0))
        self._pauses[task], self._paused_until[task] = pause, now + pause

    def choose(self, tasks: Collection[str], now: float) -> str | None:
        """Returns which of `tasks`, those that need clients, is next; None for none."""
        able = sorted(
            task
            for task in tasks
            if self.share(task) > 0.0 and self._paused_until.get(task, -math.inf) <= now
        )
        if not able:
            return None
        for task in able:
            if task not in self._competing:
                self._strides[task] = max(self._strides.get(task, self._least), self._least)
        self._competing = frozenset(able)
        chosen = min(able, key=lambda task: self._strides[task])
        self._least = max(self._least, self._strides[chosen])
        return chosen
