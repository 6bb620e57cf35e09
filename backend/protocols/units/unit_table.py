"""The units of an epoch: which there are, which of them want leases, and for whom some are kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator

from backend.protocols.units.epoch_progress import EpochProgress
from backend.protocols.units.records import TRUSTED, UnitRecord
from backend.protocols.units.rules import Rules
from backend.protocols.units.scheduler_effects import UnitId, WorkUnit
from backend.protocols.units.unit_queue import UnitQueue


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
