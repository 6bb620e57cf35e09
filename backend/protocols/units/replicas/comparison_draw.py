"""Draws which results are compared with others', when they arrive (decision 0059)."""

from __future__ import annotations

from backend.protocols.units import trust
from backend.protocols.units.audits.provisional_results import ProvisionalResults
from backend.protocols.units.client_table import ClientTable, TableClient
from backend.protocols.units.leases import Leases
from backend.protocols.units.records import PENDING, Lease, UnitRecord, UnitState
from backend.protocols.units.rules import Rules
from backend.protocols.units.unit_table import UnitTable


class ComparisonDraw:
    """Decides whether others repeat a unit when its first result arrives: no client may know before.

    A result that may count alone is held back while another one of its client waits for a comparison.
    Otherwise a fast client would have many false results in the model before the first verdict.
    """

    def __init__(
        self,
        rules: Rules,
        client_table: ClientTable,
        unit_table: UnitTable,
        leases: Leases,
        provisional: ProvisionalResults,
    ) -> None:
        self._rules, self._leases, self._provisional = rules, leases, provisional
        self._client_table, self._unit_table = client_table, unit_table

    def granted(self, unit: UnitRecord, lease: Lease) -> None:
        """Takes a new lease; it counts as unproved from now on if all results of its client are compared."""
        client = self._client_table.clients[lease.client]
        if lease.by_trusted_peer or unit.pending or self._rules.replicas == 1:
            return
        if trust.replication(client.trust, self._rules.trust) >= 1.0:
            self._client_table.comparison_awaited(client, lease.id, lease.began)

    def returned(self, unit: UnitRecord, lease: Lease) -> None:
        """Draws whether the unit of a result is repeated, by another client or by a trusted peer."""
        if lease.by_trusted_peer or unit.state is not UnitState.OPEN:
            return
        client, rules = self._client_table.clients[lease.client], self._rules
        crowded = bool(rules.trust.provisional) and not self._provisional.has_room(lease.client)
        if rules.replicas > 1 and (crowded or trust.must_replicate(client.trust, rules.trust, unit.lot)):
            unit.quorum = max(unit.quorum, rules.replicas)
        if len(unit.pending) > 1:
            return
        unit.check = unit.check or trust.must_check(rules.trust, unit.lot)
        if unit.quorum > 1:
            self._client_table.comparison_awaited(client, lease.id, lease.began)
        else:
            self._client_table.comparison_ended(client, lease.id, lease.household)

    def hold(self, unit: UnitRecord) -> bool:
        """Holds the only result of a unit back if it has to wait; returns whether it does."""
        if unit.quorum > 1 or len(unit.pending) != 1:
            return False
        lease = self._leases[unit.pending[0]]
        client = self._client_table.clients[lease.client]
        if not self._waits(client):
            return False
        client.held.add(lease.id)
        return True

    def freed(self, unit: UnitRecord) -> list[UnitRecord]:
        """Returns the units whose results need not wait any longer, after verdicts on `unit` or its end."""
        freed = []
        for name in dict.fromkeys(lease.client for lease in unit.leases):
            client = self._client_table.clients[name]
            if not client.held or self._waits(client):
                continue
            for lease in [self._leases[one] for one in sorted(client.held)]:
                client.held.discard(lease.id)
                held = self._unit_table.units[lease.unit]
                # Drawn again: its client may have lost trust.
                self.returned(held, lease)
                freed.append(held)
        return freed

    def _waits(self, client: TableClient) -> bool:
        return any(self._leases[one].state in PENDING for one in client.unproved)
