"""Which ways to another peer to try, and when: docs/reference/mesh.md, "Links"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from backend.wire.mesh_fields import Way

# How long the one that does not begin waits for the other; less when a link broke, which both see.
COURTESY = 3.0
COURTESY_AFTER_LOSS = 1.0
RELAY_AFTER = 8.0
BETTER_EVERY = 60.0
# An attempt that took so long is given up.
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

    `ways` are those that both can do, the best first. `is_smaller`: this peer's id is the smaller one, which
    begins. `dials` and `is_dialled` say whether this one, or the other, has an address to connect to.
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
        """The other began."""
        self._attempts[way] = _Attempts(now, 0, now)

    def opened(self, way: Way) -> None:
        """A link of this way came about."""
        self.open.add(way)
        self._attempts.pop(way, None)

    def ended(self, way: Way, now: float) -> None:
        """The link of this way is gone, or the attempt failed."""
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
        """What is due."""
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
        """Whether this peer can begin that way, and not only the other."""
        return way != "websocket" or self.dials

    def _first(self, way: Way) -> float:
        """When to try a way first."""
        courtesy = 0.0 if self.is_smaller else self._courtesy
        directly = "websocket" in self.ways and (self.dials or self.is_dialled)
        if way == "websocket":
            return self.now + (courtesy if self.is_dialled else 0.0)
        if way == "webrtc":
            return self.now + courtesy + (MOST_SECONDS["websocket"] if directly else 0.0)
        return self.now + courtesy + (RELAY_AFTER if directly or "webrtc" in self.ways else 0.0)
