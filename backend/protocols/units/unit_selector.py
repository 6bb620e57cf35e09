"""The unit selector: chooses a client's next unit, or the reason why it has to wait."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice

from backend.protocols.client.household import by_itself
from backend.protocols.units import trust
from backend.protocols.units.client_table import ClientTable, TableClient
from backend.protocols.units.records import (
    AUDIT,
    AWAITED,
    DISPUTED,
    DRAWN,
    TRUSTED,
    LeaseState,
    UnitRecord,
)
from backend.protocols.units.rules import Rules
from backend.protocols.units.scheduler_effects import ClientId, UnitId, Wait
from backend.protocols.units.unit_table import SEARCH_LIMIT, UnitTable

# One unit in training, and one that is fetched or sent meanwhile.
USUAL_SLOTS = 2


class UnitSelector:
    """Selects units from the unit table without changing it."""

    def __init__(self, rules: Rules, client_table: ClientTable, unit_table: UnitTable) -> None:
        self._rules, self._client_table, self._unit_table = rules, client_table, unit_table

    def unit_for(self, name: ClientId, client: TableClient, fresh: bool, now: float) -> UnitRecord | Wait:
        """Returns a client's next unit; without `fresh` only a unit that had a lease before."""
        if (wait := self._must_wait(name, client, now)) is not None:
            return wait
        for again in (False, True):
            if (number := self._best(name, client, fresh, again)) is not None:
                return self._unit_table.units[number]
        if client.was_late and (retry_at := self._next_available(name, client)) is not None:
            return Wait(name, "reliable", retry_at)
        return Wait(name, "nothing", self._first_again(name, client))

    def _must_wait(self, name: ClientId, client: TableClient, now: float) -> Wait | None:
        remaining, units = self._unit_table.progress.remaining, self._unit_table.progress.units
        audits = client.trusted and self._unit_table.waiting.queue(AUDIT)
        if not remaining and not audits:
            return Wait(name, "over")
        if len(client.leases) >= min(client.slots, self._most_at_once(client)):
            return Wait(name, "slots")
        if not client.trusted and not trust.may_lease(client.trust, now):
            return Wait(name, "quota", trust.next_day(now))
        clocks, bound = self._client_table.clocks, self._rules.bound
        if bound and not clocks.may_begin(name, len(client.leases), bound, now):
            return Wait(name, "bound", clocks.retry_at())
        last = remaining <= self._rules.last_share * units
        if not last or not self._client_table.reliable or self._client_table.is_reliable(client):
            return None
        # Reliable clients come first, but others wait only briefly for them: they may be paused.
        client.waiting_since = now if client.waiting_since is None else client.waiting_since
        retry_at = client.waiting_since + self._rules.pace.least
        return Wait(name, "reliable", retry_at) if now < retry_at else None

    def _most_at_once(self, client: TableClient) -> int:
        """Returns how many units it may hold: what it buffers, others that are here cannot do meanwhile."""
        if not client.offline:
            return client.slots
        share = -(-self._unit_table.progress.remaining // max(1, self._client_table.punctual))
        return max(USUAL_SLOTS, share)

    def _best(self, name: ClientId, client: TableClient, fresh: bool, again: bool) -> UnitId | None:
        """Returns the best unit of those that the client never had, or with `again` that it gave back."""
        rules, unit_table = self._rules.sizes, self._unit_table
        units, waiting = unit_table.units, unit_table.waiting
        reservations = {"", client.kind, DRAWN + name}
        # A trusted peer's network is no reason to keep a unit of a volunteer there from it.
        household = by_itself(name) if client.trusted else client.household
        may_begin = self._client_table.may_be_compared(client, unit_table.now)
        pace = client.seconds(1) if rules.seconds else None
        comparable = self._rules.replicas > 1

        def allowed(number: UnitId) -> bool:
            unit = units[number]
            if client.was_late and self._withheld_until(unit) > unit_table.now:
                return False
            return (
                (client.trusted or unit.reserved in reservations)
                and not unit.was_leased_to(name, household, comparable, again)
                and (not again or self._is_free_again(unit, name))
                and (fresh or bool(unit.leases))
                and (may_begin or bool(unit.pending))
            )

        def suiting(number: UnitId) -> bool:
            """Whether the unit is small enough; a fresh unit can still be halved, unless it is a rest."""
            unit = units[number]
            small = pace is None or not (unit.leases or unit.is_rest) or rules.allow(pace * unit.examples)
            return small and allowed(number)

        if (mine := self._first_asked(name, client, allowed)) is not None:
            return mine
        cached = tuple(reversed(client.shards))
        queues = (client.kind, "") if client.kind else ("",)
        best = waiting.best(cached, queues, suiting)
        return waiting.best(cached, queues, allowed) if best is None and pace else best

    def _first_asked(
        self, name: ClientId, client: TableClient, allowed: Callable[[UnitId], bool]
    ) -> UnitId | None:
        """Returns a unit whose result this client is to compare with its own, before it begins others.

        A trusted peer also takes what others were drawn for: first of clients without anyone who vouches for
        them.
        """
        waiting = self._unit_table.waiting
        if not client.trusted:
            return waiting.first(DRAWN + name, allowed)
        if (dispute := waiting.first(DISPUTED, allowed)) is not None:
            return dispute
        drawn = [one for one in islice(self._unit_table.drawn, SEARCH_LIMIT) if allowed(one)]
        if (first := next(filter(self._of_newcomer, drawn), None)) is not None:
            return first
        for queue in (TRUSTED, AUDIT):
            if (check := waiting.first(queue, allowed)) is not None:
                return check
        return drawn[0] if drawn else None

    def _of_newcomer(self, number: UnitId) -> bool:
        leases = self._unit_table.units[number].leases
        level = self._client_table.clients[leases[0].client].trust
        return not level.streak and not level.faults

    def _is_free_again(self, unit: UnitRecord, name: ClientId) -> bool:
        """Whether others have not taken a unit that the client gave back, or are not there."""
        return self._unit_table.now >= self._again_at(unit, name) or self._client_table.is_alone(name)

    def _again_at(self, unit: UnitRecord, name: ClientId) -> float:
        return unit.released_by(name) + self._rules.pace.least

    def _first_again(self, name: ClientId, client: TableClient) -> float | None:
        """Returns when the client may have a unit again that it gave back; None if there is none."""
        begun = self._unit_table.waiting.begun("", client.kind)
        times = (self._again_at(self._unit_table.units[number], name) for number in begun)
        return min((one for one in times if one > self._unit_table.now), default=None)

    def _withheld_until(self, unit: UnitRecord) -> float:
        """Returns until when a begun unit is not leased to tardy clients (BOINC: retries)."""
        if not self._client_table.punctual:
            return -math.inf
        late = (one.deadline for one in unit.leases if one.state is LeaseState.EXPIRED)
        awaited = (one.began for one in unit.leases if one.state in AWAITED)
        return max((*late, *awaited), default=-math.inf) + self._rules.pace.least

    def _next_available(self, name: ClientId, client: TableClient) -> float | None:
        """Returns when the first unit withheld from this client is free; None if there is none."""
        units = (self._unit_table.units[one] for one in self._unit_table.waiting.begun("", client.kind))
        household = self._client_table.clients[name].household
        comparable = self._rules.replicas > 1
        free = (unit for unit in units if not unit.was_leased_to(name, household, comparable))
        times = map(self._withheld_until, free)
        return min((one for one in times if one > self._unit_table.now), default=None)
