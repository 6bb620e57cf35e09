"""Units that want leases, so kept that the best for a client is found without looking through them all."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from backend.protocols.units.scheduler_effects import UnitId

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
        self, held: Collection[int], queues: Collection[str], may: Callable[[UnitId], bool]
    ) -> UnitId | None:
        """A unit that `may` be given: of a shard in `held`, or else the first; None where there is none."""
        for shard in held:
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
