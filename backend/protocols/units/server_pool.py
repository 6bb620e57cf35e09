"""The size of the pool of parameter servers, by the results that wait; without clock or processes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PoolRules:
    """From `least` to `most` servers, looked at every `window` seconds.

    One more must assimilate `gain` times as much while results wait, else it goes again, and nobody tries
    that for `rest` windows: where servers wait for one lock, more of them do not help. One goes where the
    others would be busy for less than `calm` of a window.
    """

    least: int = 1
    most: int = 4
    window: float = 5.0
    gain: float = 1.1
    rest: int = 60
    calm: float = 0.7

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most or self.window <= 0.0 or self.gain < 1.0:
            raise ValueError("1 <= least <= most, window is above 0, and gain is at least 1")


USUAL = PoolRules()


@dataclass(frozen=True)
class PoolWindow:
    """What happened since the last look: results `done` and not lost, `busy` seconds of all servers together.

    `backlog` are the results that wait at its end for a server that is free.
    """

    done: float
    busy: float
    backlog: int


class Pool:
    """Says after each window how many servers there should be."""

    def __init__(self, rules: PoolRules) -> None:
        self._rules = rules
        self.count = rules.least
        # Results of a window with one server less, while the newest one is on trial.
        self._before: float | None = None
        self._resting = 0

    def looked(self, window: PoolWindow) -> int:
        """How many servers there should be from now on."""
        rules, before = self._rules, self._before
        self._before, self._resting = None, max(0, self._resting - 1)
        if window.backlog < self.count:
            needed = window.busy / rules.window
            if window.backlog == 0 and self.count > rules.least and needed < rules.calm * (self.count - 1):
                self.count -= 1
            return self.count
        if before is not None and window.done < rules.gain * before:
            self.count -= 1
            self._resting = rules.rest
        elif self.count < rules.most and not self._resting:
            self.count += 1
            self._before = window.done
        return self.count
