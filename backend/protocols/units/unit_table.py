"""The units of an epoch: their counts, the queue of those that want leases, and reservations."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from backend.protocols.units.records import CLOSED, PENDING, TRUSTED, LeaseState, UnitRecord, UnitState
from backend.protocols.units.rules import Rules
from backend.protocols.units.scheduler_effects import UnitId, WorkUnit

_LEASED, _COMPARED = "leased", "compared"


@dataclass(frozen=True)
class UnitCounts:
    """The units of an epoch: all, those over in one way or other, at work, and with results that wait."""

    units: int
    done: int
    failed: int
    dropped: int
    leased: int
    compared: int

    @property
    def over(self) -> int:
        """Those that nothing more is to be done for."""
        return self.done + self.failed + self.dropped

    @property
    def open(self) -> int:
        """Those that nobody has or had."""
        return self.units - self.over - self.leased - self.compared


class EpochProgress:
    """Counts the units of one epoch by where they are; `left` are not over. Some may be over from before."""

    def __init__(self, done: int = 0, failed: int = 0, dropped: int = 0) -> None:
        self._counts: Counter[str] = Counter()
        self._counts.update({UnitState.DONE: done, UnitState.FAILED: failed, UnitState.DROPPED: dropped})
        self.units, self.left = done + failed + dropped, 0

    def added(self, unit: UnitRecord) -> None:
        """One unit more."""
        self.units, self.left = self.units + 1, self.left + 1
        self._counts[unit.phase] += 1

    def changed(self, unit: UnitRecord) -> None:
        """Something happened to a unit or to its leases."""
        phase = phase_of(unit)
        if phase != unit.phase:
            self._counts[unit.phase] -= 1
            self._counts[phase] += 1
            unit.phase = phase
            self.left -= unit.state in CLOSED

    def tally(self) -> UnitCounts:
        """How many are where."""
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
    """Its state; of an open one `leased` where somebody is at work, `compared` where a result waits."""
    if unit.state is UnitState.JUDGED or (unit.state is UnitState.OPEN and unit.count(PENDING)):
        return _COMPARED
    if unit.state is UnitState.OPEN and unit.count((LeaseState.LEASED,)):
        return _LEASED
    return unit.state


# Units begun that a client may not have are those that it had itself. No client looks further.
LOOKED_AT = 64


@dataclass
class UnitQueue:
    """Open units in their order, those that were begun before the others, and by their shards.

    Those begun stand in queues, by whom they are reserved for; that of everybody has no name. Everybody may
    have a unit that nobody had yet, so that nobody waits because of units begun by themselves.
    """

    # Unlike a dict, an OrderedDict finds its first key in the same time however many went before.
    _fresh: OrderedDict[UnitId, None] = field(default_factory=OrderedDict)
    _begun: dict[str, OrderedDict[UnitId, None]] = field(default_factory=dict)
    _queue_of: dict[UnitId, str] = field(default_factory=dict)
    _by_shard: dict[int, OrderedDict[UnitId, None]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._queue_of) + len(self._fresh)

    def add(self, unit: UnitId, shard: int, begun: bool, queue: str = "") -> None:
        """One that wants a lease, if it is not among them; `begun` where somebody had it before."""
        if begun and self._queue_of.get(unit) != queue:
            self._take_out(unit)
            self._queue_of[unit] = queue
            self._begun.setdefault(queue, OrderedDict())[unit] = None
        elif not begun and unit not in self._queue_of:
            self._fresh.setdefault(unit)
        self._by_shard.setdefault(shard, OrderedDict()).setdefault(unit)

    def remove(self, unit: UnitId, shard: int) -> None:
        """One that wants no lease now, if it is among them."""
        self._take_out(unit)
        if (same := self._by_shard.get(shard)) is not None:
            same.pop(unit, None)
            if not same:
                del self._by_shard[shard]

    def best(
        self, shards: Collection[int], queues: Collection[str], may: Callable[[UnitId], bool]
    ) -> UnitId | None:
        """A unit that `may` be given: of one of `shards`, or else the first; None where there is none."""
        for shard in shards:
            if (found := _first(self._by_shard.get(shard, ()), may)) is not None:
                return found
        for queue in queues:
            if (found := _first(self._begun.get(queue, ()), may)) is not None:
                return found
        return _first(self._fresh, may)

    def first(self, queue: str, may: Callable[[UnitId], bool]) -> UnitId | None:
        """The first of a queue that `may` be given."""
        return _first(self._begun.get(queue, ()), may)

    def begun(self, *queues: str) -> Iterator[UnitId]:
        """The first of these queues, as far as any client looks."""
        for queue in dict.fromkeys(queues):
            yield from islice(self._begun.get(queue, ()), LOOKED_AT)

    def _take_out(self, unit: UnitId) -> None:
        self._fresh.pop(unit, None)
        if (queue := self._queue_of.pop(unit, None)) is not None:
            del self._begun[queue][unit]


def _first(units: Iterable[UnitId], may: Callable[[UnitId], bool]) -> UnitId | None:
    for looked, unit in enumerate(units):
        if looked == LOOKED_AT:
            return None
        if may(unit):
            return unit
    return None


class UnitTable:
    """Owns units: those of `epoch`, and those of the one before for who comes late.

    `waiting` are those that want leases, `progress` counts this epoch's, and no unit had the number
    `next_unit` yet. What is reserved `now` (seconds) is for everybody again after the usual time of a lease.
    """

    def __init__(self, rules: Rules) -> None:
        self._most_leases, self._kept_for = rules.most_leases, rules.pace.usual
        # Until when units are reserved: all for one time, so that they stand in order.
        self._reserved: OrderedDict[UnitId, float] = OrderedDict()
        self._for_peers: set[UnitId] = set()
        self.units: dict[UnitId, UnitRecord] = {}
        self.waiting = UnitQueue()
        self.progress = EpochProgress()
        self.epoch, self.next_unit, self.now = 0, 0, 0.0

    def of_this_epoch(self) -> Iterator[UnitRecord]:
        """All of this epoch."""
        return (unit for unit in self.units.values() if unit.epoch == self.epoch)

    def of_next_epoch(self, works: Iterable[WorkUnit]) -> list[UnitRecord]:
        """What the epoch after this one has, to `begin` it.

        Raises ValueError where it is nothing, or where one has a number that another has or had.
        """
        units = [UnitRecord(work, self.epoch + 1) for work in works]
        numbers = {one.work.unit for one in units}
        if not units or len(numbers) < len(units) or min(numbers) < self.next_unit:
            raise ValueError("an epoch has units, and each of them a number of its own")
        return units

    def forget(self) -> list[UnitRecord]:
        """Units before this epoch, which are kept no more: what comes of them now is too late."""
        gone = [unit for unit in self.units.values() if unit.epoch < self.epoch]
        for unit in gone:
            del self.units[unit.work.unit]
        return gone

    def begin(self, units: Iterable[UnitRecord]) -> None:
        """The next epoch has these."""
        self.epoch += 1
        self.progress = EpochProgress()
        for unit in units:
            self.add(unit)

    def resume(
        self, epoch: int, next_unit: int, progress: EpochProgress, units: Iterable[UnitRecord]
    ) -> None:
        """Goes on in an epoch of which these units are still to be done."""
        self.epoch, self.next_unit, self.progress = epoch, next_unit, progress
        for unit in units:
            self.add(unit)

    def add(self, unit: UnitRecord) -> None:
        """One unit more of this epoch."""
        self.units[unit.work.unit] = unit
        self.next_unit = max(self.next_unit, unit.work.unit + 1)
        self.progress.added(unit)
        self.changed(unit)

    def changed(self, unit: UnitRecord) -> None:
        """Something happened to a unit or to its leases: it may want one now, or none any more."""
        work = unit.work
        if unit.wanted and len(unit.leases) < self._most_leases:
            self.waiting.add(work.unit, work.shard, begun=bool(unit.leases), queue=unit.reserved)
        else:
            self.waiting.remove(work.unit, work.shard)
        if unit.epoch == self.epoch:
            self.progress.changed(unit)

    def reserve(self, unit: UnitRecord, whom: str) -> None:
        """Its next lease is for `whom` alone for a while; for everybody where that is empty.

        It counts once the unit is said to have `changed`.
        """
        if unit.reserved:
            self._for_peers.discard(unit.work.unit)
            self._reserved.pop(unit.work.unit, None)
        unit.reserved = whom
        if whom:
            self._reserved[unit.work.unit] = self.now + self._kept_for
        if whom == TRUSTED:
            self._for_peers.add(unit.work.unit)

    def without_peers(self) -> None:
        """No trusted peer is here: others do what was reserved for them."""
        for number in sorted(self._for_peers):
            self._free(number)

    def timer(self) -> float | None:
        """When the next reservation is over; None where there is none."""
        return next(iter(self._reserved.values()), None)

    def time_passed(self, now: float) -> None:
        """Nobody waits long for those for whom units are reserved."""
        while self._reserved and (first := next(iter(self._reserved.items())))[1] <= now:
            self._free(first[0])

    def _free(self, number: UnitId) -> None:
        unit = self.units[number]
        self.reserve(unit, "")
        self.changed(unit)
