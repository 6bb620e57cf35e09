"""The evaluation schedule: selects weights to evaluate on held-out examples, and passes on results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

from backend.server.units.board.announcements import Announcer
from backend.server.units.epoch_controller import EpochController
from backend.server.units.evaluation.measurement import EvaluationRequest, EvaluationResult, UnitEvaluators
from backend.server.units.records import EpochSnapshot, UnitRecorder
from backend.server.units.state import UnitsState
from backend.server.units.unit_host_events import UnitHostEvent, UnitWeightsEvaluated
from backend.stores.contracts import BlobStore, VersionRecord


class EvaluationSchedule:
    """Owns the evaluators of one task, if `evaluate` is set. `post` puts an event into the mailbox."""

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
        task, self._evaluators = state.task, None
        if evaluate and task.shards.holdout:
            self._evaluators = UnitEvaluators(
                task.bundle.folder, task.shards.holdout, task.file.name, self._measured
            )

    def jobs(self) -> list[Coroutine[Any, Any, None]]:
        """Returns the evaluators' coroutines, and one that evaluates versions without an evaluation."""
        return [*(self._evaluators.tasks() if self._evaluators is not None else ()), self._evaluate_missing()]

    def assimilated(self, base: int) -> None:
        """Starts an evaluation of the model, if due: after every `evaluate_every` assimilated results."""
        state = self._state
        # The model after the last result of an epoch is evaluated as its version.
        last = state.run.closed and not state.model.assimilating
        if self._evaluators is None or last or state.model.number % state.units.evaluate_every:
            return
        self._controller.evaluation_started(state.run.epoch.number)
        state.snapshots.hold(("measure", state.model.number), base, state.model.weights)
        request = EvaluationRequest(
            state.run.epoch.number, Path(), state.model.number, base, round(state.model.contained)
        )
        state.background.spawn(self._measure(self._evaluators, request))

    def recorded(self, version: VersionRecord) -> None:
        """Counts the pending evaluation of a recorded version."""
        if self._evaluators is not None:
            self._controller.evaluation_started(version.round)

    async def version(self, version: VersionRecord, snapshot: EpochSnapshot | None = None) -> None:
        """Requests the evaluation of a version, made from `snapshot` if that is known."""
        if self._evaluators is None:
            return
        request = EvaluationRequest(
            version.round, await self._blobs.path(version.weights), version=version.version
        )
        if snapshot is not None:
            request = replace(
                request, number=snapshot.number, base=snapshot.base, results=round(snapshot.contained)
            )
        await self._evaluators.ask(request)

    async def epoch_recorded(self, version: VersionRecord | None, snapshot: EpochSnapshot) -> None:
        """Evaluates the version of an epoch, if it made one, and deletes old versions."""
        if version is not None:
            await self.version(version, snapshot)
        await self.let_go()

    async def let_go(self) -> None:
        """Deletes versions that the task file no longer keeps, except those being evaluated."""
        busy = {self._state.history.current.version}
        await self._recorder.let_go(busy | (self._evaluators.versions if self._evaluators else set()))

    async def _evaluate_missing(self) -> None:
        history = self._state.history
        for version in list(history.versions):
            if version.let_go is None and version.version not in history.evaluated["server"]:
                await self.version(version)
        await self.let_go()

    async def _measure(self, evaluators: UnitEvaluators, request: EvaluationRequest) -> None:
        """Asks for the evaluation of the weights of the request's base, once they are in a file."""
        address = await self._state.background.stored(lambda: self._state.snapshots.address(request.base))
        path = self._state.snapshots.path(address)
        if path is not None:
            await evaluators.ask(replace(request, path=path))

    async def _measured(self, result: EvaluationResult) -> None:
        await self._post(UnitWeightsEvaluated(result))

    def evaluated(self, result: EvaluationResult) -> None:
        """Records and announces an evaluation that ended, and passes it to the stop rules."""
        request, evaluation = result.request, result.evaluation
        if request.number is not None:
            self._state.snapshots.release(("measure", request.number))
        if evaluation is not None:
            if request.number is not None:
                self._announcer.measured(request.base, request.results, evaluation)
                self._state.background.spawn(self._recorder.measured(request.number, evaluation))
            if request.version is not None:
                self._state.background.spawn(self._recorder.evaluation(request.version, evaluation))
        self._controller.evaluated(result)
