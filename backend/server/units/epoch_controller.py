"""The epoch controller: begins and closes epochs of work units, until the stop rules end the task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import fmean

from backend.protocols.units.records import CLOSED
from backend.protocols.units.scheduler_effects import Effect, UnitDropped
from backend.server.observers import task_events
from backend.server.units.dispatcher import Dispatcher
from backend.server.units.epoch_record import Epoch
from backend.server.units.evaluation.measurement import EvaluationResult
from backend.server.units.records import ClosedEpoch, snapshot_of
from backend.server.units.state import UnitsState
from backend.server.units.work_generator import units_of_epoch
from backend.stores.contracts import EvaluationRecord
from backend.wire import unit_messages

CUT = "The owner paused this training: this unit is not needed now."
DONE = "All epochs are done."


@dataclass
class _EpochEvaluations:
    """Evaluations of an epoch: the number `pending`, and `results`. `version` is set once it is recorded."""

    pending: int = 0
    results: list[EvaluationRecord] = field(default_factory=list)
    version: int | None = None


class EpochController:
    """Begins an epoch after the previous one closed, until the task is over.

    `record` starts a job that records a closed epoch; `recorded` then receives its version.
    """

    def __init__(
        self,
        state: UnitsState,
        dispatcher: Dispatcher,
        record: Callable[[ClosedEpoch], None],
    ) -> None:
        self._state = state
        self._dispatcher = dispatcher
        self._record = record
        self._evaluations: dict[int, _EpochEvaluations] = {}
        self._reason, self._skips_audits = "", False

    def begin(self) -> list[Effect]:
        """Begins the run, or ends it, when the parameter servers are ready."""
        self._state.run.begun = True
        if not self._state.scheduler.remaining and self._state.run.epoch.number > self._state.history.round:
            # It closed, but is not recorded yet.
            self._state.run.closed = True
            return []
        if reason := self.reason():
            return self._over(reason)
        return [] if self._state.scheduler.remaining else self._begin_epoch()

    def reason(self) -> str | None:
        """Returns the reason why no further epoch follows; None if one does."""
        state = self._state
        # Each epoch with a result made a version; others, and the open one, do not count.
        is_over = state.run.closed or not state.scheduler.remaining
        if state.run.epoch.version + (is_over and state.run.epoch.blended > 0) >= state.units.epochs:
            return DONE
        return state.run.ending or state.progress.reason()

    def epoch_closed(self) -> None:
        """Marks the epoch as closed: all units are over, though results may still wait for assimilation."""
        self._state.run.closed = True

    def epoch_reopened(self, units: int) -> None:
        """Continues an epoch without a result: all its units were abandoned, and are open again."""
        state = self._state
        state.notice(task_events.EpochRestarted(state.run.epoch.number, units))
        self._dispatcher.wake()
        state.records.changed.set()

    def settle(self, now: float) -> list[Effect]:
        """Closes the epoch, or ends the task by its rules, if the state after an event requires it."""
        state = self._state
        if not state.run.begun or state.run.finished or (state.run.closed and state.model.is_changing):
            return []
        if state.run.closed:
            return [] if self._must_audit() else self._close(now)
        if self._must_end(now):
            return self._cut(self.reason() or "The time is over.")
        return []

    def timer(self) -> float | None:
        """Returns the time at which the task's seconds are used up; None if no such time is due."""
        state, rules = self._state, self._state.progress.rules
        if rules.seconds is None or state.run.epoch.began is None or state.run.finished or state.run.closed:
            return None
        return state.run.epoch.began + max(
            0.0, rules.seconds - state.progress.spent - state.run.epoch.seconds
        )

    def _must_end(self, now: float) -> bool:
        state, rules = self._state, self._state.progress.rules
        # A client gets its next unit when its result is assimilated: until then it counts as busy.
        idle = not (self._dispatcher.busy or state.model.is_changing)
        inactive = state.run.paused or not any(member.slots for member in state.clients.members.values())
        if state.progress.reason() or (state.run.ending is not None and idle and inactive):
            return True
        if rules.seconds is not None and state.progress.spent + state.run.epoch.lasted(now) >= rules.seconds:
            state.run.ending = f"The epochs lasted {rules.seconds:g} seconds, their limit."
            return True
        return False

    def _must_audit(self) -> bool:
        """Whether a training that ends waits for audits: as long as trusted peers are there to do them."""
        state, trusted = self._state, self._state.units.trust.trusted
        if self._skips_audits or self.reason() is None:
            return False
        if not state.run.auditing:
            state.run.auditing = True
            state.scheduler.begin_audits()
            self._dispatcher.wake()
        members = state.clients.members
        peers = [members[name] for name in trusted if name in members]
        has_peer = any(peer.ready and peer.slots for peer in peers)
        return has_peer and bool(state.scheduler.audits)

    # For the owner.

    def pause(self, cut: str | None) -> list[Effect]:
        """Stops granting leases. Open ones still count, unless `cut` gives a reason to drop them."""
        self._state.run.paused = True
        effects: list[Effect] = []
        if cut is not None:
            for lease, work in self._dispatcher.all_open():
                if work.result is None and not work.over:
                    self._state.connected.tell(work.grant.client, unit_messages.Drop(lease=lease, reason=CUT))
                    work.over = True
                    self._dispatcher.ended(lease)
                    self._dispatcher.wants(work.grant.client)
                    effects += self._state.scheduler.recalled(work.grant.client, lease)
        return effects

    def resume(self) -> list[Effect]:
        """Grants leases again, also after the owner ended the task."""
        state = self._state
        state.run.paused, state.run.ending, state.run.wait_at_end = False, None, False
        self._skips_audits = False
        self._dispatcher.wake()
        if state.run.finished is None or self.reason():
            return []
        state.run.finished = None
        return self._begin_epoch()

    def finish(self, reason: str, cut: bool, wait: bool = False) -> list[Effect]:
        """Ends the task when the open epoch closes, or immediately if `cut`.

        With `wait`, clients wait for the task to be resumed.
        """
        state = self._state
        state.run.wait_at_end = wait
        if state.run.finished:
            return []
        state.run.ending = state.run.ending or reason
        self._skips_audits = self._skips_audits or cut
        return self._cut(reason) if cut and state.run.begun and not state.run.closed else []

    # Epochs.

    def _begin_epoch(self) -> list[Effect]:
        state, previous = self._state, self._state.run.epoch
        number, version = previous.number + 1, state.history.current.version
        if previous.number > state.history.round:
            # It is not recorded yet, nor perhaps are epochs before it.
            version = previous.version + (previous.blended > 0)
        state.run.epoch = Epoch(number, version)
        state.run.closed = False
        effects = state.scheduler.begin_epoch(units_of_epoch(state.task, number, state.scheduler.next_unit))
        self._dispatcher.forget(number - 1)
        state.notice(
            task_events.RoundOpened(number, state.run.epoch.version, len(state.clients.members), "epoch")
        )
        self._dispatcher.wake()
        state.records.changed.set()
        return effects

    def _close(self, now: float) -> list[Effect]:
        """The epoch is over, with all its results in the model: it is recorded, and the next one begins."""
        state, epoch = self._state, self._state.run.epoch
        state.progress.spent += epoch.lasted(now)
        state.run.auditing = False
        self._evaluations.setdefault(epoch.number, _EpochEvaluations())
        state.clients.add_credits(epoch.given)
        reason, self._reason = self._reason, ""
        end_reason = self.reason()
        effects = [] if end_reason else self._begin_epoch()
        if end_reason:
            # The task finishes when the epoch is recorded.
            state.run.begun = False
            effects += state.scheduler.drop_audits()
        if epoch.given:
            # The snapshot is taken now, so that results of the next epoch are not in the version.
            self._record(ClosedEpoch(epoch, reason, now, snapshot_of(state, (), now)))
        elif end_reason:
            effects += self._over(end_reason)
        return effects

    def recorded(self, epoch: Epoch, version: int | None) -> list[Effect]:
        """Notes that a closed epoch is recorded, with its version; None if it made none."""
        state = self._state
        evaluations = self._evaluations[epoch.number]
        if version is None:
            del self._evaluations[epoch.number]
        else:
            evaluations.version = version
            self._apply(epoch.number)
        if not state.run.closed or state.run.epoch is not epoch:
            return []
        if reason := self.reason():
            return self._over(reason)
        state.run.begun = True
        return self._begin_epoch()

    def _cut(self, reason: str) -> list[Effect]:
        """Drops the open units, so that the epoch closes."""
        state = self._state
        self._reason = reason
        open_units = [unit.work.unit for unit in state.scheduler.units() if unit.state not in CLOSED]
        dropped = [effect for unit in open_units for effect in state.scheduler.drop(unit)]
        # First the vectors of these units are released and their clients notified.
        return [*map(UnitDropped, open_units), *dropped]

    def _over(self, reason: str) -> list[Effect]:
        state = self._state
        state.run.begun, state.run.closed, state.run.finished = True, True, reason
        state.notice(task_events.TaskFinished(state.history.current.version, reason))
        self._dispatcher.wake()
        return []

    # Evaluations.

    def restore(self, epoch: int, evaluations: list[EvaluationRecord], reason: str) -> None:
        """Restores the evaluations of the epoch that was open before a restart, and why it ended, if so."""
        self._evaluations[epoch] = _EpochEvaluations(results=list(evaluations))
        self._reason = reason

    def evaluation_started(self, epoch: int) -> None:
        """Counts a pending evaluation of an epoch."""
        self._evaluations.setdefault(epoch, _EpochEvaluations()).pending += 1

    def evaluated(self, result: EvaluationResult) -> None:
        """Adds the result of an evaluation that ended."""
        epoch = self._evaluations.get(result.request.epoch)
        if epoch is None:
            return
        epoch.pending -= 1
        if result.evaluation is not None:
            epoch.results.append(result.evaluation)
        self._apply(result.request.epoch)

    def _apply(self, number: int) -> None:
        """Passes the mean of an epoch's evaluations to the stop rules, once all have ended."""
        epoch = self._evaluations[number]
        if epoch.version is None or epoch.pending:
            return
        del self._evaluations[number]
        if not epoch.results:
            return
        names = epoch.results[0].metrics
        means = {name: fmean(result.metrics[name] for result in epoch.results) for name in names}
        loss = fmean(result.loss for result in epoch.results)
        self._state.progress.measured(epoch.version, "server", loss, means)
        self._state.records.add_mean(EvaluationRecord(epoch.version, loss, means))
