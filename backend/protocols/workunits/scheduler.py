"""Who trains which shard, until all of an epoch were trained on: a machine without sockets, clock or dice.

Atre, Jha, Rao (2021), "Distributed Deep Learning Using Volunteer Computing-Like Paradigm", with the leases of
BOINC. The host says what happened and when (`now`, seconds that never go back), draws the chances, compares
results and blends them; the scheduler says what is to be done next.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping

from backend.protocols.workunits import trust
from backend.protocols.workunits.effects import (
    Abort,
    Assimilate,
    ClientId,
    Credit,
    Distrust,
    Effect,
    EpochClosed,
    GivenUp,
    Grant,
    Judge,
    LeaseId,
    Refuse,
    Renewed,
    Split,
    UnitId,
    Wait,
    WorkUnit,
)
from backend.protocols.workunits.pace import allowed_seconds
from backend.protocols.workunits.population import Client, Population
from backend.protocols.workunits.progress import Progress
from backend.protocols.workunits.records import AWAITED, TRUSTED, Lease, Part, Unit
from backend.protocols.workunits.rules import Rules, Verdict
from backend.protocols.workunits.sizes import parts, suits
from backend.protocols.workunits.snapshots import LEAP, OpenUnit, Snapshot, known, remembered
from backend.protocols.workunits.states import (
    CLOSED,
    LEASES,
    UNITS,
    LeaseEvent,
    LeaseState,
    UnitEvent,
    UnitState,
    after,
)
from backend.protocols.workunits.waiting import Waiting

_EVENTS = {
    Verdict.VALID: LeaseEvent.FIND_VALID,
    Verdict.INVALID: LeaseEvent.FIND_INVALID,
    Verdict.UNDECIDED: LeaseEvent.FIND_UNDECIDED,
}
_OVER = "You have no such work (any more); ask for some."
_NOT_COMPARABLE = "A part of this unit cannot be compared with what others do of it: they do it whole."


class Scheduler:
    """Owns units, leases and what is known of clients.

    Units of the epoch before are kept for those who come late.
    """

    def __init__(self, rules: Rules | None = None) -> None:
        self._rules = rules or Rules()
        self._units: dict[UnitId, Unit] = {}
        self._leases: dict[LeaseId, Lease] = {}
        self._population = Population(self._rules.trust)
        self._waiting = Waiting()
        # Units that are reserved for some, and until when: all for one time, so that they stand in order.
        self._reserved: OrderedDict[UnitId, float] = OrderedDict()
        self._for_peers: set[UnitId] = set()
        self._deadlines: list[tuple[float, LeaseId]] = []
        self._next_lease, self._now = 0, 0.0
        self.progress = Progress()
        self.epoch, self.next_unit = 0, 0

    @property
    def left(self) -> int:
        """Units of this epoch that are not over."""
        return self.progress.left

    @property
    def hungry(self) -> int:
        """Units that want leases now."""
        return len(self._waiting)

    def begin_epoch(self, works: Iterable[WorkUnit]) -> list[Effect]:
        """A new epoch with these units, numbered from `next_unit` on; what is open of the last is dropped.

        Raises ValueError where two units have one number, and changes nothing.
        """
        units = [Unit(work, self.epoch + 1) for work in works]
        numbers = {one.work.unit for one in units}
        if not units or len(numbers) < len(units) or min(numbers) < self.next_unit:
            raise ValueError("an epoch has units, and each of them a number of its own")
        effects: list[Effect] = []
        for unit in [one for one in self._units.values() if one.epoch == self.epoch]:
            effects += self.drop(unit.work.unit) if unit.state not in CLOSED else []
        self._forget(self.epoch)
        self.epoch, self.next_unit = self.epoch + 1, max(numbers) + 1
        self.progress = Progress()
        for unit in units:
            self._add(unit)
        return effects

    def came(
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
        known_as = self._population.came(client, slots, kind, pace, trusted)
        for shard in shards:
            known_as.has_shard(shard)

    def wants(self, client: ClientId, slots: int) -> None:
        """A client takes so many units at once from now on."""
        self._population.wants(client, slots)
        self._missing_peers()

    def went(self, client: ClientId) -> None:
        """A client is not here any more. Its leases hold until their deadlines: it may come back."""
        self._population.went(client)
        self._missing_peers()

    def ask(self, client: ClientId, base: int, chance: float, now: float, fresh: bool = True) -> list[Effect]:
        """A client wants work; `base` is the newest, `chance` drawn from [0, 1).

        Without `fresh` it gets none that nobody began.
        """
        self._now = max(self._now, now)
        known_as = self._population.clients.get(client)
        if known_as is None:
            return [Refuse(client, "Say first that you are here.")]
        if (wait := self._must_wait(client, known_as, now)) is not None:
            return [wait]
        number = self._choose(client, known_as, fresh)
        if number is None:
            again = self._kept_until(client, known_as) if known_as.tardy else None
            return [Wait(client, "nothing" if again is None else "reliable", again)]
        unit = self._units[number]
        effects = self._split(unit, known_as)
        if unit.base is None:
            unit.base = base
        self._plan_comparison(unit, known_as, chance)
        return [*effects, self._grant(client, known_as, unit, now)]

    def heartbeat(self, client: ClientId, lease: LeaseId, now: float) -> list[Effect]:
        """A client is still at work: its lease is renewed, or it is told that it can stop."""
        found = self._lease_of(client, lease)
        if isinstance(found, Refuse):
            return [found]
        unit, known_as = self._units[found.unit], self._population.clients[client]
        latest = min(found.latest, now + self._allowed(unit, known_as))
        if found.state is LeaseState.EXPIRED and unit.wanted and latest > now:
            # Nobody took its place meanwhile.
            self._step(found, LeaseEvent.RENEW)
            self._population.took(known_as, lease)
            heapq.heappush(self._deadlines, (latest, lease))
            self._enlist(unit)
        if found.state is LeaseState.LEASED:
            found.deadline = max(found.deadline, latest)
            return [Renewed(client, lease, found.deadline)]
        # Who is late for a unit that is not done may still be the first to return.
        late = found.state is LeaseState.EXPIRED and unit.state not in CLOSED
        return [] if late else [Abort(client, lease)]

    def returned(
        self, client: ClientId, lease: LeaseId, now: float, part: Part | None = None
    ) -> list[Effect]:
        """A result arrived, in time or late; of `part` of the unit, where the client had to stop."""
        self._now = max(self._now, now)
        found = self._lease_of(client, lease)
        if isinstance(found, Refuse):
            return [found]
        if after(LEASES, found.state, LeaseEvent.RETURN) is None:
            return [Refuse(client, "This result was here before.")]
        unit, known_as = self._units[found.unit], self._population.clients[client]
        did = part or found.part
        if did != unit.part and not self._take_part(unit, found, did):
            return [Refuse(client, _NOT_COMPARABLE), *self.released(client, lease)]
        found.came_late = found.state is LeaseState.EXPIRED
        self._step(found, LeaseEvent.RETURN)
        known_as.paces.append((now - found.began) / max(1, unit.examples))
        self._population.advanced(known_as)
        self._population.trusts(known_as, trust.returned(known_as.trust, not found.came_late))
        self._population.was_late(known_as, found.came_late)
        return self._weigh(unit)

    def released(self, client: ClientId, lease: LeaseId) -> list[Effect]:
        """A client gives its work back: it has to stop, or cannot do it."""
        found = self._lease_of(client, lease)
        if isinstance(found, Refuse):
            return [found]
        if not self._step(found, LeaseEvent.RELEASE):
            return [Refuse(client, "This work is over.")]
        return self._weigh(self._units[found.unit])

    def judged(self, unit: UnitId, verdicts: Mapping[LeaseId, Verdict]) -> list[Effect]:
        """What a comparison found. Raises ValueError for one that nobody asked for, and changes nothing."""
        found = self._units.get(unit)
        if found is None or not found.judging or set(verdicts) != set(found.judging):
            raise ValueError(f"nobody asked for a comparison of {sorted(verdicts)} of unit {unit}")
        compared, found.judging = len(verdicts) + (found.valid is not None) > 1, ()
        effects: list[Effect] = []
        for lease in (self._leases[one] for one in verdicts):
            verdict = verdicts[lease.id]
            if found.state is UnitState.DONE and verdict is Verdict.INVALID and not found.proven:
                # It differs from what nobody else did: either may be wrong.
                verdict = Verdict.UNDECIDED
            self._step(lease, _EVENTS[verdict])
            effects += self._consequence(found, lease, compared)
        if found.state is UnitState.JUDGED:
            effects += self._settle(found)
        return effects + self._weigh(found)

    def drop(self, unit: UnitId) -> list[Effect]:
        """A unit is not needed. Raises KeyError where there is none."""
        found = self._units[unit]
        return self._close(found, UnitEvent.DROP) if found.state not in CLOSED else []

    def timer(self) -> float | None:
        """When `time_passed` is due; None where nothing is waited for."""
        due = [one[0] for one in self._deadlines[:1]]
        return min([*due, *itertools.islice(self._reserved.values(), 1)], default=None)

    def time_passed(self, now: float) -> list[Effect]:
        """Leases of whom nothing was heard in time are over: somebody else gets their units."""
        self._now = max(self._now, now)
        effects: list[Effect] = []
        while self._deadlines and self._deadlines[0][0] <= now:
            lease = self._leases.get(heapq.heappop(self._deadlines)[1])
            if lease is None or lease.state is not LeaseState.LEASED:
                continue
            if lease.deadline > now:
                heapq.heappush(self._deadlines, (lease.deadline, lease.id))
                continue
            self._step(lease, LeaseEvent.EXPIRE)
            client = self._population.clients[lease.client]
            self._population.trusts(client, trust.returned(client.trust, False))
            self._population.was_late(client, True)
            effects += self._weigh(self._units[lease.unit])
        # Nobody waits long for those for whom units are reserved.
        while self._reserved and (first := next(iter(self._reserved.items())))[1] <= now:
            self._reserve(self._units[first[0]], "")
            self._enlist(self._units[first[0]])
        return effects

    def unit(self, unit: UnitId) -> Unit:
        """A unit, to look at. Raises KeyError where there is none (any more)."""
        return self._units[unit]

    def units(self) -> Iterable[Unit]:
        """All of this epoch, to look at."""
        return (unit for unit in self._units.values() if unit.epoch == self.epoch)

    def client(self, client: ClientId) -> Client:
        """Somebody who was here, to look at. Raises KeyError for others."""
        return self._population.clients[client]

    def clients(self) -> Mapping[ClientId, Client]:
        """All who were here, to look at."""
        return self._population.clients

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
            clients=tuple(known(*one) for one in self._population.clients.items()),
            next_unit=self.next_unit,
            next_lease=self._next_lease,
        )

    @classmethod
    def restored(cls, rules: Rules, snapshot: Snapshot) -> Scheduler:
        """Goes on from there. All leases are void; where nothing is `left`, the next epoch is to begin."""
        one = cls(rules)
        one.epoch, one.next_unit = snapshot.epoch, snapshot.next_unit
        one._next_lease = snapshot.next_lease + LEAP
        one.progress = Progress(snapshot.done, snapshot.failed, snapshot.dropped)
        for unit in snapshot.open:
            one._add(Unit(unit.work, snapshot.epoch, halvings=unit.halvings))
        one._population.remember((client.name, remembered(client)) for client in snapshot.clients)
        return one

    def _must_wait(self, name: ClientId, client: Client, now: float) -> Wait | None:
        if not self.left:
            return Wait(name, "over")
        if len(client.leases) >= client.slots:
            return Wait(name, "slots")
        if not client.trusted and not trust.may_lease(client.trust, now):
            return Wait(name, "quota", trust.next_day(now))
        if self._rules.bound and not self._population.may_begin(client, self._rules.bound):
            return Wait(name, "bound")
        last = self.left <= self._rules.last_share * self.progress.units
        if not last or not self._population.reliable or self._population.is_reliable(client):
            return None
        # Reliable clients come first, but nobody waits long for them: they may be paused.
        client.held_back = now if client.held_back is None else client.held_back
        again = client.held_back + self._rules.pace.least
        return Wait(name, "reliable", again) if now < again else None

    def _choose(self, name: ClientId, client: Client, fresh: bool) -> UnitId | None:
        rules = self._rules.sizes
        may = {"", TRUSTED if client.trusted else "", client.kind}
        each = client.seconds(1) if rules.seconds else None

        def allowed(number: UnitId) -> bool:
            unit = self._units[number]
            if client.tardy and self._kept(unit) > self._now:
                return False
            return unit.reserved in may and not unit.had(name) and (fresh or bool(unit.leases))

        def suiting(number: UnitId) -> bool:
            """What nobody began can still be halved."""
            unit = self._units[number]
            small = each is None or not unit.leases or suits(each * unit.examples, rules)
            return small and allowed(number)

        if client.trusted and (check := self._waiting.first(TRUSTED, allowed)) is not None:
            return check
        held = tuple(reversed(client.shards))
        queues = (client.kind, "") if client.kind else ("",)
        found = self._waiting.best(held, queues, suiting)
        return self._waiting.best(held, queues, allowed) if found is None and each else found

    def _kept(self, unit: Unit) -> float:
        """Until when a unit that somebody began is kept from who was late last (BOINC: retries)."""
        if not self._population.punctual:
            return -math.inf
        late = (one.deadline for one in unit.leases if one.state is LeaseState.EXPIRED)
        awaited = (one.began for one in unit.leases if one.state in AWAITED)
        return max((*late, *awaited), default=-math.inf) + self._rules.pace.least

    def _kept_until(self, name: ClientId, client: Client) -> float | None:
        """When the first is to be had that is kept from this client; None where there is none."""
        units = (self._units[one] for one in self._waiting.begun("", client.kind))
        times = (self._kept(unit) for unit in units if not unit.had(name))
        return min((one for one in times if one > self._now), default=None)

    def _split(self, unit: Unit, client: Client) -> list[Effect]:
        """A unit that nobody had is halved until it is not too much for this client."""
        if unit.leases or not self._rules.sizes.seconds:
            return []
        seconds = client.seconds(unit.work.examples)
        pieces = parts(unit.work, seconds, unit.halvings, self._rules.sizes, self.next_unit)
        if len(pieces) == 1:
            return []
        unit.work = pieces[0]
        unit.halvings += len(pieces) - 1
        for number, piece in enumerate(pieces[1:]):
            self._add(Unit(piece, self.epoch, halvings=unit.halvings - number))
        self.next_unit += len(pieces) - 1
        return [Split(tuple(pieces))]

    def _plan_comparison(self, unit: Unit, client: Client, chance: float) -> None:
        if client.trusted:
            return
        if self._rules.replicas > 1 and trust.must_replicate(client.trust, self._rules.trust, chance):
            unit.quorum = max(unit.quorum, self._rules.replicas)
        elif not unit.leases:
            unit.check = trust.must_check(self._rules.trust, chance)

    def _grant(self, name: ClientId, client: Client, unit: Unit, now: float) -> Grant:
        allowed, work = self._allowed(unit, client), unit.work
        lease = Lease(
            self._next_lease,
            work.unit,
            name,
            now,
            now + allowed,
            now + self._rules.pace.most,
            rules=client.trusted,
            part=unit.part,
        )
        self._next_lease += 1
        self._leases[lease.id] = lease
        unit.leases.append(lease)
        self._population.took(client, lease.id)
        client.held_back = None
        client.trust = trust.leased(client.trust, now)
        heapq.heappush(self._deadlines, (lease.deadline, lease.id))
        held = work.shard in client.shards
        client.has_shard(work.shard)
        if unit.reserved == TRUSTED and client.trusted:
            self._reserve(unit, "")
        if self._rules.homogeneous and unit.wanted and len(unit.leases) == 1:
            self._reserve(unit, client.kind)
        self._enlist(unit)
        return Grant(
            client=name,
            lease=lease.id,
            unit=work.unit,
            shard=work.shard,
            first=work.first,
            examples=work.examples,
            base=unit.base or 0,
            seed=work.seed,
            steps=unit.part.steps if unit.part else 0,
            deadline=lease.deadline,
            heartbeat=allowed / self._rules.heartbeats,
            holds_shard=held,
        )

    def _allowed(self, unit: Unit, client: Client) -> float:
        return allowed_seconds(unit.examples, client.paces, self._rules.pace)

    def _lease_of(self, client: ClientId, lease: LeaseId) -> Lease | Refuse:
        found = self._leases.get(lease)
        if found is None or found.client != client:
            return Refuse(client, _OVER)
        return found

    def _take_part(self, unit: Unit, lease: Lease, part: Part | None) -> bool:
        """Whether a part counts for the unit: of the first who did at least half, and nobody else is at it.

        Others have to stop at the same step to be compared with it, and it is always compared: a client
        cannot know that what it leaves out is not looked at.
        """
        others = unit.count(AWAITED) - (lease.state in AWAITED)
        if unit.state is not UnitState.OPEN or others or part is None or unit.part is not None:
            return False
        if not unit.work.examples <= 2 * part.examples <= 2 * unit.work.examples:
            return False
        unit.part = part
        if not lease.rules:
            unit.quorum, unit.check = max(unit.quorum, self._rules.replicas), True
        return True

    def _step(self, lease: Lease, event: LeaseEvent) -> bool:
        """Whether `event` may happen to the lease, which it does then."""
        following = after(LEASES, lease.state, event)
        if following is None:
            return False
        if lease.state is LeaseState.LEASED:
            self._population.ended(self._population.clients[lease.client], lease.id)
        lease.state = following
        return True

    def _weigh(self, unit: Unit) -> list[Effect]:
        """What follows from the leases of a unit after one of them changed."""
        if unit.judging:
            return []
        if unit.state is UnitState.DONE:
            # Late ones are compared once with what was valid; what is in doubt then stays so.
            unit.judging = tuple(one.id for one in unit.leases if one.state is LeaseState.RETURNED)
            return [Judge(unit.work.unit, unit.judging, unit.valid)] if unit.judging else []
        if unit.state is not UnitState.OPEN:
            return []
        pending, ruling = unit.pending, unit.ruling
        if unit.check and pending and ruling is None:
            self._call_peer(unit)
        if ruling is not None or len(pending) >= unit.quorum:
            unit.state, unit.judging = UNITS[unit.state][UnitEvent.JUDGE], pending
            self._reserve(unit, "")
            self._enlist(unit)
            return [Judge(unit.work.unit, pending, ruling)]
        if unit.wanted and len(unit.leases) >= self._rules.most_leases:
            return [GivenUp(unit.work.unit), *self._close(unit, UnitEvent.GIVE_UP)]
        if unit.part and not unit.count(AWAITED):
            unit.part = None
        if all(lease.state is LeaseState.RELEASED for lease in unit.leases):
            # Nothing of it will have to be compared: who is next begins anew.
            unit.base, unit.quorum, unit.check = None, 1, False
            self._reserve(unit, "")
        self._enlist(unit)
        return []

    def _call_peer(self, unit: Unit) -> None:
        """A trusted peer does it next, where there is one that did not have it."""
        unit.check = False
        if any(not unit.had(peer) for peer in self._population.trusted):
            unit.quorum = max(unit.quorum, len(unit.pending) + 1)
            self._reserve(unit, TRUSTED)

    def _consequence(self, unit: Unit, lease: Lease, compared: bool) -> list[Effect]:
        client = self._population.clients[lease.client]
        match lease.state:
            case LeaseState.VALID:
                now = trust.held(client.trust, self._rules.trust, compared)
                self._population.trusts(client, now)
                return [Credit(lease.client, lease.id, unit.examples)]
            case LeaseState.INVALID:
                self._population.trusts(client, trust.faulted(client.trust))
                return [Distrust(lease.client, lease.id)]
            case _:
                return []

    def _settle(self, unit: Unit) -> list[Effect]:
        """A unit whose results were judged for the first time is done, or takes one more."""
        held = [lease for lease in unit.leases if lease.state is LeaseState.VALID]
        if held and unit.base is not None:
            found = held[0]
            unit.valid, unit.proven = found.id, len(held) > 1 or found.rules
            blend = Assimilate(unit.work.unit, found.id, found.client, unit.base)
            return [blend, *self._close(unit, UnitEvent.AGREE)]
        unit.state = UNITS[unit.state][UnitEvent.DISAGREE]
        # What is in doubt is never enough alone, and each doubt takes one result more, at best a peer's.
        unit.quorum, unit.check = max(self._rules.replicas, len(unit.pending) + 1), True
        return []

    def _close(self, unit: Unit, event: UnitEvent) -> list[Effect]:
        unit.state = UNITS[unit.state][event]
        at_work = [lease for lease in unit.leases if lease.state is LeaseState.LEASED]
        for lease in at_work:
            self._step(lease, LeaseEvent.ABORT)
        self._reserve(unit, "")
        self._enlist(unit)
        effects: list[Effect] = [Abort(lease.client, lease.id) for lease in at_work]
        if unit.epoch == self.epoch and not self.left:
            tally = self.progress.tally()
            effects.append(EpochClosed(self.epoch, tally.done, tally.failed))
        return effects

    def _add(self, unit: Unit) -> None:
        self._units[unit.work.unit] = unit
        self.progress.added(unit)
        self._enlist(unit)

    def _enlist(self, unit: Unit) -> None:
        work = unit.work
        if unit.wanted and len(unit.leases) < self._rules.most_leases:
            self._waiting.add(work.unit, work.shard, begun=bool(unit.leases), queue=unit.reserved)
        else:
            self._waiting.remove(work.unit, work.shard)
        if unit.epoch == self.epoch:
            self.progress.changed(unit)

    def _reserve(self, unit: Unit, whom: str) -> None:
        """Its next lease is for `whom` alone for a while; for everybody where that is empty."""
        unit.reserved = whom
        self._for_peers.discard(unit.work.unit)
        self._reserved.pop(unit.work.unit, None)
        if whom:
            self._reserved[unit.work.unit] = self._now + self._rules.pace.usual
        if whom == TRUSTED:
            self._for_peers.add(unit.work.unit)

    def _missing_peers(self) -> None:
        """Without trusted peers others do what was reserved for them."""
        if self._population.trusted:
            return
        for unit in [self._units[one] for one in sorted(self._for_peers)]:
            self._reserve(unit, "")
            self._enlist(unit)

    def _forget(self, epoch: int) -> None:
        """Units before `epoch` and their leases: what comes of them now is too late."""
        for number in [number for number, unit in self._units.items() if unit.epoch < epoch]:
            for lease in self._units.pop(number).leases:
                self._leases.pop(lease.id, None)
