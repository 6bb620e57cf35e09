"""The scheduler: leases an epoch's units to clients until all are done; without I/O, clock or chance.

Atre, Jha, Rao (2021), "Distributed Deep Learning Using Volunteer Computing-Like Paradigm", with the leases of
BOINC. The host reports events with `now` (monotonic seconds), draws the random numbers, compares results and
assimilates them; the scheduler returns the effects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from backend.protocols.client.household import Household
from backend.protocols.units.client_table import ClientTable, TableClient
from backend.protocols.units.leases import LeaseGranter, Leases
from backend.protocols.units.records import (
    CLOSED,
    LEASES,
    LeaseEvent,
    LeaseState,
    PartialWork,
    UnitEvent,
    UnitRecord,
    UnitState,
    after,
)
from backend.protocols.units.releases import ReleaseLimits
from backend.protocols.units.replicas.backup_copies import BackupCopies
from backend.protocols.units.rules import Rules, Verdict
from backend.protocols.units.scheduler_effects import (
    Abort,
    ClientId,
    CreditClient,
    DistrustClient,
    Effect,
    LeaseId,
    LeaseRenewed,
    RefuseResult,
    UnitId,
    Wait,
    WorkUnit,
)
from backend.protocols.units.scheduler_snapshot import (
    LEAP,
    OpenUnit,
    Snapshot,
    client_record,
    restored_client,
)
from backend.protocols.units.transitioner import Transitioner
from backend.protocols.units.unit_selector import UnitSelector
from backend.protocols.units.unit_table import EpochProgress, UnitTable

_OVER = "You do not have this work unit; ask for another."
NOT_COMPARABLE = (
    "It covers another part of the unit than other clients' results, or less than half of it, so it cannot "
    "be compared. That is not held against you."
)


class Scheduler:
    """Owns units, leases and clients in a `UnitTable`, `Leases` and a `ClientTable`.

    It checks whether an event is legal; `UnitSelector`, `LeaseGranter` and `Transitioner` decide the
    consequences, and `ReleaseLimits` the waits after releases. Units of the previous epoch are stored for
    late results.
    """

    def __init__(self, rules: Rules | None = None) -> None:
        self._rules = rules or Rules()
        self._client_table = ClientTable(self._rules.trust, self._rules.pace.usual)
        self._unit_table = UnitTable(self._rules)
        self._leases = Leases(self._client_table)
        self._releases = ReleaseLimits(self._rules.pace.usual)
        self._selector = UnitSelector(self._rules, self._client_table, self._unit_table)
        self._granter = LeaseGranter(self._rules, self._unit_table, self._leases)
        self._transitioner = Transitioner(self._rules, self._client_table, self._unit_table, self._leases)
        self._backup_copies = BackupCopies(
            self._rules, self._client_table, self._unit_table, self._transitioner.replicas
        )

    @property
    def epoch(self) -> int:
        """The number of this epoch; 0 before the first."""
        return self._unit_table.epoch

    @property
    def next_unit(self) -> int:
        """The number of the next unit; all numbers above are free, too."""
        return self._unit_table.next_unit

    @property
    def progress(self) -> EpochProgress:
        """The progress of this epoch."""
        return self._unit_table.progress

    @property
    def remaining(self) -> int:
        """The number of units of this epoch that are not over."""
        return self._unit_table.progress.remaining

    @property
    def pending(self) -> int:
        """The number of units that need a lease now."""
        return len(self._unit_table.waiting)

    def begin_epoch(self, works: Iterable[WorkUnit]) -> list[Effect]:
        """Begins an epoch with these units, numbered from `next_unit` on; drops open units of the last one.

        Raises ValueError if two units have the same number, and then changes nothing.
        """
        units = self._unit_table.make_next_units(works)
        effects = [effect for unit in list(self.units()) for effect in self.drop(unit.work.unit)]
        for unit in self._unit_table.forget():
            self._leases.forget(unit.leases)
        self._unit_table.begin(units)
        self._transitioner.audits.begin(departed=True)
        return effects

    @property
    def audits(self) -> int:
        """The number of audits under way."""
        return self._transitioner.audits.under_way

    def begin_audits(self) -> int:
        """Begins to audit all clients whose newest result is unconfirmed; returns how many.

        A training that ends calls it before, and waits for the audits as long as trusted peers are there.
        """
        return self._transitioner.audits.begin()

    def drop_audits(self) -> list[Effect]:
        """Drops the audits under way."""
        return self._transitioner.audits.drop()

    def client_connected(
        self,
        client: ClientId,
        slots: int,
        shards: Iterable[int] = (),
        kind: str = "",
        pace: float | None = None,
        trusted: bool = False,
        household: Household | None = None,
    ) -> None:
        """Takes a client's connection, with the shards in its cache.

        `kind` names its compute backend, `pace` is its own estimate of seconds per example. Results of a
        `trusted` peer are taken as valid. `household` is shared by clients whose agreement proves
        nothing, and who share the wait after releases; None for a single client.
        """
        self._releases.client_connected(client, household.key if household else "")
        table_client = self._client_table.client_connected(client, slots, kind, pace, trusted, household)
        for shard in shards:
            table_client.has_shard(shard)

    def set_slots(self, client: ClientId, slots: int, offline: float = 0.0) -> None:
        """Takes the number of units that a client processes at a time; 0 gives up its reserved units.

        It may be without a connection for `offline` seconds: its leases, also those that it has, last longer,
        as the rules allow.
        """
        self._client_table.set_slots(client, slots, min(offline, self._rules.pace.offline))
        if offline and (table_client := self._client_table.clients.get(client)) is not None:
            for lease in table_client.leases:
                self._granter.buffer(self._leases[lease], table_client)
        self._check_for_peers()
        if not slots:
            self._draw_for(self._unit_table.free_drawn(client))

    def client_disconnected(self, client: ClientId) -> None:
        """Takes a client's disconnection. Its leases last until their deadlines: it may come back."""
        for lease in self._client_table.client_disconnected(client):
            self._leases[lease].interrupted = True
        self._releases.client_disconnected(client)
        self._check_for_peers()
        self._draw_for(self._unit_table.free_drawn(client))

    def ask(self, client: ClientId, base: int, chance: float, now: float, fresh: bool = True) -> list[Effect]:
        """Takes a client's request for work; `base` is the newest version, `chance` drawn from [0, 1).

        Without `fresh` it only gets a unit that had a lease before.
        """
        self._unit_table.now = max(self._unit_table.now, now)
        table_client = self._client_table.clients.get(client)
        if table_client is None:
            return [RefuseResult(client, "Say first that you are here.")]
        free = table_client.trusted or not self.remaining
        if not free and (retry_at := self._releases.retry_at(client, now)) is not None:
            return [Wait(client, "released", retry_at)]
        selected = self._selector.unit_for(client, table_client, fresh, now)
        if isinstance(selected, Wait) and selected.reason == "nothing" and fresh:
            selected = self._backup_copies.instead_of(selected, table_client, now)
        if isinstance(selected, Wait):
            return [selected]
        self._releases.granted(client, now)
        effects = self._granter.grant(client, table_client, selected, base, chance, now)
        self._transitioner.comparisons.granted(selected, selected.leases[-1])
        self._transitioner.replicas.draw(selected)
        return effects

    def heartbeat(
        self, client: ClientId, lease: LeaseId, now: float, steps: int, sending: bool = False
    ) -> list[Effect]:
        """Takes a heartbeat: renews the lease of a client that makes progress, or aborts unneeded work.

        A client makes progress with all its leases while it takes `steps` of one, or is `sending` a result.
        """
        lease_record = self._leases.of(client, lease)
        if lease_record is None:
            return [RefuseResult(client, _OVER)]
        unit, table_client = self._unit_table.units[lease_record.unit], self._client_table.clients[client]
        if sending or steps > lease_record.steps:
            lease_record.steps = steps
            table_client.advanced_at = now
        latest = self._granter.renew(lease_record, table_client)
        if lease_record.state is LeaseState.EXPIRED and unit.missing_leases and latest > now:
            # No other client got a lease in its place meanwhile.
            self._leases.renew(lease_record, latest)
            self._unit_table.changed(unit)
        if lease_record.state is LeaseState.LEASED:
            return [LeaseRenewed(client, lease, lease_record.deadline)]
        # A late client may still be the first to return a unit that is not done.
        late = lease_record.state is LeaseState.EXPIRED and unit.state not in CLOSED
        return [] if late else [Abort(client, lease)]

    def returned(
        self, client: ClientId, lease: LeaseId, now: float, part: PartialWork | None = None
    ) -> list[Effect]:
        """Takes a result, in time or late; of `part` of the unit if the client had to stop."""
        self._unit_table.now = max(self._unit_table.now, now)
        lease_record = self._leases.of(client, lease)
        if lease_record is None:
            return [RefuseResult(client, _OVER)]
        if after(LEASES, lease_record.state, LeaseEvent.RETURN) is None:
            return [RefuseResult(client, "This result was already received.")]
        unit = self._unit_table.units[lease_record.unit]
        done_part = part or lease_record.part
        if not self._transitioner.allows_part(unit, lease_record, done_part):
            return [RefuseResult(client, NOT_COMPARABLE), *self.recalled(client, lease)]
        self._transitioner.take_part(unit, lease_record, done_part)
        lease_record.came_late = lease_record.state is LeaseState.EXPIRED
        lease_record.returned = now
        self._leases.step(lease_record, LeaseEvent.RETURN)
        self._transitioner.comparisons.returned(unit, lease_record)
        self._client_table.measure_pace(lease_record, unit.examples, now)
        self._client_table.set_late(client, lease_record.came_late)
        self._client_table.unit_returned(client, now)
        return self._transitioner.reconsider(unit)

    def is_comparable(self, client: ClientId, lease: LeaseId, part: PartialWork | None) -> bool:
        """Whether a result that a client offers can be compared; of `part` of the unit, None for all of it.

        One that cannot need not be sent: `returned` would refuse it. True without such a lease, for which
        `returned` has another reason.
        """
        lease_record = self._leases.of(client, lease)
        if lease_record is None:
            return True
        unit = self._unit_table.units[lease_record.unit]
        return self._transitioner.allows_part(unit, lease_record, part or lease_record.part)

    def came_late(self, lease: LeaseId) -> bool:
        """Whether the result of a lease came after its time was over. Raises KeyError for a forgotten one.

        Heartbeats extend that time; work that was not needed any more is never late.
        """
        return self._leases[lease].came_late

    def released(self, client: ClientId, lease: LeaseId, now: float = 0.0) -> list[Effect]:
        """Takes a release: the client has to stop, or cannot do the work. It waits longer for the next."""
        self._unit_table.now = max(self._unit_table.now, now)
        lease_record = self._leases.of(client, lease)
        if lease_record is not None and lease_record.state is LeaseState.LEASED:
            self._releases.released(client, self._unit_table.now)
        return self.recalled(client, lease)

    def resumed(self, client: ClientId, lease: LeaseId, base: int, now: float) -> list[Effect]:
        """Takes that a client continues work that it gave back, which had begun from `base`.

        It gets the lease again if nobody was granted one of its unit since then, and the unit's time is not
        over; else there are no effects. Nothing is drawn again: that would let a client choose its draws.
        """
        lease_record = self._leases.of(client, lease)
        if (
            lease_record is None
            or lease_record.state is not LeaseState.RELEASED
            or now >= lease_record.latest
        ):
            return []
        unit, table_client = self._unit_table.units[lease_record.unit], self._client_table.clients[client]
        is_last = unit.leases[-1] is lease_record
        is_free = unit.state is UnitState.OPEN and unit.epoch == self.epoch and unit.audited is None
        is_free = is_free and lease_record.part is None
        if not is_last or not is_free or any(one.state is not LeaseState.RELEASED for one in unit.leases):
            return []
        unit.base = base
        until = self._granter.until(lease_record, table_client, now)
        self._leases.resume(lease_record, until, now)
        self._unit_table.changed(unit)
        return [LeaseRenewed(client, lease, until)]

    def recalled(self, client: ClientId, lease: LeaseId) -> list[Effect]:
        """Takes a lease back, as the owner wants it: that is not the client's doing."""
        lease_record = self._leases.of(client, lease)
        if lease_record is None:
            return [RefuseResult(client, _OVER)]
        if not self._leases.step(lease_record, LeaseEvent.RELEASE):
            return [RefuseResult(client, "This work is over.")]
        lease_record.released = self._unit_table.now
        return self._transitioner.reconsider(self._unit_table.units[lease_record.unit])

    def judged(self, unit: UnitId, verdicts: Mapping[LeaseId, Verdict]) -> list[Effect]:
        """Takes verdicts. Raises ValueError, and changes nothing, for a comparison that was not requested."""
        record = self._unit_table.units.get(unit)
        if record is None or not record.judging or set(verdicts) != set(record.judging):
            raise ValueError(f"nobody asked for a comparison of {sorted(verdicts)} of unit {unit}")
        effects = self._transitioner.judged(record, verdicts)
        for effect in effects:
            if isinstance(effect, CreditClient):
                self._client_table.result_judged(effect.client, counts=True)
                self._releases.counted(effect.client, self._unit_table.now)
            elif isinstance(effect, DistrustClient):
                self._client_table.result_judged(effect.client, counts=False)
                # A wrong result returns the unit, too.
                self._releases.released(effect.client, self._unit_table.now)
        return effects

    def drop(self, unit: UnitId) -> list[Effect]:
        """Drops a unit that is not needed. Raises KeyError if there is none."""
        record = self._unit_table.units[unit]
        return self._transitioner.close(record, UnitEvent.DROP) if record.state not in CLOSED else []

    def timer(self) -> float | None:
        """Returns when `time_passed` is due; None if nothing has a deadline."""
        timers = (self._leases.timer(), self._unit_table.timer())
        return min((timer for timer in timers if timer is not None), default=None)

    def time_passed(self, now: float) -> list[Effect]:
        """Takes the time: expires leases past their deadlines, so that other clients get their units."""
        self._unit_table.now = max(self._unit_table.now, now)
        effects: list[Effect] = []
        while (lease := self._leases.expire(now)) is not None:
            self._client_table.set_late(lease.client, True)
            effects += self._transitioner.reconsider(self._unit_table.units[lease.unit])
        self._draw_for(self._unit_table.time_passed(now))
        return effects

    def unit(self, unit: UnitId) -> UnitRecord:
        """Returns a unit, read-only. Raises KeyError if there is none (any more)."""
        return self._unit_table.units[unit]

    def units(self) -> Iterable[UnitRecord]:
        """Returns all units of this epoch, read-only."""
        return self._unit_table.current_units()

    def client(self, client: ClientId) -> TableClient:
        """Returns a client that ever connected, read-only. Raises KeyError for others."""
        return self._client_table.clients[client]

    def is_suspended(self, household: Household, now: float) -> bool:
        """Whether a trusted peer refuted a result of a client in the household within a day."""
        return self._client_table.households.is_suspended(household, now)

    def clients(self) -> Mapping[ClientId, TableClient]:
        """Returns all clients that ever connected, read-only."""
        return self._client_table.clients

    def snapshot(self, unblended: Collection[UnitId] = ()) -> Snapshot:
        """Returns what survives a restart. Units in `unblended` are done, but not in the saved weights."""
        still_open = [
            unit for unit in self.units() if unit.state not in CLOSED or unit.work.unit in unblended
        ]
        tally = self.progress.tally()
        return Snapshot(
            epoch=self.epoch,
            done=tally.units - tally.failed - tally.dropped - len(still_open),
            failed=tally.failed,
            dropped=tally.dropped,
            open=tuple(
                # What a partial result left is a unit of its own.
                OpenUnit(unit.done_work if unit.state is UnitState.DONE else unit.work, unit.halvings)
                for unit in still_open
            ),
            clients=tuple(client_record(*entry) for entry in self._client_table.clients.items()),
            next_unit=self.next_unit,
            next_lease=self._leases.next,
        )

    @classmethod
    def restored(cls, rules: Rules, snapshot: Snapshot) -> Scheduler:
        """Restores a scheduler. All leases are void; without `remaining` units the next epoch is due."""
        scheduler = cls(rules)
        scheduler._unit_table.resume(
            snapshot.epoch,
            snapshot.next_unit,
            EpochProgress(snapshot.done, snapshot.failed, snapshot.dropped),
            (UnitRecord(unit.work, snapshot.epoch, halvings=unit.halvings) for unit in snapshot.open),
        )
        scheduler._leases.next = snapshot.next_lease + LEAP
        scheduler._client_table.add_restored(
            (client.name, restored_client(client)) for client in snapshot.clients
        )
        return scheduler

    def _check_for_peers(self) -> None:
        if not self._client_table.trusted:
            self._draw_for(self._unit_table.free_peer_reservations())

    def _draw_for(self, units: Iterable[UnitRecord]) -> None:
        for unit in units:
            self._transitioner.replicas.draw(unit)
