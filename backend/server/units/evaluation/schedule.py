"""The evaluation schedule: which weights are evaluated on held-out examples, and what follows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any

from backend.server.units.board.announcements import Announcer
from backend.server.units.epoch_controller import EpochController
from backend.server.units.evaluation.measurement import EvaluationRequest, EvaluationResult, UnitEvaluators
from backend.server.units.records import EpochSnapshot, UnitRecorder
from backend.server.units.state import UnitsState
from backend.server.units.unit_host_events import UnitHostEvent, UnitWeightsEvaluated
from backend.stores.contracts import BlobStore, VersionRecord


class EvaluationSchedule:
    """Owns the evaluators of one task, if it is to `evaluate`. `post` puts an event into the mailbox."""

    def __init__(
        self,
        state: UnitsState,
        blobs: BlobStore,
        recorder: UnitRecorder,
        controller: EpochController,
        announcer: Announcer,
        post: Callable[[UnitHostEvent], Awaitable[None]],
        evaluate: bool,
    ) -> None:
        self._state = state
        self._blobs = blobs
        self._recorder = recorder
        self._controller = controller
        self._announcer = announcer
        self._post = post
        task, self._measuring = state.task, None
        if evaluate and task.shards.holdout:
            self._measuring = UnitEvaluators(
                task.bundle.folder, task.shards.holdout, task.file.name, self._measured
            )

    def jobs(self) -> list[Coroutine[Any, Any, None]]:
        """What runs as long as the host does, and the evaluation of versions that have none."""
        return [*(self._measuring.tasks() if self._measuring is not None else ()), self._look_back()]

    def assimilated(self, base: int) -> None:
        """A result is in the model: it is measured after every so many."""
        state = self._state
        # The last of an epoch is its version, which is measured when it is recorded.
        last = state.run.closed and not state.model.assimilating
        if self._measuring is None or last or state.model.number % state.units.evaluate_every:
            return
        self._controller.evaluation_started(state.run.epoch.number)
        state.snapshots.hold(("measure", state.model.number), base, state.model.weights)
        state.background.spawn(
            self._measure(self._measuring, state.run.epoch.number, state.model.number, base)
        )

    def recorded(self, version: VersionRecord) -> None:
        """A version is recorded, and will be measured."""
        if self._measuring is not None:
            self._controller.evaluation_started(version.round)

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

    async def epoch_recorded(self, version: VersionRecord | None, kept: EpochSnapshot) -> None:
        """Evaluates the version of an epoch, if it made one, and deletes old versions."""
        if version is not None:
            await self.version(version, kept)
        await self.let_go()

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
        await self._post(UnitWeightsEvaluated(found))

    def evaluated(self, result: EvaluationResult) -> None:
        """An evaluation ended: it is recorded, announced and shown to the stop rules."""
        asked, evaluation = result.request, result.evaluation
        if asked.number is not None:
            self._state.snapshots.release(("measure", asked.number))
        if evaluation is not None:
            if asked.number is not None:
                self._announcer.measured(asked.base, evaluation)
                self._state.background.spawn(self._recorder.measured(asked.number, evaluation))
            if asked.version is not None:
                self._state.background.spawn(self._recorder.evaluation(asked.version, evaluation))
        self._controller.evaluated(result)
