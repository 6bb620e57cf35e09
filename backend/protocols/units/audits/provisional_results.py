"""Results that are in the model before a trusted peer confirmed them, by client (decision 0074).

The model can be rid of them: when one result of a client is refuted, all its provisional ones are taken out.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator

from backend.protocols.units.records import Lease, ProvisionalResult, UnitRecord
from backend.protocols.units.scheduler_effects import (
    ClientId,
    Effect,
    ForgetResult,
    KeepResults,
    LeaseId,
    TakeOutResults,
)


class ProvisionalResults:
    """Owns the newest provisional result of each of at most `most` clients; 0: no result is provisional."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._newest: dict[ClientId, ProvisionalResult] = {}
        self._counts: Counter[ClientId] = Counter()
        # Clients whose newest result in the model nobody confirmed, and others.
        self._unaudited: OrderedDict[ClientId, None] = OrderedDict()
        self._audited: OrderedDict[ClientId, None] = OrderedDict()
        self._under_audit: set[LeaseId] = set()

    def has_room(self, client: ClientId) -> bool:
        """Whether a result of the client may be provisional."""
        known = client in self._newest or len(self._newest) < self._most
        return bool(self._most) and (known or bool(self._audited))

    def blended(self, unit: UnitRecord, lease: Lease) -> list[Effect]:
        """Takes a client's result that is blended unproven. Raises ValueError if there is no room for it."""
        effects: list[Effect] = []
        if not self.has_room(lease.client) or unit.base is None:
            raise ValueError(f"there is no room for a provisional result of {lease.client}")
        if lease.client not in self._newest and len(self._newest) >= self._most:
            # Who was audited the longest ago is believed from now on.
            longest, _ = self._audited.popitem(last=False)
            effects += [*self._forget(self._newest.pop(longest)), KeepResults(longest)]
            del self._counts[longest]
        elif (before := self._newest.get(lease.client)) is not None:
            effects += self._forget(before)
        self._newest[lease.client] = ProvisionalResult(lease, unit.work, unit.epoch, unit.base, unit.part)
        self._counts[lease.client] += 1
        self._audited.pop(lease.client, None)
        self._unaudited[lease.client] = None
        return effects

    def confirmed(self, lease: Lease) -> None:
        """Takes that a trusted peer confirmed the result of a lease.

        Its client need not be audited any more, unless another result arrived later and counts already.
        """
        newest = self._newest.get(lease.client)
        if newest is not None and newest.lease.returned <= lease.returned:
            self._unaudited.pop(lease.client, None)
            self._audited[lease.client] = None

    def refuted(self, client: ClientId) -> list[Effect]:
        """Returns the effects of a refuted result: the client's provisional ones are taken out."""
        before = self._newest.pop(client, None)
        self._unaudited.pop(client, None)
        self._audited.pop(client, None)
        if before is None:
            return []
        return [*self._forget(before), TakeOutResults(client, self._counts.pop(client))]

    def to_audit(self) -> Iterator[ProvisionalResult]:
        """Yields each client's newest result that is unconfirmed and not under audit."""
        for client in list(self._unaudited):
            if self._newest[client].lease.id not in self._under_audit:
                yield self._newest[client]

    def audit_began(self, lease: Lease) -> None:
        """Takes that a result is under audit: it is needed until that ends."""
        self._under_audit.add(lease.id)

    def audit_ended(self, lease: Lease, agreed: bool) -> list[Effect]:
        """Returns the effects of the end of an audit; `agreed`: a trusted peer's result is the same."""
        self._under_audit.discard(lease.id)
        newest = self._newest.get(lease.client)
        if newest is None or newest.lease is not lease:
            return [ForgetResult(lease.id)]
        if agreed:
            self.confirmed(lease)
        return []

    def _forget(self, result: ProvisionalResult) -> list[Effect]:
        lease = result.lease.id
        return [] if lease in self._under_audit else [ForgetResult(lease)]
