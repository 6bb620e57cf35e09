"""Selects which ways to another peer to try, and when: docs/reference/mesh.md, "Links"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from backend.wire.mesh_fields import Way

# Seconds that the peer with the larger id waits for the other; less after a link broke, which both see.
COURTESY = 3.0
COURTESY_AFTER_LOSS = 1.0
RELAY_AFTER = 8.0
BETTER_EVERY = 60.0
# Timeout of an attempt, in seconds.
MOST_SECONDS: dict[Way, float] = {"websocket": 4.0, "webrtc": 20.0, "relay": 10.0}
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0


@dataclass(frozen=True, slots=True)
class TryWay:
    """Try this way."""

    way: Way


@dataclass(frozen=True, slots=True)
class AbandonWay:
    """The attempt took too long."""

    way: Way


@dataclass
class _Attempts:
    since: float | None = None
    failures: int = 0
    not_before: float = 0.0


@dataclass
class Linking:
    """The ways to one other peer.

    `ways` are those that both support, the best first. `is_smaller`: this peer has the smaller id, and
    begins. `dials`: the other peer has an address to connect to; `is_dialled`: this peer has one.
    """

    ways: Sequence[Way]
    is_smaller: bool
    dials: bool
    is_dialled: bool
    now: float
    open: set[Way] = field(default_factory=set)
    _attempts: dict[Way, _Attempts] = field(default_factory=dict)
    _courtesy: float = field(default_factory=lambda: COURTESY)

    @property
    def best(self) -> Way | None:
        """The best way that is open."""
        return next((way for way in self.ways if way in self.open), None)

    def answering(self, way: Way, now: float) -> None:
        """Takes that the other peer began an attempt."""
        self._attempts[way] = _Attempts(now, 0, now)

    def opened(self, way: Way) -> None:
        """Takes that a link of this way opened."""
        self.open.add(way)
        self._attempts.pop(way, None)

    def ended(self, way: Way, now: float) -> None:
        """Takes that the link of this way ended, or the attempt failed."""
        was_open, before = way in self.open, self._attempts.get(way, _Attempts())
        self.open.discard(way)
        failures = 0 if was_open else before.failures + 1
        if was_open and not self.open:
            self.now, self._courtesy = now, COURTESY_AFTER_LOSS
            self._attempts.clear()
            return
        pause = BETTER_EVERY if self.open else min(_FIRST_PAUSE * 2.0**failures, _LONGEST_PAUSE)
        self._attempts[way] = _Attempts(None, failures, now + pause)

    def tick(self, now: float) -> list[TryWay | AbandonWay]:
        """Returns the attempts to begin and to abandon now."""
        due: list[TryWay | AbandonWay] = []
        best = self.best
        better = self.ways[: self.ways.index(best)] if best else self.ways
        for way in self.ways:
            attempt = self._attempts.setdefault(way, _Attempts(None, 0, self._first(way)))
            if attempt.since is not None:
                if now - attempt.since > MOST_SECONDS[way]:
                    self.ended(way, now)
                    due.append(AbandonWay(way))
            elif way in better and now >= attempt.not_before and self.may_begin(way):
                attempt.since = now
                due.append(TryWay(way))
        return due

    def may_begin(self, way: Way) -> bool:
        """Whether this peer can begin an attempt of that way."""
        return way != "websocket" or self.dials

    def _first(self, way: Way) -> float:
        """Returns when to try a way for the first time."""
        courtesy = 0.0 if self.is_smaller else self._courtesy
        directly = "websocket" in self.ways and (self.dials or self.is_dialled)
        if way == "websocket":
            return self.now + (courtesy if self.is_dialled else 0.0)
        if way == "webrtc":
            return self.now + courtesy + (MOST_SECONDS["websocket"] if directly else 0.0)
        return self.now + courtesy + (RELAY_AFTER if directly or "webrtc" in self.ways else 0.0)
