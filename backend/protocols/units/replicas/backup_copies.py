"""Deals second copies of an epoch's last units out, so that late clients do not hold it up (decision 0085).

As the backup tasks of MapReduce (Dean, Ghemawat 2004): when no unit is left to deal, idle clients repeat what
others still work on. The first valid result counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeAlias

from backend.protocols.client.household import by_itself
from backend.protocols.units.client_table import ClientTable, TableClient
from backend.protocols.units.records import DRAWN, Lease, UnitRecord
from backend.protocols.units.replicas.replica_draw import MOST_DRAWS, ReplicaDraw
from backend.protocols.units.rules import Rules
from backend.protocols.units.scheduler_effects import ClientId, Wait
from backend.protocols.units.unit_table import UnitTable

# A lease is late when it is out for this many times the seconds that its client is expected to need.
LATE = 1.5
# The least seconds after which anything is late: transfers vary.
LEAST_LATE = 5.0
# Before that, an idle client gets a copy only of a unit that takes longer than a usual lease, and if it would
# be done in this part of what the other still needs.
SHARE = 0.5
# Units that one search looks at, the longest out first: idle clients may be many.
MOST_LOOKED_AT = 16
# Idle clients ask again after this many seconds or more.
LEAST_WAIT = 1.0
# A unit, its only lease out, and the seconds that the client of that lease is expected to need.
_AtWork: TypeAlias = tuple[UnitRecord, Lease, float]


class BackupCopies:
    """Chooses the unit that an idle client repeats. A unit has one copy at a time."""

    def __init__(
        self, rules: Rules, client_table: ClientTable, unit_table: UnitTable, replicas: ReplicaDraw
    ) -> None:
        self._rules, self._replicas = rules, replicas
        self._client_table, self._unit_table = client_table, unit_table

    def instead_of(self, wait: Wait, client: TableClient, now: float) -> UnitRecord | Wait:
        """Returns a unit of which the waiting client gets a copy, or when it may get one.

        Clients that work offline get none: their leases last as long as what a copy is to replace.
        """
        if self._unit_table.waiting.has_fresh or client.offline:
            return wait
        at_work = list(self._at_work())
        at_least = math.inf if wait.retry_at is None else wait.retry_at
        retry_at = min(at_least, self._draw_again(now), self._copy_replicas(at_work, now))
        if not (client.was_late and self._client_table.punctual):
            unit, first_late_at = self._due_last(at_work, wait.client, client, now)
            if unit is not None:
                return unit
            retry_at = min(retry_at, first_late_at)
        return wait if retry_at == math.inf else replace(wait, retry_at=max(retry_at, now + LEAST_WAIT))

    def _due_last(
        self, at_work: Sequence[_AtWork], name: ClientId, client: TableClient, now: float
    ) -> tuple[UnitRecord | None, float]:
        """Returns the unit whose first result is due last, if this client is faster; and when one is late."""
        found, last, retry_at = None, now, math.inf
        for unit, lease, expected in at_work:
            mine = self._client_table.expected_seconds(name, unit.examples)
            if unit.pending or mine is None or not self._may_repeat(unit, lease, name, client):
                continue
            late_at = _late_at(lease.began, expected)
            is_late = now >= late_at
            end = math.inf if is_late else lease.began + expected
            # A far slower client is no help: faster ones may be idle soon.
            is_faster = mine <= LATE * expected if is_late else self._is_overtaken(lease, expected, mine, now)
            if is_faster and end > last:
                found, last = unit, end
            elif not is_late:
                retry_at = min(retry_at, late_at)
        return found, retry_at

    def _copy_replicas(self, at_work: Sequence[_AtWork], now: float) -> float:
        """Has another client drawn for units whose repetition is late. Returns when one is, or is taken."""
        retry_at = math.inf
        for unit, lease, expected in at_work:
            if not unit.pending or lease.by_trusted_peer:
                continue
            usual = self._client_table.usual_seconds(unit.examples) or expected
            late_at = _late_at(lease.began, expected)
            if self._is_overtaken(lease, expected, usual, now):
                late_at = now
            if now >= late_at:
                self._replicas.draw_copy(unit)
            retry_at = min(retry_at, late_at if now < late_at else now if unit.reserved else math.inf)
        return retry_at

    def _is_overtaken(self, lease: Lease, expected: float, seconds: float, now: float) -> bool:
        """Whether a client that needs `seconds` gets a copy of a unit that is not late."""
        left = lease.began + expected - now
        return expected > self._rules.pace.usual and seconds < SHARE * left

    def _draw_again(self, now: float) -> float:
        """Draws again for units that the drawn client does not take in time. Returns when one is due."""
        retry_at = math.inf
        for number in list(islice(self._unit_table.drawn, MOST_LOOKED_AT)):
            unit = self._unit_table.units[number]
            name = unit.reserved.removeprefix(DRAWN)
            expected = self._client_table.expected_seconds(name, unit.examples) if name else None
            if expected is None or unit.draws >= MOST_DRAWS:
                continue
            expected = min(expected, self._client_table.usual_seconds(unit.examples) or expected)
            due = _late_at(self._unit_table.reserved_since(number), expected)
            if now >= due:
                self._replicas.draw_again(unit)
            retry_at = min(retry_at, max(due, now))
        return retry_at

    def _at_work(self) -> Iterator[_AtWork]:
        """Yields the units that may have a copy, with the lease at work and its client's expected seconds."""
        for number in islice(self._unit_table.with_one_lease_out, MOST_LOOKED_AT):
            unit = self._unit_table.units[number]
            lease = unit.only_lease_out
            if lease is None or unit.reserved or unit.attempts >= self._rules.most_leases:
                continue
            expected = self._client_table.expected_seconds(lease.client, unit.examples)
            if expected is not None:
                yield unit, lease, expected

    def _may_repeat(self, unit: UnitRecord, lease: Lease, name: ClientId, client: TableClient) -> bool:
        table, rules = self._client_table, self._rules
        # A trusted peer's network is no reason to keep a unit of a volunteer there from it.
        household = by_itself(name) if client.trusted else client.household
        kind = table.clients[lease.client].kind if rules.homogeneous and rules.replicas > 1 else client.kind
        return (
            kind == client.kind
            and not unit.was_leased_to(name, household, rules.replicas > 1)
            and table.may_be_compared(client, now=self._unit_table.now)
        )


def _late_at(began: float, expected: float) -> float:
    return began + max(LATE * expected, LEAST_LATE)
