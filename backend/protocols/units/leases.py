"""Whose turn it is at which unit, and until when."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from backend.protocols.units.client_table import ClientTable
from backend.protocols.units.records import Lease, UnitRecord
from backend.protocols.units.scheduler_effects import ClientId, LeaseId
from backend.protocols.units.states import LEASES, LeaseEvent, LeaseState, after


class Leases:
    """Owns leases. A client is at work, as its population sees it, on those that are LEASED.

    `next` is the number of the next one.
    """

    def __init__(self, population: ClientTable) -> None:
        self._population = population
        self._leases: dict[LeaseId, Lease] = {}
        # Each that is LEASED is in here at a time not after its deadline; others may be, too.
        self._deadlines: list[tuple[float, LeaseId]] = []
        self.next: LeaseId = 0

    def __getitem__(self, lease: LeaseId) -> Lease:
        """Raises KeyError where there is none (any more)."""
        return self._leases[lease]

    def of(self, client: ClientId, lease: LeaseId) -> Lease | None:
        """A lease of this client; None where it has none with that number (any more)."""
        found = self._leases.get(lease)
        return found if found is not None and found.client == client else None

    def give(
        self, client: ClientId, unit: UnitRecord, now: float, seconds: float, most: float, rules: bool
    ) -> Lease:
        """A client's turn at a unit, or at the part of it that others did, for so many seconds.

        It is renewed for `most` seconds, and `rules` where the client is a trusted peer.
        """
        lease = Lease(
            id=self.next,
            unit=unit.work.unit,
            client=client,
            began=now,
            deadline=now + seconds,
            latest=now + most,
            rules=rules,
            part=unit.part,
        )
        self.next += 1
        self._leases[lease.id] = lease
        unit.leases.append(lease)
        self._at_work(lease, lease.deadline)
        return lease

    def renew(self, lease: Lease, until: float) -> None:
        """One that expired holds again."""
        self.step(lease, LeaseEvent.RENEW)
        self._at_work(lease, until)

    def step(self, lease: Lease, event: LeaseEvent) -> bool:
        """Whether `event` may happen to the lease, which it does then."""
        following = after(LEASES, lease.state, event)
        if following is None:
            return False
        if lease.state is LeaseState.LEASED:
            self._population.ended(self._population.clients[lease.client], lease.id)
        lease.state = following
        return True

    def timer(self) -> float | None:
        """When the first may be over of whose client nothing is heard; None where there is none."""
        return self._deadlines[0][0] if self._deadlines else None

    def expire(self, now: float) -> Lease | None:
        """The next one whose deadline went by in silence, which is over; None where there is none more."""
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
        """What comes of these now is too late."""
        for lease in leases:
            self._leases.pop(lease.id, None)

    def _at_work(self, lease: Lease, until: float) -> None:
        self._population.took(self._population.clients[lease.client], lease.id)
        heapq.heappush(self._deadlines, (until, lease.id))
