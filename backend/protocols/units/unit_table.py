"""The units of an epoch: their counts, the queue of units that need leases, and reservations."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from backend.protocols.units.records import (
    CLOSED,
    DISPUTED,
    DRAWN,
    PENDING,
    TRUSTED,
    LeaseState,
    UnitRecord,
    UnitState,
)
from backend.protocols.units.rules import Rules
from backend.protocols.units.scheduler_effects import ClientId, UnitId, WorkUnit

_LEASED, _COMPARED = "leased", "compared"


@dataclass(frozen=True)
class UnitCounts:
    """The numbers of an epoch's units: all, over (done, failed, dropped), leased, and being compared."""

    units: int
    done: int
    failed: int
    dropped: int
    leased: int
    compared: int

    @property
    def over(self) -> int:
        """The number of units that need no more work."""
        return self.done + self.failed + self.dropped

    @property
    def open(self) -> int:
        """The number of units without a lease or a waiting result."""
        return self.units - self.over - self.leased - self.compared


class EpochProgress:
    """Counts the units of one epoch by phase; `remaining` are not over.

    A restored epoch begins with some over.
    """

    def __init__(self, done: int = 0, failed: int = 0, dropped: int = 0) -> None:
        self._counts: Counter[str] = Counter()
        self._counts.update({UnitState.DONE: done, UnitState.FAILED: failed, UnitState.DROPPED: dropped})
        self.units, self.remaining = done + failed + dropped, 0

    def added(self, unit: UnitRecord) -> None:
        """Counts a new unit."""
        self.units, self.remaining = self.units + 1, self.remaining + 1
        self._counts[unit.phase] += 1

    def changed(self, unit: UnitRecord) -> None:
        """Updates the counts after a change of a unit or its leases."""
        phase = phase_of(unit)
        if phase != unit.phase:
            self._counts[unit.phase] -= 1
            self._counts[phase] += 1
            unit.phase = phase
            self.remaining -= unit.state in CLOSED

    def tally(self) -> UnitCounts:
        """Returns the counts by phase."""
        count = self._counts
        return UnitCounts(
            self.units,
            count[UnitState.DONE],
            count[UnitState.FAILED],
            count[UnitState.DROPPED],
            count[_LEASED],
            count[_COMPARED],
        )


def phase_of(unit: UnitRecord) -> str:
    """Returns the unit's state; for an open one `compared` if a result waits, `leased` if it has a lease."""
    if unit.state is UnitState.JUDGED or (unit.state is UnitState.OPEN and unit.count(PENDING)):
        return _COMPARED
    if unit.state is UnitState.OPEN and unit.count((LeaseState.LEASED,)):
        return _LEASED
    return unit.state


# Most units that one search looks at: a client is only refused the begun units that it had itself.
SEARCH_LIMIT = 64
# Reservations that a disputed unit gets, one after the other: trusted peers may have many disputes to decide.
MOST_APPEALS = 10


@dataclass
class UnitQueue:
    """Open units in order, begun units before fresh ones, with an index by shard.

    Begun units are in one queue for each reservation; the queue without reservation has the name "". Any
    client may get a fresh unit, so no client has to wait because it had the begun ones itself.
    """

    # Unlike a dict, an OrderedDict finds its first key in constant time after deletions at the front.
    _fresh: OrderedDict[UnitId, None] = field(default_factory=OrderedDict)
    _begun: dict[str, OrderedDict[UnitId, None]] = field(default_factory=dict)
    _queue_of: dict[UnitId, str] = field(default_factory=dict)
    _by_shard: dict[int, OrderedDict[UnitId, None]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._queue_of) + len(self._fresh)

    def add(self, unit: UnitId, shard: int, begun: bool, queue: str = "") -> None:
        """Adds a unit that needs a lease, if it is not queued; `begun` says whether it had a lease before."""
        if begun and self._queue_of.get(unit) != queue:
            self._take_out(unit)
            self._queue_of[unit] = queue
            self._begun.setdefault(queue, OrderedDict())[unit] = None
        elif not begun and unit not in self._queue_of:
            self._fresh.setdefault(unit)
        self._by_shard.setdefault(shard, OrderedDict()).setdefault(unit)

    def remove(self, unit: UnitId, shard: int) -> None:
        """Removes a unit that needs no lease now, if it is queued."""
        self._take_out(unit)
        if (same := self._by_shard.get(shard)) is not None:
            same.pop(unit, None)
            if not same:
                del self._by_shard[shard]

    @property
    def has_fresh(self) -> bool:
        """Whether units are queued that no client had."""
        return bool(self._fresh)

    def best(
        self, shards: Collection[int], queues: Collection[str], may: Callable[[UnitId], bool]
    ) -> UnitId | None:
        """Returns a unit that `may` be leased: of one of `shards`, else the first; None if there is none."""
        for shard in shards:
            if (found := _first(self._by_shard.get(shard, ()), may)) is not None:
                return found
        for queue in queues:
            if (found := _first(self._begun.get(queue, ()), may)) is not None:
                return found
        return _first(self._fresh, may)

    def first(self, queue: str, may: Callable[[UnitId], bool]) -> UnitId | None:
        """Returns the first unit of a queue that `may` be leased."""
        return _first(self._begun.get(queue, ()), may)

    def queue(self, name: str) -> Collection[UnitId]:
        """Returns the units of one queue, the first of them first."""
        return self._begun.get(name, ())

    def begun(self, *queues: str) -> Iterator[UnitId]:
        """Yields the first SEARCH_LIMIT units of each of these queues."""
        for queue in dict.fromkeys(queues):
            yield from islice(self._begun.get(queue, ()), SEARCH_LIMIT)

    def _take_out(self, unit: UnitId) -> None:
        self._fresh.pop(unit, None)
        if (queue := self._queue_of.pop(unit, None)) is not None:
            del self._begun[queue][unit]
            if queue.startswith(DRAWN) and not self._begun[queue]:
                del self._begun[queue]


def _first(units: Iterable[UnitId], may: Callable[[UnitId], bool]) -> UnitId | None:
    for looked, unit in enumerate(units):
        if looked == SEARCH_LIMIT:
            return None
        if may(unit):
            return unit
    return None


class UnitTable:
    """Owns the units of `epoch`, and those of the epoch before for late results.

    `waiting` has the units that need leases, `progress` counts this epoch's, and `next_unit` is the first
    unused number. A reservation made `now` (seconds) ends after the usual time of a lease.
    """

    def __init__(self, rules: Rules) -> None:
        self._max_leases, self._reservation_seconds = rules.most_leases, rules.pace.usual
        # When reservations end; all last equally long, so they are in order.
        self._reserved: OrderedDict[UnitId, float] = OrderedDict()
        self._reserved_for_peers: set[UnitId] = set()
        # Units whose next lease one drawn client gets, the oldest first.
        self.drawn: OrderedDict[UnitId, None] = OrderedDict()
        # Units of this epoch that exactly one client works on, nearly in the order in which it began.
        self.with_one_lease_out: OrderedDict[UnitId, None] = OrderedDict()
        self.units: dict[UnitId, UnitRecord] = {}
        # Units that were given up with all others of this epoch, which then began again.
        self._replaced: list[UnitRecord] = []
        self.waiting = UnitQueue()
        self.progress = EpochProgress()
        self.epoch, self.next_unit, self.now = 0, 0, 0.0

    def current_units(self) -> Iterator[UnitRecord]:
        """Yields the units of this epoch."""
        return (unit for unit in self.units.values() if unit.epoch == self.epoch)

    def make_next_units(self, works: Iterable[WorkUnit]) -> list[UnitRecord]:
        """Returns the units of the next epoch, for `begin`.

        Raises ValueError if there is none, or if a number is not unique.
        """
        units = [UnitRecord(work, self.epoch + 1) for work in works]
        numbers = {one.work.unit for one in units}
        if not units or len(numbers) < len(units) or min(numbers) < self.next_unit:
            raise ValueError("an epoch has units, and each of them a number of its own")
        return units

    def forget(self) -> list[UnitRecord]:
        """Removes and returns the units of earlier epochs; their results would come too late."""
        removed = [unit for unit in self.units.values() if unit.epoch < self.epoch]
        for unit in removed:
            del self.units[unit.work.unit]
        return removed

    def begin(self, units: Iterable[UnitRecord]) -> None:
        """Begins the next epoch with these units."""
        self.epoch, self._replaced = self.epoch + 1, []
        self.progress = EpochProgress()
        for unit in units:
            self.add(unit)

    def resume(
        self, epoch: int, next_unit: int, progress: EpochProgress, units: Iterable[UnitRecord]
    ) -> None:
        """Resumes an epoch with the units that are still open."""
        self.epoch, self.next_unit, self.progress = epoch, next_unit, progress
        for unit in units:
            self.add(unit)

    def reopen(self) -> list[UnitRecord]:
        """Replaces the units of this epoch, all of which were given up, by new ones for the same work.

        Returns units that were replaced before and are removed now: their results would come too late.
        """
        removed, self._replaced = self._replaced, list(self.current_units())
        for unit in removed:
            del self.units[unit.work.unit]
        self.progress = EpochProgress()
        for unit in self._replaced:
            unit.epoch -= 1
            work = replace(unit.work, unit=self.next_unit)
            self.add(UnitRecord(work, self.epoch, halvings=unit.halvings))
        return removed

    def add(self, unit: UnitRecord) -> None:
        """Adds a unit to this epoch, or an audit."""
        self.units[unit.work.unit] = unit
        self.next_unit = max(self.next_unit, unit.work.unit + 1)
        if unit.epoch == self.epoch:
            self.progress.added(unit)
        self.changed(unit)

    def add_rest(self, unit: UnitRecord) -> None:
        """Adds what a partial result leaves of `unit` as a unit of its own, which anybody may have."""
        if unit.part is None:
            return
        _, rest = unit.work.cut(unit.part.steps, unit.part.examples)
        if rest.rows:
            self.add(UnitRecord(replace(rest, unit=self.next_unit), unit.epoch, halvings=unit.halvings))

    def remove(self, unit: UnitRecord) -> None:
        """Removes an audit that is over."""
        self.waiting.remove(unit.work.unit, unit.work.shard)
        del self.units[unit.work.unit]

    def changed(self, unit: UnitRecord) -> None:
        """Updates queue and counts after a change of a unit or its leases."""
        work = unit.work
        if unit.missing_leases and unit.attempts < self._max_leases:
            begun = bool(unit.leases or unit.reserved)
            self.waiting.add(work.unit, work.shard, begun, queue=unit.reserved)
        else:
            self.waiting.remove(work.unit, work.shard)
        if unit.epoch == self.epoch:
            self.progress.changed(unit)
        if unit.epoch == self.epoch and unit.only_lease_out is not None:
            self.with_one_lease_out.setdefault(work.unit)
        else:
            self.with_one_lease_out.pop(work.unit, None)

    def reserved_since(self, unit: UnitId) -> float:
        """Returns when a reserved unit was reserved."""
        return self._reserved[unit] - self._reservation_seconds

    def reserve(self, unit: UnitRecord, group: str) -> None:
        """Reserves the unit's next lease for `group` (see UnitRecord) for a while; "" ends that.

        It takes effect with the next call of `changed`. An audit stays reserved.
        """
        if unit.audited is not None:
            return
        if unit.reserved:
            self._reserved_for_peers.discard(unit.work.unit)
            self._reserved.pop(unit.work.unit, None)
            self.drawn.pop(unit.work.unit, None)
        unit.reserved = group
        if group:
            self._reserved[unit.work.unit] = self.now + self._reservation_seconds
        unit.appeals += group == DISPUTED
        if group in (TRUSTED, DISPUTED):
            self._reserved_for_peers.add(unit.work.unit)
        elif group.startswith(DRAWN):
            self.drawn[unit.work.unit] = None

    def free_peer_reservations(self) -> list[UnitRecord]:
        """Ends the reservations for trusted peers, because none is connected; returns their units."""
        return [self._free(number) for number in sorted(self._reserved_for_peers)]

    def free_drawn(self, client: ClientId) -> list[UnitRecord]:
        """Ends the reservations for a drawn client that left; returns their units."""
        return [self._free(number) for number in list(self.waiting.queue(DRAWN + client))]

    def timer(self) -> float | None:
        """Returns when the next reservation ends; None if there is none."""
        return next(iter(self._reserved.values()), None)

    def time_passed(self, now: float) -> list[UnitRecord]:
        """Ends reservations whose time is over, and returns their units."""
        freed = []
        while self._reserved and (first := next(iter(self._reserved.items())))[1] <= now:
            unit = self.units[first[0]]
            if unit.reserved == DISPUTED and unit.appeals < MOST_APPEALS:
                self.reserve(unit, DISPUTED)
            else:
                freed.append(self._free(first[0]))
        return freed

    def _free(self, number: UnitId) -> UnitRecord:
        unit = self.units[number]
        self.reserve(unit, "")
        self.changed(unit)
        return unit
