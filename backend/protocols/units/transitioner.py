"""The transitioner: takes units from state to state, by the results of their leases."""

from __future__ import annotations

from collections.abc import Mapping

from backend.protocols.units import trust
from backend.protocols.units.client_table import ClientTable
from backend.protocols.units.leases import Leases
from backend.protocols.units.records import (
    AWAITED,
    TRUSTED,
    UNITS,
    Lease,
    LeaseEvent,
    LeaseState,
    PartialWork,
    UnitEvent,
    UnitRecord,
    UnitState,
)
from backend.protocols.units.rules import Rules, Verdict
from backend.protocols.units.scheduler_effects import (
    Abort,
    Assimilate,
    CreditClient,
    DistrustClient,
    Effect,
    EpochClosed,
    GivenUp,
    Judge,
    LeaseId,
)
from backend.protocols.units.unit_table import UnitTable

_EVENTS = {
    Verdict.VALID: LeaseEvent.FIND_VALID,
    Verdict.INVALID: LeaseEvent.FIND_INVALID,
    Verdict.UNDECIDED: LeaseEvent.FIND_UNDECIDED,
}


class Transitioner:
    """Makes all transitions of units (table `UNITS`), from OPEN until they are over."""

    def __init__(
        self, rules: Rules, client_table: ClientTable, unit_table: UnitTable, leases: Leases
    ) -> None:
        self._rules, self._leases = rules, leases
        self._client_table, self._unit_table = client_table, unit_table

    def take_part(self, unit: UnitRecord, lease: Lease, part: PartialWork | None) -> bool:
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

    def reconsider(self, unit: UnitRecord) -> list[Effect]:
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
            self._unit_table.reserve(unit, "")
            self._unit_table.changed(unit)
            return [Judge(unit.work.unit, pending, ruling)]
        if unit.wanted and len(unit.leases) >= self._rules.most_leases:
            return [GivenUp(unit.work.unit), *self.close(unit, UnitEvent.GIVE_UP)]
        if unit.part and not unit.count(AWAITED):
            unit.part = None
        if all(lease.state is LeaseState.RELEASED for lease in unit.leases):
            # Nothing of it will have to be compared: who is next begins anew.
            unit.base, unit.quorum, unit.check = None, 1, False
            self._unit_table.reserve(unit, "")
        self._unit_table.changed(unit)
        return []

    def judged(self, unit: UnitRecord, verdicts: Mapping[LeaseId, Verdict]) -> list[Effect]:
        """What follows from the comparison of results that was asked for."""
        compared, unit.judging = len(verdicts) + (unit.valid is not None) > 1, ()
        effects: list[Effect] = []
        for lease in (self._leases[one] for one in verdicts):
            verdict = verdicts[lease.id]
            if unit.state is UnitState.DONE and verdict is Verdict.INVALID and not unit.proven:
                # It differs from what nobody else did: either may be wrong.
                verdict = Verdict.UNDECIDED
            self._leases.step(lease, _EVENTS[verdict])
            effects += self._consequence(unit, lease, compared)
        if unit.state is UnitState.JUDGED:
            effects += self._settle(unit)
        return effects + self.reconsider(unit)

    def close(self, unit: UnitRecord, event: UnitEvent) -> list[Effect]:
        """Nothing more is to be done for a unit; who is at work on it may stop."""
        unit.state = UNITS[unit.state][event]
        at_work = [lease for lease in unit.leases if lease.state is LeaseState.LEASED]
        for lease in at_work:
            self._leases.step(lease, LeaseEvent.ABORT)
        self._unit_table.reserve(unit, "")
        self._unit_table.changed(unit)
        effects: list[Effect] = [Abort(lease.client, lease.id) for lease in at_work]
        if unit.epoch == self._unit_table.epoch and not self._unit_table.progress.left:
            tally = self._unit_table.progress.tally()
            effects.append(EpochClosed(unit.epoch, tally.done, tally.failed))
        return effects

    def _call_peer(self, unit: UnitRecord) -> None:
        """A trusted peer does it next, where there is one that did not have it."""
        unit.check = False
        if any(not unit.had(peer) for peer in self._client_table.trusted):
            unit.quorum = max(unit.quorum, len(unit.pending) + 1)
            self._unit_table.reserve(unit, TRUSTED)

    def _consequence(self, unit: UnitRecord, lease: Lease, compared: bool) -> list[Effect]:
        client = self._client_table.clients[lease.client]
        match lease.state:
            case LeaseState.VALID:
                now = trust.after_valid(client.trust, self._rules.trust, compared)
                self._client_table.set_trust(client, now)
                return [CreditClient(lease.client, lease.id, unit.examples)]
            case LeaseState.INVALID:
                self._client_table.set_trust(client, trust.after_invalid(client.trust))
                return [DistrustClient(lease.client, lease.id)]
            case _:
                return []

    def _settle(self, unit: UnitRecord) -> list[Effect]:
        """A unit whose results were judged for the first time is done, or takes one more."""
        valid = [lease for lease in unit.leases if lease.state is LeaseState.VALID]
        if valid and unit.base is not None:
            first = valid[0]
            unit.valid, unit.proven = first.id, len(valid) > 1 or first.rules
            blend = Assimilate(unit.work.unit, first.id, first.client, unit.base)
            return [blend, *self.close(unit, UnitEvent.AGREE)]
        unit.state = UNITS[unit.state][UnitEvent.DISAGREE]
        # What is in doubt is never enough alone, and each doubt takes one result more, at best a peer's.
        unit.quorum, unit.check = max(self._rules.replicas, len(unit.pending) + 1), True
        return []
