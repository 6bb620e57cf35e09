"""Leases: assign units to clients until a deadline."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import replace

from backend.protocols.client.household import Household, by_itself
from backend.protocols.units import trust
from backend.protocols.units.client_table import ClientTable, TableClient, allowed_seconds
from backend.protocols.units.records import (
    AWAITED,
    DRAWN,
    LEASES,
    Lease,
    LeaseEvent,
    LeaseState,
    UnitRecord,
    after,
)
from backend.protocols.units.rules import Rules, SizeRules
from backend.protocols.units.scheduler_effects import (
    ClientId,
    Effect,
    GrantLease,
    LeaseId,
    SplitUnit,
    UnitId,
    WorkUnit,
)
from backend.protocols.units.unit_table import UnitTable


class Leases:
    """Owns the leases. The client table counts a client as working on its leases in state LEASED.

    `next` is the number of the next lease.
    """

    def __init__(self, client_table: ClientTable) -> None:
        self._client_table = client_table
        self._leases: dict[LeaseId, Lease] = {}
        # Holds each LEASED lease, at a time not after its deadline, and perhaps other leases.
        self._deadlines: list[tuple[float, LeaseId]] = []
        self.next: LeaseId = 0

    def __getitem__(self, lease: LeaseId) -> Lease:
        """Returns a lease. Raises KeyError if there is none (any more)."""
        return self._leases[lease]

    def of(self, client: ClientId, lease: LeaseId) -> Lease | None:
        """Returns the client's lease with that number; None if it has none (any more)."""
        record = self._leases.get(lease)
        return record if record is not None and record.client == client else None

    def create(
        self,
        client: ClientId,
        unit: UnitRecord,
        now: float,
        seconds: float,
        longest: float,
        by_trusted_peer: bool,
        household: Household | None = None,
        offline: float = 0.0,
    ) -> Lease:
        """Leases a unit, or the part of it that another client did, to a client for `seconds`.

        It can be renewed up to `longest` seconds in all; `by_trusted_peer` says whether the client is a
        trusted peer, `household` is the client's (None: its own). Both times are longer by the `offline`
        seconds for which the client may be without a connection.
        """
        lease = Lease(
            id=self.next,
            unit=unit.work.unit,
            client=client,
            began=now,
            deadline=now + seconds + offline,
            latest=now + longest + offline,
            by_trusted_peer=by_trusted_peer,
            part=unit.part,
            household=household or by_itself(client),
            offline=offline,
        )
        self.next += 1
        self._leases[lease.id] = lease
        unit.leases.append(lease)
        self._client_table.lease_started(client, lease.id, now)
        heapq.heappush(self._deadlines, (lease.deadline, lease.id))
        return lease

    def renew(self, lease: Lease, until: float) -> None:
        """Renews an expired lease. No client waits for its late client."""
        self.step(lease, LeaseEvent.RENEW)
        lease.deadline = until
        self._client_table.clients[lease.client].leases.add(lease.id)
        heapq.heappush(self._deadlines, (until, lease.id))

    def resume(self, lease: Lease, until: float, now: float) -> None:
        """Gives a lease that its client gave back to it again."""
        self.step(lease, LeaseEvent.RESUME)
        lease.deadline = until
        self._client_table.lease_started(lease.client, lease.id, now)
        heapq.heappush(self._deadlines, (until, lease.id))

    def step(self, lease: Lease, event: LeaseEvent) -> bool:
        """Applies `event` to the lease; returns False, and changes nothing, if it is illegal."""
        next_state = after(LEASES, lease.state, event)
        if next_state is None:
            return False
        client = self._client_table.clients[lease.client]
        if lease.state is LeaseState.LEASED:
            self._client_table.lease_ended(lease.client, lease.id)
        if next_state not in AWAITED:
            self._client_table.comparison_ended(client, lease.id, lease.household)
        lease.state = next_state
        return True

    def timer(self) -> float | None:
        """Returns when the first lease may expire; None if there is none."""
        return self._deadlines[0][0] if self._deadlines else None

    def expire(self, now: float) -> Lease | None:
        """Expires the next lease whose deadline passed, and returns it; None if there is none."""
        while self._deadlines and self._deadlines[0][0] <= now:
            lease = self._leases.get(heapq.heappop(self._deadlines)[1])
            if lease is None or lease.state is not LeaseState.LEASED:
                continue
            if lease.deadline > now:
                heapq.heappush(self._deadlines, (lease.deadline, lease.id))
                continue
            self.step(lease, LeaseEvent.EXPIRE)
            return lease
        return None

    def forget(self, leases: Iterable[Lease]) -> None:
        """Removes leases; their results would come too late."""
        for lease in leases:
            self._leases.pop(lease.id, None)


def split_work(
    work: WorkUnit, seconds: float | None, halved: int, rules: SizeRules, number: UnitId
) -> list[WorkUnit]:
    """Halves `work` until its first part suits a client that takes `seconds` for it; the smallest first.

    The first part keeps the number of the unit, the others get `number` and the following ones.
    """
    rest: list[WorkUnit] = []
    while not rules.allow(seconds) and seconds is not None and halved + len(rest) < rules.halvings:
        batches = -(-work.examples // rules.grain)
        examples = batches // 2 * rules.grain
        if not examples:
            break
        other = replace(
            work, first=work.first + examples, examples=work.examples - examples, unit=number + len(rest)
        )
        seconds *= examples / work.examples
        work = replace(work, examples=examples)
        rest.append(other)
    return [work, *reversed(rest)]


def _offline_seconds(unit: UnitRecord, client: TableClient, lease: Lease | None = None) -> float:
    """Returns by how much a client's (next) lease of the unit is longer, as the client may be offline."""
    # Others wait for repetitions: those last as long as ever.
    return client.offline if next(iter(unit.leases), lease) is lease else 0.0


class LeaseGranter:
    """Grants leases of the units in the table."""

    def __init__(self, rules: Rules, unit_table: UnitTable, leases: Leases) -> None:
        self._rules, self._unit_table, self._leases = rules, unit_table, leases

    def grant(
        self, name: ClientId, client: TableClient, unit: UnitRecord, base: int, chance: float, now: float
    ) -> list[Effect]:
        """Leases a unit to a client, or the first part of it if the unit would take too long.

        All leases of a unit have the same base: `base` is that of the first. `chance` is drawn from [0, 1).
        """
        split = self._split(unit, client)
        if unit.base is None:
            unit.base = base
        unit.lot, unit.wants_copy = chance, False
        return [*split, self._lease(name, client, unit, unit.base, now)]

    def seconds(self, unit: UnitRecord, client: TableClient) -> float:
        """Returns the seconds that a lease of a unit lasts without a heartbeat."""
        return allowed_seconds(unit.examples, client.paces, self._rules.pace)

    def until(self, lease: Lease, client: TableClient, now: float) -> float:
        """Returns when the lease of a client that made progress at `now` ends, which may be offline then."""
        unit = self._unit_table.units[lease.unit]
        seconds = self.seconds(unit, client) + _offline_seconds(unit, client, lease)
        return min(lease.latest, now + seconds)

    def buffer(self, lease: Lease, client: TableClient) -> None:
        """Extends a lease from before its client said that it may be offline, or for so long."""
        seconds = _offline_seconds(self._unit_table.units[lease.unit], client, lease)
        if seconds > lease.offline:
            lease.latest += seconds - lease.offline
            lease.offline = seconds
        self.renew(lease, client)

    def renew(self, lease: Lease, client: TableClient) -> float:
        """Extends a lease by its client's last progress; returns when it ends, also of one that is over."""
        until = self.until(lease, client, client.advanced_at)
        if lease.state is LeaseState.LEASED:
            lease.deadline = max(lease.deadline, until)
        return until

    def _split(self, unit: UnitRecord, client: TableClient) -> list[Effect]:
        """Halves a unit without leases until it suits this client."""
        # The rest of a unit has rows of its whole range.
        if unit.base is not None or unit.leases or unit.is_rest or not self._rules.sizes.seconds:
            return []
        unit_table, seconds = self._unit_table, client.seconds(unit.work.examples)
        pieces = split_work(unit.work, seconds, unit.halvings, self._rules.sizes, unit_table.next_unit)
        if len(pieces) == 1:
            return []
        unit.work = pieces[0]
        unit.halvings += len(pieces) - 1
        for number, piece in enumerate(pieces[1:]):
            unit_table.add(UnitRecord(piece, unit_table.epoch, halvings=unit.halvings - number))
        return [SplitUnit(tuple(pieces))]

    def _lease(
        self, name: ClientId, client: TableClient, unit: UnitRecord, base: int, now: float
    ) -> GrantLease:
        seconds, work = self.seconds(unit, client), unit.work
        lease = self._leases.create(
            name,
            unit,
            now,
            seconds,
            self._rules.pace.most,
            by_trusted_peer=client.trusted,
            # The owner's peer may stand in a volunteer's network: its word counts all the same.
            household=by_itself(name) if client.trusted else client.household,
            offline=_offline_seconds(unit, client),
        )
        client.waiting_since = None
        client.trust = trust.after_lease(client.trust, now)
        holds_shard = work.shard in client.shards
        client.has_shard(work.shard)
        if client.trusted or unit.reserved == DRAWN + name:
            self._unit_table.reserve(unit, "")
        self._unit_table.changed(unit)
        return GrantLease(
            client=name,
            lease=lease.id,
            unit=work.unit,
            shard=work.shard,
            first=work.first,
            examples=work.examples,
            base=base,
            seed=work.seed,
            epoch=unit.audited.epoch if unit.audited else unit.epoch,
            steps=unit.part.steps if unit.part else work.steps,
            deadline=lease.deadline,
            heartbeat=seconds / self._rules.heartbeats,
            holds_shard=holds_shard,
            first_step=work.first_step,
        )
