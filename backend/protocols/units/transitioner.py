"""The transitioner: takes units from state to state, by the results of their leases."""

from __future__ import annotations

from collections.abc import Mapping

from backend.protocols.units import trust
from backend.protocols.units.audits.audits import Audits
from backend.protocols.units.audits.provisional_results import ProvisionalResults
from backend.protocols.units.client_table import ClientTable, TableClient
from backend.protocols.units.leases import Leases
from backend.protocols.units.records import (
    AWAITED,
    DISPUTED,
    PENDING,
    TRUSTED,
    UNITS,
    Lease,
    LeaseEvent,
    LeaseState,
    PartialWork,
    UnitEvent,
    UnitRecord,
    UnitState,
    are_blind,
)
from backend.protocols.units.replicas.comparison_draw import ComparisonDraw
from backend.protocols.units.replicas.replica_draw import ReplicaDraw, is_vouched_now
from backend.protocols.units.replicas.weighing import weigh
from backend.protocols.units.rules import Rules, Verdict
from backend.protocols.units.scheduler_effects import (
    Abort,
    Assimilate,
    CreditClient,
    DismissResult,
    DistrustClient,
    Effect,
    EpochClosed,
    EpochReopened,
    GivenUp,
    Judge,
    LeaseId,
)
from backend.protocols.units.unit_table import UnitTable

_EVENTS = {
    Verdict.VALID: LeaseEvent.FIND_VALID,
    Verdict.INVALID: LeaseEvent.FIND_INVALID,
    Verdict.UNDECIDED: LeaseEvent.FIND_UNDECIDED,
    Verdict.FAULTY: LeaseEvent.FIND_INVALID,
}


class Transitioner:
    """Makes all transitions of units (table `UNITS`), from OPEN until they are over."""

    def __init__(
        self, rules: Rules, client_table: ClientTable, unit_table: UnitTable, leases: Leases
    ) -> None:
        self._rules, self._leases = rules, leases
        self._client_table, self._unit_table = client_table, unit_table
        self.replicas = ReplicaDraw(rules, client_table, unit_table)
        self._provisional = ProvisionalResults(rules.trust.provisional)
        self.comparisons = ComparisonDraw(rules, client_table, unit_table, leases, self._provisional)
        self.audits = Audits(rules, client_table, unit_table, leases, self._provisional, self._refuted)

    def allows_part(self, unit: UnitRecord, lease: Lease, part: PartialWork | None) -> bool:
        """Whether a result of `part` of a unit, None for all of it, can be compared with other results.

        A part has to be at least half of the unit, the first part, and no other client may work on it. So a
        rest is at most half of a unit, which bounds how many there are.
        """
        if part == unit.part:
            return True
        others = unit.count(AWAITED) - (lease.state in AWAITED)
        taken = unit.part is not None or unit.audited is not None
        if unit.state is not UnitState.OPEN or others or part is None or taken:
            return False
        rows = unit.work.counted_rows
        return rows <= 2 * part.examples <= 2 * rows

    def take_part(self, unit: UnitRecord, lease: Lease, part: PartialWork | None) -> None:
        """Takes a part that is allowed. Others have to stop at the same step to be compared with it.

        It is always compared, so that a client cannot leave out work unchecked.
        """
        if part == unit.part:
            return
        unit.part = part
        if not lease.by_trusted_peer:
            unit.quorum, unit.check = max(unit.quorum, self._rules.replicas), True

    def reconsider(self, unit: UnitRecord) -> list[Effect]:
        """Returns the effects on a unit after one of its leases changed."""
        unit.wants_copy = False
        if unit.judging:
            return []
        if unit.audited is not None:
            return self.audits.reconsider(unit)
        if unit.state is UnitState.DONE:
            # Late results are compared once with the valid one; undecided ones stay undecided.
            unit.judging = tuple(one.id for one in unit.leases if one.state is LeaseState.RETURNED)
            return [Judge(unit.work.unit, unit.judging, unit.valid)] if unit.judging else []
        if unit.state is not UnitState.OPEN:
            return []
        pending, trusted_result = unit.pending, unit.trusted_result
        if pending and trusted_result is None and (unit.part or len(pending) >= unit.quorum):
            self._secure(unit)
        if trusted_result is None and self.comparisons.hold(unit):
            self._unit_table.changed(unit)
            return []
        if trusted_result is not None or len(pending) >= unit.quorum:
            unit.state, unit.judging = UNITS[unit.state][UnitEvent.JUDGE], pending
            self._unit_table.reserve(unit, "")
            self._unit_table.changed(unit)
            return [Judge(unit.work.unit, pending, trusted_result)]
        if unit.missing_leases and unit.attempts >= self._rules.most_leases:
            return [GivenUp(unit.work.unit), *self.close(unit, UnitEvent.GIVE_UP)]
        if unit.part and not unit.count(AWAITED):
            unit.part = None
        if all(lease.state is LeaseState.RELEASED for lease in unit.leases):
            # There is no result to compare: the next client begins from a new base.
            unit.base, unit.quorum, unit.check = None, 1, False
            self._unit_table.reserve(unit, "")
        self._unit_table.changed(unit)
        self.replicas.draw(unit)
        return []

    def judged(self, unit: UnitRecord, verdicts: Mapping[LeaseId, Verdict]) -> list[Effect]:
        """Returns the effects of a requested comparison."""
        if unit.audited is not None:
            return self.audits.judged(unit, verdicts)
        unit.judging = ()
        effects: list[Effect] = []
        verdicts = self._after_refutations(unit, verdicts)
        weighed = weigh(unit, verdicts, self._leases.__getitem__, self._vouches)
        for name in weighed.outvoted:
            level = self._client_table.clients[name].trust
            self._client_table.set_trust(name, trust.after_doubt(level, self._rules.trust))
        for lease in (self._leases[one] for one in verdicts):
            verdict = weighed.verdicts[lease.id]
            self._leases.step(lease, _EVENTS[verdict])
            effects += self._consequence(unit, lease, verdict, bool(weighed.vouchers - {lease.id}))
        if unit.state is UnitState.JUDGED:
            effects += self._settle(unit)
        return [*effects, *self.reconsider(unit), *self._free_held(unit)]

    def _after_refutations(
        self, unit: UnitRecord, verdicts: Mapping[LeaseId, Verdict]
    ) -> Mapping[LeaseId, Verdict]:
        """Leaves a single result undecided if another one of its client was refuted meanwhile."""
        if len(verdicts) > 1 or unit.valid is not None or self._rules.replicas == 1:
            return verdicts
        ((number, verdict),) = verdicts.items()
        lease = self._leases[number]
        refuted = self._client_table.clients[lease.client].trust.faults and not lease.by_trusted_peer
        return {number: Verdict.UNDECIDED} if refuted and verdict is Verdict.VALID else verdicts

    def close(self, unit: UnitRecord, event: UnitEvent) -> list[Effect]:
        """Closes a unit; clients that work on it may stop."""
        unit.state = UNITS[unit.state][event]
        at_work = [lease for lease in unit.leases if lease.state is LeaseState.LEASED]
        for lease in at_work:
            self._leases.step(lease, LeaseEvent.ABORT)
        for lease in unit.leases:
            client = self._client_table.clients[lease.client]
            self._client_table.comparison_ended(client, lease.id, lease.household)
        self._unit_table.reserve(unit, "")
        self._unit_table.changed(unit)
        effects: list[Effect] = [Abort(lease.client, lease.id) for lease in at_work]
        if unit.epoch == self._unit_table.epoch and not self._unit_table.progress.remaining:
            effects.append(self._end_epoch(event))
        return effects + self._free_held(unit)

    def _free_held(self, unit: UnitRecord) -> list[Effect]:
        """Returns the effects on results that waited for the verdicts on this unit, or for its end."""
        return [effect for held in self.comparisons.freed(unit) for effect in self.reconsider(held)]

    def _end_epoch(self, event: UnitEvent) -> Effect:
        """Closes the epoch whose last unit is over; begins it again if all of them were given up."""
        epoch, tally = self._unit_table.epoch, self._unit_table.progress.tally()
        if event is not UnitEvent.GIVE_UP or tally.done:
            return EpochClosed(epoch, tally.done, tally.failed)
        for unit in self._unit_table.reopen():
            self._leases.forget(unit.leases)
        return EpochReopened(epoch, tally.failed)

    def _secure(self, unit: UnitRecord) -> None:
        """Asks for one more result where those of strangers must not decide yet, if somebody can give it."""
        pending = [self._leases[one] for one in unit.pending]
        if unit.check:
            self._request_peer(unit, TRUSTED)
        elif len(pending) > 1 and not are_blind(pending) and self.replicas.may_ask_another(unit):
            unit.quorum = len(pending) + 1

    def _request_peer(self, unit: UnitRecord, why: str) -> None:
        """Reserves the unit for a trusted peer that did not have it, if there is one."""
        unit.check = False
        if self.replicas.has_peer(unit):
            unit.quorum = max(unit.quorum, len(unit.pending) + 1)
            self._unit_table.reserve(unit, why)

    def _vouches(self, lease: Lease) -> bool:
        """Whether agreement with its result raises trust."""
        table = self._client_table
        if not self._rules.trust.guarded or lease.by_trusted_peer:
            return True
        suspended = table.households.is_suspended(lease.household, self._unit_table.now)
        return trust.is_vouched(table.clients[lease.client].trust) and not suspended

    def _consequence(self, unit: UnitRecord, lease: Lease, verdict: Verdict, compared: bool) -> list[Effect]:
        client = self._client_table.clients[lease.client]
        match verdict:
            case Verdict.VALID:
                now = trust.after_valid(client.trust, self._rules.trust, compared)
                newly = is_vouched_now(client.trust, now)
                self._client_table.set_trust(lease.client, now)
                if newly:
                    self.replicas.redraw()
                return [CreditClient(lease.client, lease.id, unit.examples)]
            case Verdict.FAULTY:
                self._client_table.set_trust(lease.client, trust.after_faulty(client.trust))
                return [DistrustClient(lease.client, lease.id)]
            case Verdict.INVALID:
                return [DistrustClient(lease.client, lease.id), *self._refuted(lease)]
            case _:
                return []

    def _refuted(self, lease: Lease) -> list[Effect]:
        """Takes that a trusted peer refuted the result of a lease, which may be of an earlier epoch."""
        client = self._client_table.clients[lease.client]
        self._client_table.set_trust(lease.client, trust.after_invalid(client.trust))
        self._client_table.households.suspend(lease.household, self._unit_table.now)
        return [*self._provisional.refuted(lease.client), *self._dismiss(client)]

    def _dismiss(self, client: TableClient) -> list[Effect]:
        """Dismisses the waiting results of a refuted client: trusted peers need not look at each."""
        effects: list[Effect] = []
        for lease in [self._leases[one] for one in sorted(client.unproved | client.disputed | client.held)]:
            unit = self._unit_table.units[lease.unit]
            if unit.state is UnitState.OPEN and not unit.judging and lease.state in PENDING:
                effects += [self._dismissed(unit, lease), *self.reconsider(unit)]
        return effects

    def _dismissed(self, unit: UnitRecord, lease: Lease) -> Effect:
        self._leases.step(lease, LeaseEvent.DISMISS)
        unit.quorum = max(self._rules.replicas, len(unit.pending))
        self._unit_table.reserve(unit, "")
        return DismissResult(lease.client, lease.id)

    def _blend(self, unit: UnitRecord, first: Lease, valid: list[Lease], base: int) -> list[Effect]:
        """Returns the effects of blending the result of `first`, with which the other `valid` ones agree."""
        confirmed = any(lease.by_trusted_peer for lease in valid)
        if confirmed or not self._provisional.has_room(first.client):
            if confirmed:
                self._provisional.confirmed(first)
            return [Assimilate(unit.work.unit, first.id, first.client, base)]
        blend = Assimilate(unit.work.unit, first.id, first.client, base, provisional=True)
        return [*self._provisional.blended(unit, first), blend]

    def _settle(self, unit: UnitRecord) -> list[Effect]:
        """After the first comparison of a unit: closes it, or requests one more result."""
        valid = [lease for lease in unit.leases if lease.state is LeaseState.VALID]
        if valid and unit.base is not None:
            first = valid[0]
            unit.valid, unit.proven = first.id, len(valid) > 1 or first.by_trusted_peer
            self._unit_table.add_rest(unit)
            return [*self._blend(unit, first, valid, unit.base), *self.close(unit, UnitEvent.AGREE)]
        unit.state = UNITS[unit.state][UnitEvent.DISAGREE]
        # Undecided results never suffice; each needs one more result, preferably a trusted peer's.
        pending, clients = [self._leases[one] for one in unit.pending], self._client_table.clients
        refuted = [one for one in pending if clients[one.client].trust.faults]
        if len(refuted) < len(pending) > 1 and refuted:
            # Trusted peers need not decide between a refuted client and another one.
            return [self._dismissed(unit, one) for one in refuted]
        unit.quorum = max(self._rules.replicas, len(pending) + 1)
        for lease in pending:
            clients[lease.client].disputed.add(lease.id)
        self._request_peer(unit, DISPUTED)
        return []
