"""The scheduler: leases the units of an epoch to clients until all are done; without I/O, clock or dice.

Atre, Jha, Rao (2021), "Distributed Deep Learning Using Volunteer Computing-Like Paradigm", with the leases of
BOINC. The host says what happened and when (`now`, seconds that never go back), draws the chances, compares
results and assimilates them; the scheduler returns the effects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

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
    after,
)
from backend.protocols.units.rules import Rules, Verdict
from backend.protocols.units.scheduler_effects import (
    Abort,
    ClientId,
    Effect,
    LeaseId,
    LeaseRenewed,
    RefuseResult,
    UnitId,
    Wait,
    WorkUnit,
)
from backend.protocols.units.scheduler_snapshot import LEAP, OpenUnit, Snapshot, known, remembered
from backend.protocols.units.transitioner import Transitioner
from backend.protocols.units.unit_selector import UnitSelector
from backend.protocols.units.unit_table import EpochProgress, UnitTable

_OVER = "You have no such work (any more); ask for some."
_NOT_COMPARABLE = "A part of this unit cannot be compared with what others do of it: they do it whole."


class Scheduler:
    """Owns units, leases and what is known of clients: `UnitTable`, `Leases` and `ClientTable` keep them.

    It checks whether an event is legal; `UnitSelector`, `LeaseGranter` and `Transitioner` decide what
    follows. Units of the previous epoch are kept for late results.
    """

    def __init__(self, rules: Rules | None = None) -> None:
        self._rules = rules or Rules()
        self._client_table = ClientTable(self._rules.trust)
        self._unit_table = UnitTable(self._rules)
        self._leases = Leases(self._client_table)
        self._selector = UnitSelector(self._rules, self._client_table, self._unit_table)
        self._granter = LeaseGranter(self._rules, self._unit_table, self._leases)
        self._transitioner = Transitioner(self._rules, self._client_table, self._unit_table, self._leases)

    @property
    def epoch(self) -> int:
        """The number of this epoch; 0 before the first."""
        return self._unit_table.epoch

    @property
    def next_unit(self) -> int:
        """The number of the next unit: all above are free, too."""
        return self._unit_table.next_unit

    @property
    def progress(self) -> EpochProgress:
        """How far this epoch is."""
        return self._unit_table.progress

    @property
    def left(self) -> int:
        """Units of this epoch that are not over."""
        return self._unit_table.progress.left

    @property
    def pending(self) -> int:
        """Units that want leases now."""
        return len(self._unit_table.waiting)

    def begin_epoch(self, works: Iterable[WorkUnit]) -> list[Effect]:
        """A new epoch with these units, numbered from `next_unit` on; what is open of the last is dropped.

        Raises ValueError where two units have one number, and changes nothing.
        """
        units = self._unit_table.of_next_epoch(works)
        effects = [effect for unit in list(self.units()) for effect in self.drop(unit.work.unit)]
        for gone in self._unit_table.forget():
            self._leases.forget(gone.leases)
        self._unit_table.begin(units)
        return effects

    def client_connected(
        self,
        client: ClientId,
        slots: int,
        shards: Iterable[int] = (),
        kind: str = "",
        pace: float | None = None,
        trusted: bool = False,
    ) -> None:
        """A client is here, for the first time or again, and has these shards in its cache.

        `kind` is with what it computes, `pace` the seconds that it says an example takes it. What a `trusted`
        peer returns is taken as true.
        """
        known_as = self._client_table.client_connected(client, slots, kind, pace, trusted)
        for shard in shards:
            known_as.has_shard(shard)

    def wants(self, client: ClientId, slots: int) -> None:
        """A client takes so many units at once from now on."""
        self._client_table.wants(client, slots)
        self._without_peers()

    def client_disconnected(self, client: ClientId) -> None:
        """A client is not here any more. Its leases hold until their deadlines: it may come back."""
        self._client_table.client_disconnected(client)
        self._without_peers()

    def ask(self, client: ClientId, base: int, chance: float, now: float, fresh: bool = True) -> list[Effect]:
        """A client wants work; `base` is the newest, `chance` drawn from [0, 1).

        Without `fresh` it gets none that nobody began.
        """
        self._unit_table.now = max(self._unit_table.now, now)
        known_as = self._client_table.clients.get(client)
        if known_as is None:
            return [RefuseResult(client, "Say first that you are here.")]
        found = self._selector.unit_for(client, known_as, fresh, now)
        if isinstance(found, Wait):
            return [found]
        return self._granter.grant(client, known_as, found, base, chance, now)

    def heartbeat(self, client: ClientId, lease: LeaseId, now: float) -> list[Effect]:
        """A client is still at work: its lease is renewed, or it is told that it can stop."""
        found = self._leases.of(client, lease)
        if found is None:
            return [RefuseResult(client, _OVER)]
        unit, known_as = self._unit_table.units[found.unit], self._client_table.clients[client]
        latest = min(found.latest, now + self._granter.seconds(unit, known_as))
        if found.state is LeaseState.EXPIRED and unit.wanted and latest > now:
            # Nobody took its place meanwhile.
            self._leases.renew(found, latest)
            self._unit_table.changed(unit)
        if found.state is LeaseState.LEASED:
            found.deadline = max(found.deadline, latest)
            return [LeaseRenewed(client, lease, found.deadline)]
        # Who is late for a unit that is not done may still be the first to return.
        late = found.state is LeaseState.EXPIRED and unit.state not in CLOSED
        return [] if late else [Abort(client, lease)]

    def returned(
        self, client: ClientId, lease: LeaseId, now: float, part: PartialWork | None = None
    ) -> list[Effect]:
        """A result arrived, in time or late; of `part` of the unit, where the client had to stop."""
        self._unit_table.now = max(self._unit_table.now, now)
        found = self._leases.of(client, lease)
        if found is None:
            return [RefuseResult(client, _OVER)]
        if after(LEASES, found.state, LeaseEvent.RETURN) is None:
            return [RefuseResult(client, "This result was here before.")]
        unit, known_as = self._unit_table.units[found.unit], self._client_table.clients[client]
        did = part or found.part
        if did != unit.part and not self._transitioner.take_part(unit, found, did):
            return [RefuseResult(client, _NOT_COMPARABLE), *self.released(client, lease)]
        found.came_late = found.state is LeaseState.EXPIRED
        self._leases.step(found, LeaseEvent.RETURN)
        known_as.paces.append((now - found.began) / max(1, unit.examples))
        self._client_table.unit_returned(known_as)
        self._client_table.set_late(known_as, found.came_late)
        return self._transitioner.reconsider(unit)

    def released(self, client: ClientId, lease: LeaseId) -> list[Effect]:
        """A client gives its work back: it has to stop, or cannot do it."""
        found = self._leases.of(client, lease)
        if found is None:
            return [RefuseResult(client, _OVER)]
        if not self._leases.step(found, LeaseEvent.RELEASE):
            return [RefuseResult(client, "This work is over.")]
        return self._transitioner.reconsider(self._unit_table.units[found.unit])

    def judged(self, unit: UnitId, verdicts: Mapping[LeaseId, Verdict]) -> list[Effect]:
        """What a comparison found. Raises ValueError for one that nobody asked for, and changes nothing."""
        found = self._unit_table.units.get(unit)
        if found is None or not found.judging or set(verdicts) != set(found.judging):
            raise ValueError(f"nobody asked for a comparison of {sorted(verdicts)} of unit {unit}")
        return self._transitioner.judged(found, verdicts)

    def drop(self, unit: UnitId) -> list[Effect]:
        """A unit is not needed. Raises KeyError where there is none."""
        found = self._unit_table.units[unit]
        return self._transitioner.close(found, UnitEvent.DROP) if found.state not in CLOSED else []

    def timer(self) -> float | None:
        """When `time_passed` is due; None where nothing is waited for."""
        due = (self._leases.timer(), self._unit_table.timer())
        return min((one for one in due if one is not None), default=None)

    def time_passed(self, now: float) -> list[Effect]:
        """Leases of whom nothing was heard in time are over: somebody else gets their units."""
        self._unit_table.now = max(self._unit_table.now, now)
        effects: list[Effect] = []
        while (lease := self._leases.expire(now)) is not None:
            self._client_table.set_late(self._client_table.clients[lease.client], True)
            effects += self._transitioner.reconsider(self._unit_table.units[lease.unit])
        self._unit_table.time_passed(now)
        return effects

    def unit(self, unit: UnitId) -> UnitRecord:
        """A unit, to look at. Raises KeyError where there is none (any more)."""
        return self._unit_table.units[unit]

    def units(self) -> Iterable[UnitRecord]:
        """All of this epoch, to look at."""
        return self._unit_table.of_this_epoch()

    def client(self, client: ClientId) -> TableClient:
        """Somebody who was here, to look at. Raises KeyError for others."""
        return self._client_table.clients[client]

    def clients(self) -> Mapping[ClientId, TableClient]:
        """All who were here, to look at."""
        return self._client_table.clients

    def snapshot(self, unblended: Collection[UnitId] = ()) -> Snapshot:
        """What survives a restart. Units in `unblended` are done, but not in the weights kept beside it."""
        still = [one for one in self.units() if one.state not in CLOSED or one.work.unit in unblended]
        tally = self.progress.tally()
        return Snapshot(
            epoch=self.epoch,
            done=tally.units - tally.failed - tally.dropped - len(still),
            failed=tally.failed,
            dropped=tally.dropped,
            open=tuple(OpenUnit(one.work, one.halvings) for one in still),
            clients=tuple(known(*one) for one in self._client_table.clients.items()),
            next_unit=self.next_unit,
            next_lease=self._leases.next,
        )

    @classmethod
    def restored(cls, rules: Rules, snapshot: Snapshot) -> Scheduler:
        """Goes on from there. All leases are void; where nothing is `left`, the next epoch is to begin."""
        one = cls(rules)
        one._unit_table.resume(
            snapshot.epoch,
            snapshot.next_unit,
            EpochProgress(snapshot.done, snapshot.failed, snapshot.dropped),
            (UnitRecord(unit.work, snapshot.epoch, halvings=unit.halvings) for unit in snapshot.open),
        )
        one._leases.next = snapshot.next_lease + LEAP
        one._client_table.remember((client.name, remembered(client)) for client in snapshot.clients)
        return one

    def _without_peers(self) -> None:
        if not self._client_table.trusted:
            self._unit_table.without_peers()
