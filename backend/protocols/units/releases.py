"""Waits of clients that give work back: longer after each release, shorter after each result that counts.

A client under a new name waits with its household, so that names do not help. A client with more results
than releases does not wait for others of its household, such as a class behind one address.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass

from backend.protocols.units.scheduler_effects import ClientId

# Seconds after the first release that is not free; each further one doubles them.
FIRST_WAIT = 5.0
# The longest wait of a household: one client in it should not keep the others' first units from them.
LONGEST_OF_HOUSEHOLD = 60.0
# Clients and households that are remembered; the longest unchanged ones are forgotten first.
MAX_REMEMBERED = 20_000


@dataclass(frozen=True)
class Allowance:
    """How many releases are `free` of a wait. Results count for as many as `credit` later releases."""

    free: int
    credit: int


# A browser that is closed gives back a unit or two; a class that goes home does so at once.
OF_CLIENT, OF_HOUSEHOLD = Allowance(2, 16), Allowance(32, 64)


@dataclass(slots=True)
class _Balance:
    """Releases minus results, as of the time `at`. The wait began at `since`."""

    level: float = 0.0
    at: float = 0.0
    since: float = -math.inf


class _Balances:
    """Owns the balances of clients, or of households. A positive one falls by one every `longest` seconds."""

    def __init__(self, allowance: Allowance, longest: float) -> None:
        self._allowance, self._longest = allowance, longest
        self._balances: OrderedDict[str, _Balance] = OrderedDict()

    def level(self, key: str, now: float) -> float:
        """Returns the balance now."""
        if (balance := self._balances.get(key)) is None:
            return 0.0
        if balance.level <= 0.0:
            return balance.level
        return max(0.0, balance.level - (now - balance.at) / self._longest)

    def released(self, key: str, now: float) -> None:
        """Takes one release more."""
        self._set(key, self.level(key, now) + 1.0, now).since = now

    def counted(self, key: str, now: float) -> None:
        """Takes one result more."""
        self._set(key, max(-float(self._allowance.credit), self.level(key, now) - 1.0), now)

    def granted(self, key: str, now: float) -> None:
        """Takes one more lease: the next one waits separately, if the client has to wait."""
        if self._over(key, now) > 0:
            self._balances[key].since = now

    def next_time(self, key: str, now: float) -> float:
        """Returns when the next unit may be had."""
        over = self._over(key, now)
        if over <= 0:
            return -math.inf
        # Beyond 2^30 the bound holds long since.
        return self._balances[key].since + min(self._longest, FIRST_WAIT * 2.0 ** min(over - 1, 30))

    def _over(self, key: str, now: float) -> int:
        """Returns how many releases more there were than are free."""
        return math.ceil(self.level(key, now)) - self._allowance.free

    def _set(self, key: str, level: float, now: float) -> _Balance:
        balance = self._balances.setdefault(key, _Balance())
        balance.level, balance.at = level, now
        self._balances.move_to_end(key)
        if len(self._balances) > MAX_REMEMBERED:
            self._balances.popitem(last=False)
        return balance


class ReleaseLimits:
    """Owns the waits after releases; none is longer than `longest` seconds."""

    def __init__(self, longest: float) -> None:
        self._clients = _Balances(OF_CLIENT, longest)
        self._households = _Balances(OF_HOUSEHOLD, min(longest, LONGEST_OF_HOUSEHOLD))
        self._household_of: dict[ClientId, str] = {}

    def client_connected(self, client: ClientId, household: str) -> None:
        """Takes the household that a client is in; empty if that is not known."""
        if household:
            self._household_of[client] = household
        else:
            self._household_of.pop(client, None)

    def client_disconnected(self, client: ClientId) -> None:
        """Takes a client's disconnection; its releases stay on record."""
        self._household_of.pop(client, None)

    def released(self, client: ClientId, now: float) -> None:
        """Takes a unit that a client gave back, or a result of it that was wrong."""
        self._clients.released(client, now)
        if (household := self._household_of.get(client)) is not None:
            self._households.released(household, now)

    def counted(self, client: ClientId, now: float) -> None:
        """Takes a result of a client that counts."""
        self._clients.counted(client, now)
        if (household := self._household_of.get(client)) is not None:
            self._households.counted(household, now)

    def granted(self, client: ClientId, now: float) -> None:
        """Takes a lease that a client got: one that had to wait gets one at a time."""
        self._clients.granted(client, now)
        if (household := self._bound_to(client, now)) is not None:
            self._households.granted(household, now)

    def retry_at(self, client: ClientId, now: float) -> float | None:
        """Returns until when a client waits for its next unit; None if it need not."""
        until = self._clients.next_time(client, now)
        if (household := self._bound_to(client, now)) is not None:
            until = max(until, self._households.next_time(household, now))
        return until if until > now else None

    def _bound_to(self, client: ClientId, now: float) -> str | None:
        """Returns the household with which a client waits; None for one with more results than releases."""
        return self._household_of.get(client) if self._clients.level(client, now) >= 0.0 else None
