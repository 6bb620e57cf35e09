"""Which weights are measured on held-out examples, and what becomes of what is found."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from backend.protocols.units.scheduler_effects import Effect
from backend.server.units.board.announcements import Announcer
from backend.server.units.epoch_controller import EpochController
from backend.server.units.evaluation.measurement import EvaluationRequest, EvaluationResult, UnitEvaluators
from backend.server.units.records import EpochSnapshot, UnitRecorder
from backend.server.units.state import Event, UnitsState
from backend.stores.contracts import BlobStore, VersionRecord


class EvaluationSchedule:
    """Owns the measuring of one task, where it is `evaluate`d. `post` puts an event into the host's inbox."""

    def __init__(
        self,
        hosted: UnitsState,
        blobs: BlobStore,
        recorder: UnitRecorder,
        course: EpochController,
        announcer: Announcer,
        post: Callable[[Event], Awaitable[None]],
        evaluate: bool,
    ) -> None:
        self._state = hosted
        self._blobs = blobs
        self._recorder = recorder
        self._course = course
        self._announcer = announcer
        self._post = post
        task, self._measuring = hosted.task, None
        if evaluate and task.shards.holdout:
            self._measuring = UnitEvaluators(
                task.bundle.folder, task.shards.holdout, task.file.name, self._measured
            )

    def start(self) -> None:
        """Begins what goes on as long as the host does."""
        if self._measuring is not None:
            for task in self._measuring.tasks():
                self._state.background.spawn(task)
        self._state.background.spawn(self._look_back())

    def assimilated(self, base: int) -> None:
        """A result is in the model: it is measured after every so many."""
        at = self._state
        # The last of an epoch is its version, which is measured when it is recorded.
        last = at.closed and not at.blending
        if self._measuring is None or last or at.number % at.units.evaluate_every:
            return
        self._course.asked(at.epoch.number)
        at.snapshots.hold(("measure", at.number), base, at.weights)
        at.background.spawn(self._measure(self._measuring, at.epoch.number, at.number, base))

    def recorded(self, version: VersionRecord) -> None:
        """A version is recorded, and will be measured."""
        if self._measuring is not None:
            self._course.asked(version.round)

    async def version(self, version: VersionRecord, kept: EpochSnapshot | None = None) -> None:
        """Has a version measured, which is what was `kept`."""
        if self._measuring is None:
            return
        asked = EvaluationRequest(
            version.round, await self._blobs.path(version.weights), version=version.version
        )
        if kept is not None:
            asked = replace(asked, number=kept.number, base=kept.base)
        await self._measuring.ask(asked)

    async def let_go(self) -> None:
        """Lets go of versions that are kept no longer, but for those that are measured."""
        busy = {self._state.history.current.version}
        await self._recorder.let_go(busy | (self._measuring.versions if self._measuring else set()))

    async def _look_back(self) -> None:
        history = self._state.history
        for version in list(history.versions):
            if version.let_go is None and version.version not in history.evaluated["server"]:
                await self.version(version)
        await self.let_go()

    async def _measure(self, measuring: UnitEvaluators, epoch: int, number: int, base: int) -> None:
        address = await self._state.background.stored(lambda: self._state.snapshots.address(base))
        path = self._state.snapshots.path(address)
        if path is not None:
            await measuring.ask(EvaluationRequest(epoch, path, number, base))

    async def _measured(self, found: EvaluationResult) -> None:
        await self._post(lambda _now: self._found(found))

    def _found(self, found: EvaluationResult) -> Sequence[Effect]:
        asked, evaluation = found.asked, found.evaluation
        if asked.number is not None:
            self._state.snapshots.release(("measure", asked.number))
        if evaluation is not None:
            if asked.number is not None:
                self._announcer.measured(asked.base, evaluation)
                self._state.background.spawn(self._recorder.measured(asked.number, evaluation))
            if asked.version is not None:
                self._state.background.spawn(self._recorder.evaluation(asked.version, evaluation))
        self._course.found(found)
        return []
