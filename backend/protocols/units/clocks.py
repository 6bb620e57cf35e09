"""Bounds how far clients get ahead of the slowest at work (stale-synchronous: Ho et al. 2013)."""

from __future__ import annotations

from collections import Counter, OrderedDict

from backend.numerics.aggregation.asynchronous import may_begin
from backend.protocols.units.scheduler_effects import ClientId


class Clocks:
    """Owns the clocks, which count the results of each client, and those that others wait for.

    One client holds the others up for at most `longest` seconds without a result, and all that wait for the
    same clock together no longer either: else several names could hand it on. `_floor` is the slowest clock
    that counts. It never falls, and clocks below it are as good as it.
    """

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self._clocks: Counter[ClientId] = Counter()
        # Clients that others wait for, since when; the first began to hold them up first.
        self._awaited: OrderedDict[ClientId, float] = OrderedDict()
        self._counts: Counter[int] = Counter()
        self._floor, self._floor_since = 0, 0.0

    def may_begin(self, client: ClientId, open_leases: int, bound: int, now: float) -> bool:
        """Whether a client with `open_leases` may begin another unit."""
        self._advance(now)
        slowest = [self._floor] if self._counts else []
        return may_begin(self._clocks[client] + open_leases, slowest, bound)

    def retry_at(self) -> float | None:
        """Returns when others need not wait any longer, as of the last `may_begin`; None if none does."""
        if not self._awaited:
            return None
        return min(next(iter(self._awaited.values())), self._floor_since) + self._longest

    def started(self, client: ClientId, now: float) -> None:
        """Takes that others wait for this client from now on. It starts at least at the slowest clock."""
        self.stopped(client)
        self._advance(now)
        if not self._counts:
            self._floor_since = now
        clock = self._clocks[client] = max(self._clocks[client], self._floor)
        self._counts[clock] += 1
        self._awaited[client] = now

    def stopped(self, client: ClientId) -> None:
        """Takes that others do not wait for this client."""
        if self._awaited.pop(client, None) is not None:
            clock = self._clocks[client]
            self._counts[clock] -= 1
            if not self._counts[clock]:
                del self._counts[clock]

    def returned(self, client: ClientId) -> None:
        """Takes a result of a client that others do not wait for now."""
        self._clocks[client] += 1

    def _advance(self, now: float) -> None:
        while self._awaited and (first := next(iter(self._awaited.items())))[1] + self._longest <= now:
            self.stopped(first[0])
        if not self._counts:
            return
        if (slowest := min(self._counts)) > self._floor:
            self._floor, self._floor_since = slowest, now
        elif self._floor_since + self._longest <= now:
            self._floor, self._floor_since = self._floor + 1, now
