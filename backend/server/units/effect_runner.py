"""What the scheduler of work units decides, done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from backend.protocols.units import scheduler_effects
from backend.protocols.units.records import LeaseState, UnitRecord, UnitState
from backend.protocols.units.rules import Verdict
from backend.server.observers import task_events
from backend.server.units.dispatcher import Dispatcher
from backend.server.units.jobs import UnitJobs
from backend.server.units.results import ResultUploads
from backend.server.units.state import UnitsState
from backend.wire import unit_messages

NOT_NEEDED = "Others were faster: this is not needed any more."
INVALID = "It is unlike what others made of the same unit, so that it does not count."
DOUBTFUL = "It could not be told whether this result is right. That says nothing about you."
# Of leases in these states a result may still come, or waits to be compared with the valid one.
_TO_COMPARE = frozenset({LeaseState.LEASED, LeaseState.EXPIRED, LeaseState.ABORTED, LeaseState.RETURNED})


@dataclass
class UnitEffectRunner:
    """Performs effects: at once, or by starting a job."""

    at: UnitsState
    dealer: Dispatcher
    results: ResultUploads
    jobs: UnitJobs

    def perform(self, effects: Iterable[scheduler_effects.Effect], now: float) -> None:
        """Performs `effects` in their order."""
        found = list(effects)
        blended = {one.lease for one in found if isinstance(one, scheduler_effects.Assimilate)}
        for blend in (one for one in found if isinstance(one, scheduler_effects.Assimilate)):
            # What comes before it must not let go of its vector.
            self.at.works[blend.lease].blending = True
            self.at.blending.add(blend.unit)
        for effect in found:
            match effect:
                case scheduler_effects.GrantLease():
                    self.dealer.granted(effect, now)
                case scheduler_effects.LeaseRenewed():
                    seconds = max(0.0, effect.deadline - now)
                    self.at.connected.tell(
                        effect.client, unit_messages.Renewed(lease=effect.lease, seconds=seconds)
                    )
                case scheduler_effects.Abort():
                    self._abort(effect)
                case scheduler_effects.Judge():
                    self._judge(effect, now)
                case scheduler_effects.Assimilate():
                    self.jobs.assimilate(effect)
                case scheduler_effects.CreditClient():
                    self._credit(effect, effect.lease in blended)
                case scheduler_effects.DistrustClient():
                    self._distrust(effect)
                case scheduler_effects.GivenUp():
                    self.forget_unit(effect.unit)
                case scheduler_effects.EpochClosed():
                    # Results of it may still wait to be blended.
                    self.at.closed = True
                case (
                    scheduler_effects.Wait()
                    | scheduler_effects.RefuseResult()
                    | scheduler_effects.SplitUnit()
                ):
                    pass  # Told, where it is for somebody, by who asked.

    def _abort(self, abort: scheduler_effects.Abort) -> None:
        self.at.connected.tell(abort.client, unit_messages.Drop(lease=abort.lease, reason=NOT_NEEDED))
        self.dealer.ended(abort.lease)
        self.dealer.wants(abort.client)

    def _judge(self, judge: scheduler_effects.Judge, now: float) -> None:
        works = {lease: self.at.works[lease] for lease in judge.leases}
        alone = len(works) == 1 and judge.valid is None
        believed = alone and self.at.units.trust.comparison == "none"
        if believed and next(iter(works.values())).fault is None:
            self.perform(self.at.machine.judged(judge.unit, self.jobs.verdict_of_one(judge)), now)
        else:
            self.jobs.judge(judge)

    def _credit(self, credit: scheduler_effects.CreditClient, blended: bool) -> None:
        work = self.at.works[credit.lease]
        frame = unit_messages.Counted(lease=credit.lease, examples=credit.examples, blended=blended)
        work.outcome = frame
        self.at.epoch.counted(credit.client, credit.examples)
        self.at.changed.set()
        self.at.connected.tell(credit.client, frame)
        self.at.notice(task_events.UnitCounted(credit.client, credit.lease, credit.examples, blended))
        self.dealer.tell_standing(credit.client)
        if not blended:
            self.dealer.wants(credit.client)
            self.tidy(work.grant.unit)

    def _distrust(self, distrust: scheduler_effects.DistrustClient) -> None:
        work = self.at.works[distrust.lease]
        code, reason = (work.fault.code, str(work.fault)) if work.fault else ("invalid", INVALID)
        self.results.reject(distrust.client, distrust.lease, code, reason)
        self.at.changed.set()
        work.update = None
        self.dealer.wants(distrust.client)
        self.dealer.tell_standing(distrust.client)

    def judged(
        self,
        judge: scheduler_effects.Judge,
        verdicts: Mapping[scheduler_effects.LeaseId, Verdict],
        now: float,
    ) -> None:
        """A comparison is done."""
        known = self._unit(judge.unit)
        if known is not None and known.judging:
            self.perform(self.at.machine.judged(judge.unit, verdicts), now)
            if known.state is UnitState.DONE:
                judged = (lease for lease in known.leases if lease.id in verdicts)
                self._tell_doubtful(one.id for one in judged if one.state is LeaseState.UNDECIDED)
        self.tidy(judge.unit)

    def _tell_doubtful(self, leases: Iterable[scheduler_effects.LeaseId]) -> None:
        """They stay in doubt: their unit is done, and nobody else will do it."""
        for lease in leases:
            work = self.at.works[lease]
            self.results.reject(work.grant.client, lease, "doubtful", DOUBTFUL)
            self.dealer.wants(work.grant.client)

    # What is kept of units.

    def tidy(self, unit: scheduler_effects.UnitId) -> None:
        """Lets go of vectors of a unit that nothing is compared with any more."""
        known = self._unit(unit)
        if known is None:
            self.forget_unit(unit)
            return
        needed = any(lease.state in _TO_COMPARE for lease in known.leases)
        for lease in self.at.of_unit.get(unit, ()):
            work = self.at.works[lease]
            if work.outcome is not None and not (needed and lease == known.valid) and not work.blending:
                work.update = work.own = None

    def _unit(self, unit: scheduler_effects.UnitId) -> UnitRecord | None:
        try:
            return self.at.machine.unit(unit)
        except KeyError:
            return None  # It was of an epoch long over.

    def forget_unit(self, unit: scheduler_effects.UnitId) -> None:
        """It is over without a result: who sent one hears that it does not count, and is at no fault."""
        self.at.snapshots.release(unit)
        known = self._unit(unit)
        for lease in self.at.of_unit.get(unit, ()):
            work = self.at.works[lease]
            if known is not None and lease in known.judging:
                continue
            if work.result is not None and work.outcome is None:
                self.results.reject(work.grant.client, lease, "doubtful", DOUBTFUL)
            work.update = work.own = None
