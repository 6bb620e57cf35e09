"""Sizes the pool of parameter servers by their backlog; without clock or processes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PoolRules:
    """From `least` to `most` servers, adjusted every `window` seconds.

    A new server must raise the throughput by the factor `gain` while results wait; otherwise it is removed,
    and none is added for `rest` windows: servers that wait for one lock do not profit from more of them. A
    server is removed if the others would be busy for less than the fraction `calm` of a window.
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
    """Figures of one window: results `done` and not lost, `busy` seconds of all servers together.

    `backlog` is the number of results that wait for a free server at its end.
    """

    done: float
    busy: float
    backlog: int


class Pool:
    """Decides after each window how many servers there should be."""

    def __init__(self, rules: PoolRules) -> None:
        self._rules = rules
        self.count = rules.least
        # Results of a window with one server less, while the newest server is on trial.
        self._results_before: float | None = None
        self._resting_windows = 0

    def update(self, window: PoolWindow) -> int:
        """Returns the number of servers from now on."""
        rules, before = self._rules, self._results_before
        self._results_before, self._resting_windows = None, max(0, self._resting_windows - 1)
        if window.backlog < self.count:
            needed = window.busy / rules.window
            if window.backlog == 0 and self.count > rules.least and needed < rules.calm * (self.count - 1):
                self.count -= 1
            return self.count
        if before is not None and window.done < rules.gain * before:
            self.count -= 1
            self._resting_windows = rules.rest
        elif self.count < rules.most and not self._resting_windows:
            self.count += 1
            self._results_before = window.done
        return self.count
