"""On what terms a client gets a unit: how much of it, for how long, and whether it will be compared."""

from __future__ import annotations

from backend.protocols.units import trust
from backend.protocols.units.client_table import TableClient
from backend.protocols.units.lease_pace import allowed_seconds
from backend.protocols.units.leases import Leases
from backend.protocols.units.records import TRUSTED, UnitRecord
from backend.protocols.units.rules import Rules
from backend.protocols.units.scheduler_effects import ClientId, Effect, GrantLease, SplitUnit
from backend.protocols.units.unit_sizes import parts
from backend.protocols.units.unit_table import UnitTable


class Granting:
    """Gives out what the stock has by leases."""

    def __init__(self, rules: Rules, stock: UnitTable, leases: Leases) -> None:
        self._rules, self._stock, self._leases = rules, stock, leases

    def grant(
        self, name: ClientId, client: TableClient, unit: UnitRecord, base: int, chance: float, now: float
    ) -> list[Effect]:
        """A client gets a unit, or the first part of it where it would take too long.

        All of a unit's leases begin at one base: `base` is that of the first. `chance` is drawn from [0, 1).
        """
        split = self._split(unit, client)
        if unit.base is None:
            unit.base = base
        self._plan_comparison(unit, client, chance)
        return [*split, self._lease(name, client, unit, unit.base, now)]

    def seconds(self, unit: UnitRecord, client: TableClient) -> float:
        """How long a lease of a unit holds without a word of its client."""
        return allowed_seconds(unit.examples, client.paces, self._rules.pace)

    def _split(self, unit: UnitRecord, client: TableClient) -> list[Effect]:
        """A unit that nobody had is halved until it is not too much for this client."""
        if unit.leases or not self._rules.sizes.seconds:
            return []
        stock, seconds = self._stock, client.seconds(unit.work.examples)
        pieces = parts(unit.work, seconds, unit.halvings, self._rules.sizes, stock.next_unit)
        if len(pieces) == 1:
            return []
        unit.work = pieces[0]
        unit.halvings += len(pieces) - 1
        for number, piece in enumerate(pieces[1:]):
            stock.add(UnitRecord(piece, stock.epoch, halvings=unit.halvings - number))
        return [SplitUnit(tuple(pieces))]

    def _plan_comparison(self, unit: UnitRecord, client: TableClient, chance: float) -> None:
        if client.trusted:
            return
        if self._rules.replicas > 1 and trust.must_replicate(client.trust, self._rules.trust, chance):
            unit.quorum = max(unit.quorum, self._rules.replicas)
        elif not unit.leases:
            unit.check = trust.must_check(self._rules.trust, chance)

    def _lease(
        self, name: ClientId, client: TableClient, unit: UnitRecord, base: int, now: float
    ) -> GrantLease:
        seconds, work = self.seconds(unit, client), unit.work
        lease = self._leases.give(name, unit, now, seconds, self._rules.pace.most, rules=client.trusted)
        client.held_back = None
        client.trust = trust.leased(client.trust, now)
        held = work.shard in client.shards
        client.has_shard(work.shard)
        if unit.reserved == TRUSTED and client.trusted:
            self._stock.reserve(unit, "")
        if self._rules.homogeneous and unit.wanted and len(unit.leases) == 1:
            self._stock.reserve(unit, client.kind)
        self._stock.changed(unit)
        return GrantLease(
            client=name,
            lease=lease.id,
            unit=work.unit,
            shard=work.shard,
            first=work.first,
            examples=work.examples,
            base=base,
            seed=work.seed,
            steps=unit.part.steps if unit.part else 0,
            deadline=lease.deadline,
            heartbeat=seconds / self._rules.heartbeats,
            holds_shard=held,
        )
