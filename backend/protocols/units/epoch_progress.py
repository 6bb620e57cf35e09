"""How far an epoch is, kept up with each change, so that nobody has to look through its units."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from backend.protocols.units.records import UnitRecord
from backend.protocols.units.states import CLOSED, PENDING, LeaseState, UnitState

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
