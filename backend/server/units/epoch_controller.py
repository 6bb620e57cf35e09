"""The course of a task of work units: epochs begin and close, and the rules end it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import fmean

from backend.protocols.units.records import CLOSED
from backend.protocols.units.scheduler_effects import Assimilate, Effect, UnitId
from backend.server.observers import task_events
from backend.server.units.checkpoint_codec import content_of
from backend.server.units.dispatcher import Dispatcher
from backend.server.units.epoch_record import Epoch
from backend.server.units.evaluation.measurement import EvaluationResult
from backend.server.units.records import Ended, EpochSnapshot
from backend.server.units.state import Credited, LeasedWork, UnitsState
from backend.server.units.work_generator import works_of
from backend.stores.contracts import AssimilationRecord, EvaluationRecord
from backend.stores.parameters.contract import Receipt
from backend.wire import unit_messages

CUT = "The owner paused this training: this unit is not needed now."
DONE = "All epochs are done."


@dataclass
class _Measured:
    """Measurements of an epoch: those asked for, and those found. `version` is what it made, if recorded."""

    asked: int = 0
    found: list[EvaluationRecord] = field(default_factory=list)
    version: int | None = None


class EpochController:
    """Begins an epoch when the one before closed, until the task is over.

    `record` has an epoch that closed written down; its version comes back by `recorded`. `forget` lets go of
    what is kept of a unit. `clock` gives the time of day (Unix seconds).
    """

    def __init__(
        self,
        hosted: UnitsState,
        dealer: Dispatcher,
        record: Callable[[Ended], None],
        forget: Callable[[UnitId], None],
        clock: Callable[[], float],
    ) -> None:
        self._state = hosted
        self._dealer = dealer
        self._record = record
        self._forget = forget
        self._clock = clock
        self._measured: dict[int, _Measured] = {}
        self._reason = ""

    def begin(self) -> list[Effect]:
        """The server starts: the task goes on, or is over."""
        self._state.begun = True
        if not self._state.machine.left and self._state.epoch.number > self._state.history.round:
            # It closed, and that is not recorded yet.
            self._state.closed = True
            return []
        if reason := self.reason():
            return self._over(reason)
        return [] if self._state.machine.left else self._begin_epoch()

    def reason(self) -> str | None:
        """Why no more epochs follow; None while they do."""
        at = self._state
        # The epoch that is open was not gone through yet.
        gone = at.epoch.number if at.closed or not at.machine.left else at.epoch.number - 1
        if gone >= at.units.epochs:
            return DONE
        return at.ending or at.progress.reason()

    def assimilated(self, blend: Assimilate, receipt: Receipt, seconds: float) -> None:
        """A result is in the model."""
        at, work = self._state, self._state.works[blend.lease]
        at.blending.discard(blend.unit)
        work.blending = False
        at.snapshots.release(blend.unit)
        self._dealer.wants(blend.client)
        if receipt.base > at.base:
            at.base, at.weights, at.memory = receipt.base, receipt.weights, receipt.memory
        examples = at.machine.unit(blend.unit).examples
        if work.result is not None:
            at.epoch.assimilated(blend.client, work.result, examples)
            at.notice(task_events.UpdateAccepted(blend.client, work.epoch, examples, "epoch"))
        at.notice(task_events.ResultAssimilated(work.epoch, blend.unit, receipt.staleness, seconds))
        at.number += 1
        at.rows.append(_row(at.number, work, examples, receipt, self._clock()))
        at.changed.set()

    def settle(self, now: float) -> list[Effect]:
        """Looked at in every turn: what follows from where everything is."""
        at = self._state
        if not at.begun or at.finished or (at.closed and at.blending):
            return []
        if at.closed:
            return self._close(now)
        if self._is_to_end(now):
            return self._cut(self.reason() or "The time is over.")
        return []

    def timer(self) -> float | None:
        """When the task's time is over."""
        at, rules = self._state, self._state.progress.rules
        if rules.seconds is None or at.epoch.began is None or at.finished or at.closed:
            return None
        return at.epoch.began + max(0.0, rules.seconds - at.progress.spent - at.epoch.seconds)

    def _is_to_end(self, now: float) -> bool:
        at, rules = self._state, self._state.progress.rules
        # Who sent a result gets the next unit when it is blended: until then it is at work still.
        idle = not (self._dealer.busy or at.blending)
        nobody = at.held or not any(one.slots for one in at.members.values())
        if at.progress.reason() or (at.ending is not None and idle and nobody):
            return True
        if rules.seconds is not None and at.progress.spent + at.epoch.lasted(now) >= rules.seconds:
            at.ending = f"The epochs lasted {rules.seconds:g} seconds, as long as they may."
            return True
        return False

    # For the owner.

    def pause(self, cut: str | None) -> list[Effect]:
        """No unit is handed out from now on; those at work still count, or are given up where it is `cut`."""
        self._state.held = True
        effects: list[Effect] = []
        if cut is not None:
            for lease, work in self._dealer.all_open():
                if work.result is None and not work.over:
                    self._state.connected.tell(work.grant.client, unit_messages.Drop(lease=lease, reason=CUT))
                    work.over = True
                    self._dealer.ended(lease)
                    self._dealer.wants(work.grant.client)
                    effects += self._state.machine.released(work.grant.client, lease)
        return effects

    def resume(self) -> list[Effect]:
        """Units are handed out again, also where the owner had ended the task."""
        at = self._state
        at.held, at.ending = False, None
        self._dealer.again()
        if at.finished is None or self.reason():
            return []
        at.finished = None
        return self._begin_epoch()

    def finish(self, reason: str, cut: bool) -> list[Effect]:
        """Ends the task when the open epoch is gone through, or at once."""
        at = self._state
        if at.finished:
            return []
        at.ending = at.ending or reason
        return self._cut(reason) if cut and at.begun and not at.closed else []

    # Epochs.

    def _begin_epoch(self) -> list[Effect]:
        at = self._state
        number = at.epoch.number + 1
        # The one before it makes a version, but may not be written down yet.
        at.epoch = Epoch(number, at.history.current.version + (at.epoch.number > at.history.round))
        at.closed = False
        effects = at.machine.begin_epoch(works_of(at.task, number, at.machine.next_unit))
        self._dealer.forget(number - 1)
        at.notice(task_events.RoundOpened(number, at.epoch.version, len(at.members), "epoch"))
        self._dealer.again()
        at.changed.set()
        return effects

    def _close(self, now: float) -> list[Effect]:
        """The epoch is over, with all its results in the model."""
        at, epoch = self._state, self._state.epoch
        at.progress.spent += epoch.lasted(now)
        self._measured.setdefault(epoch.number, _Measured())
        for client, given in epoch.given.items():
            known = at.credits.get(client, Credited())
            at.credits[client] = Credited(known.units + given.accepted, known.examples + given.examples)
        reason, self._reason = self._reason, ""
        over = self.reason()
        effects = [] if over else self._begin_epoch()
        if over:
            # What is said of it waits until it is recorded.
            at.begun = False
        if epoch.given:
            # As it stands now: what is blended into the next epoch from here on is not in the version.
            content = content_of(at, (), now)
            kept = EpochSnapshot(at.base, at.weights, at.memory, content, at.number, at.epoch.number)
            self._record(Ended(epoch, reason, now, kept))
        elif over:
            effects += self._over(over)
        return effects

    def recorded(self, epoch: Epoch, version: int | None) -> list[Effect]:
        """A closed epoch is written down, with the version that it made."""
        at = self._state
        measured = self._measured[epoch.number]
        if version is None:
            del self._measured[epoch.number]
        else:
            measured.version = version
            self._look_at(epoch.number)
        if not at.closed or at.epoch is not epoch:
            return []
        if reason := self.reason():
            return self._over(reason)
        at.begun = True
        return self._begin_epoch()

    def _cut(self, reason: str) -> list[Effect]:
        """The epoch is over now."""
        at = self._state
        self._reason = reason
        effects: list[Effect] = []
        for unit in list(at.machine.units()):
            if unit.state not in CLOSED:
                effects += at.machine.drop(unit.work.unit)
                self._forget(unit.work.unit)
        return effects

    def _over(self, reason: str) -> list[Effect]:
        at = self._state
        at.begun, at.closed, at.finished = True, True, reason
        at.notice(task_events.TaskFinished(at.history.current.version, reason))
        self._dealer.again()
        return []

    # Measurements.

    def known(self, epoch: int, found: list[EvaluationRecord], reason: str) -> None:
        """The open epoch from before the server began again: its measurements, and why it is over, if so."""
        self._measured[epoch] = _Measured(found=found)
        self._reason = reason

    def asked(self, epoch: int) -> None:
        """A measurement of an epoch was asked for."""
        self._measured.setdefault(epoch, _Measured()).asked += 1

    def found(self, found: EvaluationResult) -> None:
        """What came of one."""
        epoch = self._measured.get(found.asked.epoch)
        if epoch is None:
            return
        epoch.asked -= 1
        if found.evaluation is not None:
            epoch.found.append(found.evaluation)
        self._look_at(found.asked.epoch)

    def _look_at(self, number: int) -> None:
        """An epoch of which all is measured is shown to the rules: by the mean of its measurements."""
        epoch = self._measured[number]
        if epoch.version is None or epoch.asked:
            return
        del self._measured[number]
        if not epoch.found:
            return
        names = epoch.found[0].metrics
        means = {name: fmean(one.metrics[name] for one in epoch.found) for name in names}
        loss = fmean(one.loss for one in epoch.found)
        self._state.progress.measured(epoch.version, "server", loss, means)
        self._state.means.append(EvaluationRecord(epoch.version, loss, means))
        self._state.changed.set()


def _row(number: int, work: LeasedWork, examples: int, receipt: Receipt, at: float) -> AssimilationRecord:
    grant = work.grant
    return AssimilationRecord(
        number=number,
        epoch=work.epoch,
        unit=grant.unit,
        shard=grant.shard,
        first=grant.first,
        examples=examples,
        client=grant.client,
        kind=work.kind,
        backend=work.backend,
        base=grant.base,
        staleness=receipt.staleness,
        seconds=(work.came or work.began) - work.began,
        lost=receipt.lost,
        at=at,
    )
