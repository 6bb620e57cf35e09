"""Deals second copies of an epoch's last units out, so that late clients do not hold it up (decision 0085).

As the backup tasks of MapReduce (Dean, Ghemawat 2004): when no unit is left to deal, idle clients repeat what
others still work on. The first valid result counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

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
# Units that one search looks at, the longest out first, and of those the newest: idle clients may be many.
MOST_LOOKED_AT = 16
# Idle clients ask again after this many seconds or more.
LEAST_WAIT = 1.0


@dataclass(frozen=True, slots=True)
class _UnitAtWork:
    """A unit with its only `lease` out. Its client is expected to need `own` seconds for it alone.

    From the lease's begin to the result they are `expected`: more if it waits in its client's queue.
    """

    unit: UnitRecord
    lease: Lease
    own: float
    expected: float

    @property
    def due(self) -> float:
        """When its result is expected."""
        return self.lease.began + self.expected

    @property
    def late_at(self) -> float:
        """From when it is late."""
        return _late_at(self.lease.began, self.expected)


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
        self, at_work: Sequence[_UnitAtWork], name: ClientId, client: TableClient, now: float
    ) -> tuple[UnitRecord | None, float]:
        """Returns the unit whose first result is due last, if this client is faster; and when one is late."""
        found, last, retry_at = None, now, math.inf
        for one in at_work:
            mine = self._client_table.expected_seconds(name, one.unit.examples)
            if one.unit.pending or mine is None or not self._may_repeat(one.unit, one.lease, name, client):
                continue
            is_late = now >= one.late_at
            end = math.inf if is_late else one.due
            # A far slower client is no help: faster ones may be idle soon.
            is_faster = mine <= LATE * one.own if is_late else self._is_overtaken(one, mine, now)
            if is_faster and end > last:
                found, last = one.unit, end
            elif not is_late:
                retry_at = min(retry_at, one.late_at)
        return found, retry_at

    def _copy_replicas(self, at_work: Sequence[_UnitAtWork], now: float) -> float:
        """Has another client drawn for units whose repetition is late. Returns when one is, or is taken."""
        retry_at = math.inf
        for one in at_work:
            if not one.unit.pending or one.lease.by_trusted_peer:
                continue
            usual = self._client_table.usual_seconds(one.unit.examples) or one.own
            late_at = now if self._is_overtaken(one, usual, now) else one.late_at
            if now >= late_at:
                self._replicas.draw_copy(one.unit)
            retry_at = min(retry_at, late_at if now < late_at else now if one.unit.reserved else math.inf)
        return retry_at

    def _is_overtaken(self, one: _UnitAtWork, seconds: float, now: float) -> bool:
        """Whether a client that needs `seconds` gets a copy of a unit that is not late."""
        return one.expected > self._rules.pace.usual and seconds < SHARE * (one.due - now)

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

    def _at_work(self) -> Iterator[_UnitAtWork]:
        """Yields the units that may have a copy."""
        out = self._unit_table.with_one_lease_out
        looked_at = (*islice(out, MOST_LOOKED_AT), *islice(reversed(out), MOST_LOOKED_AT))
        for number in dict.fromkeys(looked_at):
            unit = self._unit_table.units[number]
            lease = unit.only_lease_out
            if lease is None or unit.reserved or unit.attempts >= self._rules.most_leases:
                continue
            own = self._client_table.expected_seconds(lease.client, unit.examples)
            if own is not None:
                yield _UnitAtWork(unit, lease, own, self._client_table.seconds_in_queue(lease, own))

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
