"""The effect runner of work units: performs the scheduler's effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from backend.protocols.units import scheduler_effects
from backend.protocols.units.records import LeaseState, UnitRecord, UnitState
from backend.protocols.units.rules import Verdict
from backend.server.observers import task_events
from backend.server.units.assimilator import Assimilator
from backend.server.units.dispatcher import Dispatcher
from backend.server.units.epoch_controller import EpochController
from backend.server.units.provisional.audit_evidence import AuditEvidence
from backend.server.units.provisional.take_outs import TakeOuts
from backend.server.units.results.result_receiver import ENDED
from backend.server.units.results.result_uploads import ResultUploads
from backend.server.units.state import UnitsState
from backend.server.units.validation.validator import ValidationJobs
from backend.wire import unit_messages

NOT_NEEDED = "Others were faster: this is not needed any more."
INVALID = "It differs from other clients' results of the same unit, so it does not count."
DOUBTFUL = "The server could not verify this result. That is not held against you."
DISMISSED = "Another result of yours was wrong, so this one was not checked."
# Leases whose result may still arrive, or is yet to be compared with the valid one.
_TO_COMPARE = frozenset({LeaseState.LEASED, LeaseState.EXPIRED, LeaseState.ABORTED, LeaseState.RETURNED})


class UnitEffectRunner:
    """Performs each effect directly, or starts a job for it."""

    def __init__(
        self,
        state: UnitsState,
        dispatcher: Dispatcher,
        results: ResultUploads,
        validator: ValidationJobs,
        assimilator: Assimilator,
        controller: EpochController,
        take_outs: TakeOuts,
        evidence: AuditEvidence,
    ) -> None:
        self._state = state
        self._dispatcher = dispatcher
        self._results = results
        self._validator = validator
        self._assimilator = assimilator
        self._controller = controller
        self._take_outs, self._evidence = take_outs, evidence

    def perform(self, effects: Iterable[scheduler_effects.Effect], now: float) -> None:
        """Performs `effects` in order."""
        effects = list(effects)
        blends = [effect for effect in effects if isinstance(effect, scheduler_effects.Assimilate)]
        for blend in blends:
            # Reserved first: an earlier effect must not release its vector.
            self._assimilator.reserve(blend)
        blended = {blend.lease for blend in blends}
        for effect in effects:
            match effect:
                case scheduler_effects.GrantLease():
                    self._dispatcher.granted(effect, now)
                case scheduler_effects.LeaseRenewed():
                    seconds = max(0.0, effect.deadline - now)
                    self._state.connected.tell(
                        effect.client, unit_messages.Renewed(lease=effect.lease, seconds=seconds)
                    )
                case scheduler_effects.Abort():
                    self._abort(effect)
                case scheduler_effects.Judge():
                    self._judge(effect, now)
                case scheduler_effects.Assimilate():
                    self._assimilator.start(effect)
                case scheduler_effects.TakeOutResults():
                    self._take_outs.start(effect)
                case scheduler_effects.KeepResults():
                    self._take_outs.keep(effect.client)
                case scheduler_effects.ForgetResult():
                    self._evidence.forget(effect.lease)
                case scheduler_effects.CreditClient():
                    self._credit(effect, effect.lease in blended)
                case scheduler_effects.DistrustClient():
                    self._distrust(effect)
                case scheduler_effects.DismissResult():
                    self._dismiss(effect)
                case scheduler_effects.GivenUp():
                    self.forget_unit(effect.unit)
                case scheduler_effects.UnitDropped():
                    self.forget_unit(effect.unit, "over", ENDED)
                case scheduler_effects.EpochClosed():
                    self._controller.epoch_closed()
                case scheduler_effects.EpochReopened():
                    self._controller.epoch_reopened(effect.units)
                case (
                    scheduler_effects.Wait()
                    | scheduler_effects.RefuseResult()
                    | scheduler_effects.SplitUnit()
                ):
                    pass  # The caller answers the client, if the effect has one.

    def _abort(self, abort: scheduler_effects.Abort) -> None:
        unit = self._unit(self._state.leases[abort.lease].grant.unit)
        reason = ENDED if unit is not None and unit.state is UnitState.DROPPED else NOT_NEEDED
        self._state.connected.tell(abort.client, unit_messages.Drop(lease=abort.lease, reason=reason))
        self._dispatcher.ended(abort.lease)
        self._dispatcher.wants(abort.client)

    def _judge(self, judge: scheduler_effects.Judge, now: float) -> None:
        works = {lease: self._state.leases[lease] for lease in judge.leases}
        alone = len(works) == 1 and judge.valid is None and judge.audited is None
        accepted = alone and self._state.units.trust.comparison == "none"
        if accepted and next(iter(works.values())).fault is None:
            self.perform(
                self._state.scheduler.judged(judge.unit, dict.fromkeys(judge.leases, Verdict.VALID)), now
            )
        else:
            self._validator.start(judge)

    def _credit(self, credit: scheduler_effects.CreditClient, blended: bool) -> None:
        work = self._state.leases[credit.lease]
        frame = unit_messages.Counted(lease=credit.lease, examples=credit.examples, blended=blended)
        work.outcome = frame
        self._state.run.epoch.counted(credit.client, credit.examples)
        self._state.records.changed.set()
        self._state.connected.tell(credit.client, frame)
        self._state.notice(task_events.UnitCounted(credit.client, credit.lease, credit.examples, blended))
        self._dispatcher.tell_standing(credit.client)
        if not blended:
            self._dispatcher.wants(credit.client)
            self.tidy(work.grant.unit)

    def _distrust(self, distrust: scheduler_effects.DistrustClient) -> None:
        work = self._state.leases[distrust.lease]
        code, reason = (work.fault.code, str(work.fault)) if work.fault else ("invalid", INVALID)
        self._results.reject(distrust.client, distrust.lease, code, reason)
        self._state.records.changed.set()
        work.update = None
        self._dispatcher.wants(distrust.client)
        self._dispatcher.tell_standing(distrust.client)

    def _dismiss(self, dismissed: scheduler_effects.DismissResult) -> None:
        self._results.reject(dismissed.client, dismissed.lease, "doubtful", DISMISSED)
        self._state.leases[dismissed.lease].update = None
        self._dispatcher.wants(dismissed.client)

    def judged(
        self,
        judge: scheduler_effects.Judge,
        verdicts: Mapping[scheduler_effects.LeaseId, Verdict],
        now: float,
    ) -> None:
        """Passes the validator's verdicts to the scheduler, if it still waits for them."""
        unit = self._unit(judge.unit)
        if unit is not None and unit.judging:
            self.perform(self._state.scheduler.judged(judge.unit, verdicts), now)
            for lease in unit.leases:
                if lease.id in verdicts and lease.state is LeaseState.UNDECIDED:
                    # It waits for others' results: its client must not wait with it.
                    self._dispatcher.wants(lease.client)
            if unit.state is UnitState.DONE:
                compared = (lease for lease in unit.leases if lease.id in verdicts)
                self._reject_doubtful(lease.id for lease in compared if lease.state is LeaseState.UNDECIDED)
        self.tidy(judge.unit)

    def _reject_doubtful(self, leases: Iterable[scheduler_effects.LeaseId]) -> None:
        """Rejects results that remain undecided: their unit is done, so no further client trains it."""
        for lease in leases:
            work = self._state.leases[lease]
            self._results.reject(work.grant.client, lease, "doubtful", DOUBTFUL)
            self._dispatcher.wants(work.grant.client)

    # Vectors of units.

    def tidy(self, unit: scheduler_effects.UnitId) -> None:
        """Releases the vectors of a unit that no comparison needs any more."""
        record = self._unit(unit)
        if record is None:
            self.forget_unit(unit)
            return
        needed = any(lease.state in _TO_COMPARE for lease in record.leases)
        for lease in self._state.leases.of_unit(unit):
            work = self._state.leases[lease]
            if work.outcome is not None and not (needed and lease == record.valid) and not work.assimilating:
                work.update = work.own = None

    def _unit(self, unit: scheduler_effects.UnitId) -> UnitRecord | None:
        try:
            return self._state.scheduler.unit(unit)
        except KeyError:
            return None  # The scheduler keeps no units of older epochs.

    def forget_unit(
        self, unit: scheduler_effects.UnitId, code: str = "doubtful", reason: str = DOUBTFUL
    ) -> None:
        """Releases a unit that ended without a valid result, and rejects the results that clients sent."""
        self._state.snapshots.release(unit)
        record = self._unit(unit)
        for lease in self._state.leases.of_unit(unit):
            work = self._state.leases[lease]
            if record is not None and lease in record.judging:
                continue
            if work.result is not None and work.outcome is None:
                self._results.reject(work.grant.client, lease, code, reason)
            work.update = work.own = None
