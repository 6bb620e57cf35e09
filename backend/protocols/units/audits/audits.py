"""Audits: a trusted peer repeats the newest provisional result of a client (decision 0074).

A client that starts to cheat at some time, and continues, is detected by one audit however few of its results
are compared. An audit is a unit that only trusted peers get; its result is compared, and never blended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from backend.protocols.units import trust
from backend.protocols.units.audits.provisional_results import ProvisionalResults
from backend.protocols.units.client_table import ClientTable
from backend.protocols.units.leases import Leases
from backend.protocols.units.records import (
    AUDIT,
    AUDIT_EPOCH,
    UNITS,
    Lease,
    LeaseEvent,
    LeaseState,
    ProvisionalResult,
    UnitEvent,
    UnitRecord,
    UnitState,
)
from backend.protocols.units.rules import Rules, Verdict
from backend.protocols.units.scheduler_effects import (
    Abort,
    CreditClient,
    DistrustClient,
    Effect,
    Judge,
    LeaseId,
)
from backend.protocols.units.unit_table import UnitTable


class Audits:
    """Owns the audits under way. `refuted` returns the effects of a refuted result, given its lease."""

    def __init__(
        self,
        rules: Rules,
        client_table: ClientTable,
        unit_table: UnitTable,
        leases: Leases,
        provisional: ProvisionalResults,
        refuted: Callable[[Lease], list[Effect]],
    ) -> None:
        self._rules, self._leases, self._provisional = rules, leases, provisional
        self._client_table, self._unit_table = client_table, unit_table
        self._refuted = refuted
        # The units that are audits, by the lease that each of them repeats.
        self._units: dict[LeaseId, UnitRecord] = {}

    @property
    def under_way(self) -> int:
        """The number of audits that are not over."""
        return len(self._units)

    def begin(self, departed: bool = False) -> int:
        """Begins an audit of each client whose newest result in the model is unconfirmed.

        `departed`: only of clients that are not connected. Returns how many began.
        """
        clients, before = self._client_table.clients, len(self._units)
        for result in self._provisional.to_audit():
            if not (departed and clients[result.lease.client].is_connected):
                self._begin(result)
        return len(self._units) - before

    def drop(self) -> list[Effect]:
        """Drops all audits: no trusted peer is left."""
        effects: list[Effect] = []
        for unit in list(self._units.values()):
            effects += self._end(unit, UnitEvent.DROP)
        return effects

    def reconsider(self, unit: UnitRecord) -> list[Effect]:
        """Returns the effects on an audit after one of its leases changed."""
        audited = unit.audited
        if audited is None or unit.state is not UnitState.OPEN:
            return []
        if unit.pending:
            unit.state, unit.judging = UNITS[unit.state][UnitEvent.JUDGE], unit.pending
            self._unit_table.changed(unit)
            return [Judge(unit.work.unit, unit.judging, None, audited.lease.id)]
        # What is given back counts, too: a peer that cannot do an audit would get it for ever.
        if unit.missing_leases and len(unit.leases) >= self._rules.most_leases:
            return self._end(unit, UnitEvent.GIVE_UP)
        self._unit_table.changed(unit)
        return []

    def judged(self, unit: UnitRecord, verdicts: Mapping[LeaseId, Verdict]) -> list[Effect]:
        """Returns the effects of a comparison: what the peer's result says of the audited one."""
        audited = unit.audited
        if audited is None:
            raise ValueError(f"unit {unit.work.unit} is no audit")
        unit.judging = ()
        ((number, verdict),) = verdicts.items()
        lease = self._leases[number]
        if verdict is Verdict.FAULTY:
            self._leases.step(lease, LeaseEvent.FIND_INVALID)
            level = self._client_table.clients[lease.client].trust
            self._client_table.set_trust(lease.client, trust.after_faulty(level))
            unit.state = UNITS[unit.state][UnitEvent.DISAGREE]
            return [DistrustClient(lease.client, lease.id), *self.reconsider(unit)]
        self._leases.step(lease, LeaseEvent.FIND_VALID)
        effects: list[Effect] = [CreditClient(lease.client, lease.id, unit.examples)]
        effects += self._end(unit, UnitEvent.AGREE, agreed=verdict is Verdict.VALID)
        return [*effects, *self._refuted(audited.lease)] if verdict is Verdict.INVALID else effects

    def _begin(self, result: ProvisionalResult) -> None:
        unit = UnitRecord(
            replace(result.work, unit=self._unit_table.next_unit),
            AUDIT_EPOCH,
            base=result.base,
            part=result.part,
            reserved=AUDIT,
            audited=result,
        )
        self._units[result.lease.id] = unit
        self._provisional.audit_began(result.lease)
        self._unit_table.add(unit)

    def _end(self, unit: UnitRecord, event: UnitEvent, agreed: bool = False) -> list[Effect]:
        """Ends an audit, and forgets it; a peer that works on it may stop."""
        audited = unit.audited
        if audited is None:
            return []
        del self._units[audited.lease.id]
        unit.state = UNITS[unit.state][event]
        at_work = [lease for lease in unit.leases if lease.state is LeaseState.LEASED]
        for lease in at_work:
            self._leases.step(lease, LeaseEvent.ABORT)
        self._leases.forget(unit.leases)
        self._unit_table.remove(unit)
        aborted = [Abort(lease.client, lease.id) for lease in at_work]
        return [*aborted, *self._provisional.audit_ended(audited.lease, agreed)]
