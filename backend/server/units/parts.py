"""What a host of work units does within its turns: its parts, what falls due, and what jobs end in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from backend.protocols.units.rules import Verdict
from backend.protocols.units.scheduler_effects import Assimilate, Effect, Judge, LeaseId
from backend.server.hosting.mailbox import Mailbox
from backend.server.units.board.announcements import Announcer
from backend.server.units.dispatcher import Dispatcher
from backend.server.units.effect_runner import UnitEffectRunner
from backend.server.units.epoch_controller import EpochController
from backend.server.units.epoch_record import Epoch
from backend.server.units.evaluation.schedule import EvaluationSchedule
from backend.server.units.event_handler import UnitEventHandler
from backend.server.units.jobs import UnitJobs
from backend.server.units.records import Ended, UnitRecorder
from backend.server.units.results import ResultUploads
from backend.server.units.setup import RestoredState
from backend.server.units.state import Event, UnitsState
from backend.stores.contracts import BlobStore, VersionRecord
from backend.stores.parameters.contract import Receipt


class Workings:
    """Owns the parts that work on `hosted`. Implements Ends.

    `left` is what a server before this one left, `clock` gives the time of day (Unix seconds), `chance` draws
    from [0, 1).
    """

    def __init__(
        self,
        hosted: UnitsState,
        blobs: BlobStore,
        evaluate: bool,
        left: RestoredState,
        clock: Callable[[], float],
        chance: Callable[[], float],
    ) -> None:
        self._state = hosted
        self.mailbox: Mailbox[Event] = Mailbox(hosted.task.file.name, self._turn, self._next_due)
        post = self._post = self.mailbox.put
        self.dealer = Dispatcher(hosted, chance)
        self._results = ResultUploads(hosted)
        self.announcer = Announcer(hosted)
        self._recorder = UnitRecorder(hosted, clock)
        self._jobs = UnitJobs(hosted, post, self)
        self.event_handler = UnitEventHandler(hosted, self.dealer, self._results)
        self._effect_runner = UnitEffectRunner(hosted, self.dealer, self._results, self._jobs)
        self.course = EpochController(
            hosted, self.dealer, self._record, self._effect_runner.forget_unit, clock
        )
        self.course.known(hosted.epoch.number, left.measured, left.reason)
        self._survey = EvaluationSchedule(
            hosted, blobs, self._recorder, self.course, self.announcer, post, evaluate
        )

    async def run(self) -> None:
        """Takes turns until cancelled, then ends what is left."""
        at = self._state
        self._survey.start()
        at.background.spawn(self._begin())
        at.background.spawn(self._recorder.keep_on())
        try:
            await self.mailbox.run()
        finally:
            await at.background.stop()
            self._jobs.stop()
            await at.servers.stop()
            at.snapshots.close()

    def _turn(self, event: Event | None, now: float) -> None:
        at, perform = self._state, self._effect_runner.perform
        if event is not None:
            perform(event(now), now)
            self.announcer.changed(now)
        timer = at.machine.timer()
        if timer is not None and now >= timer:
            perform(at.machine.time_passed(now), now)
            self.announcer.changed(now)
        perform(self.event_handler.stalled(now), now)
        self._results.fill(now)
        while effects := self.course.settle(now):
            perform(effects, now)
        self.dealer.deal(lambda effects: perform(effects, now), now)
        self.announcer.tell(now)

    def _next_due(self) -> float | None:
        at = self._state
        times = (
            at.machine.timer(),
            at.uploads.timer(),
            self.course.timer(),
            self.dealer.timer(asyncio.get_running_loop().time()),
            self.announcer.timer(),
        )
        return min((due for due in times if due is not None), default=None)

    async def _begin(self) -> None:
        at = self._state
        await at.background.stored(lambda: at.servers.begin(at.weights, at.memory, at.base))
        await self._post(lambda _now: self.course.begin())

    # What jobs end in.

    def judged(self, judge: Judge, verdicts: Mapping[LeaseId, Verdict], now: float) -> Sequence[Effect]:
        """See Ends."""
        self._effect_runner.judged(judge, verdicts, now)
        return []

    def assimilated(self, blend: Assimilate, receipt: Receipt, seconds: float) -> Sequence[Effect]:
        """See Ends."""
        self.course.assimilated(blend, receipt, seconds)
        self._effect_runner.tidy(blend.unit)
        self._survey.assimilated(self._state.base)
        return []

    def failed(self, blend: Assimilate, reason: str) -> Sequence[Effect]:
        """See Ends."""
        self._state.blending.discard(blend.unit)
        self._state.works[blend.lease].blending = False
        return self.course.finish(reason, cut=True)

    def _record(self, ended: Ended) -> None:
        self._state.recording += 1
        self._state.background.spawn(self._record_epoch(ended))

    async def _record_epoch(self, ended: Ended) -> None:
        version = await self._recorder.epoch(ended)
        await self._post(lambda _now: self._recorded(ended.epoch, version))
        if version is not None:
            await self._survey.version(version, ended.kept)
        await self._survey.let_go()

    def _recorded(self, epoch: Epoch, version: VersionRecord | None) -> Sequence[Effect]:
        if version is not None:
            self._survey.recorded(version)
        return self.course.recorded(epoch, version.version if version else None)
