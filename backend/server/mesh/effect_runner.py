"""Performs the effects of the coordinator of a mesh."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from backend.numerics.vectors import Vector
from backend.protocols.mesh import coordinator_effects
from backend.protocols.mesh.coordinator import MeshCoordinator
from backend.protocols.rounds.round_effects import Abandon, Finished, RecordEvaluation, SendEvaluate
from backend.server.hosting import task_frames
from backend.server.hosting.background_tasks import BackgroundTasks
from backend.server.hosting.connected_clients import ConnectedClients
from backend.server.hosting.host_events import VersionFailed, VersionWritten
from backend.server.mesh.event_handler import MeshEventHandler
from backend.server.mesh.mesh_host_events import MeshHostEvent
from backend.server.mesh.records import MeshRecorder, Notes
from backend.server.observers import task_events
from backend.server.rounds.round_accumulator import Refusals
from backend.server.tasks.task import Task
from backend.server.versions.version_history import VersionHistory
from backend.stores.contracts import EvaluationRecord
from backend.wire import mesh_messages, messages


@dataclass
class MeshEffectRunner:
    """Performs effects, directly or by starting a job whose result is an event for `post`."""

    task: Task
    history: VersionHistory
    machine: MeshCoordinator
    event_handler: MeshEventHandler
    connected: ConnectedClients
    recorder: MeshRecorder
    background: BackgroundTasks
    notice: Callable[[task_events.TaskEvent], None]
    post: Callable[[MeshHostEvent], Awaitable[None]]
    notes: Notes = field(default_factory=Notes)

    def perform(self, effects: Iterable[coordinator_effects.Effect], now: float) -> None:
        """Performs `effects` in order."""
        for effect in effects:
            match effect:
                case coordinator_effects.MeshRoundOpened():
                    self._opened(effect, now)
                case coordinator_effects.TakeUp(round=number, version=version, holders=holders):
                    self.notes = Notes(number, version, len(holders), now, Refusals())
                    self.notice(task_events.RoundOpened(number, version, len(holders)))
                case coordinator_effects.SendMeshTrain():
                    self.connected.tell(effect.client, task_frames.train(self.task, effect, effect.weights))
                case coordinator_effects.SendGroup():
                    # Peers must know all members of their group before they average.
                    self.event_handler.peers.tell(now, at_once=True)
                    self.connected.tell(effect.client, effect.group)
                case coordinator_effects.AskDeposit():
                    deposit = mesh_messages.Deposit(round=effect.round, weights=effect.weights)
                    self.connected.tell(effect.client, deposit)
                case coordinator_effects.RefuseReport():
                    code, reason = effect.error.code, str(effect.error)[:500]
                    self.notes.refused.add(effect.client, code)
                    self.notice(task_events.UpdateRefused(effect.client, effect.round, code, reason))
                case coordinator_effects.RecordWeights():
                    self._record(effect.outcome)
                case SendEvaluate():
                    self.connected.tell(
                        effect.client, task_frames.evaluate(self.task, effect, self.history.current.weights)
                    )
                case RecordEvaluation():
                    found = EvaluationRecord(
                        effect.version, effect.loss, effect.metrics, "clients", effect.examples
                    )
                    self.background.spawn(self.recorder.evaluation(found))
                case Abandon():
                    self._abandon(effect, now)
                case Finished():
                    self.notice(task_events.TaskFinished(effect.version, effect.reason))

    def _opened(self, opened: coordinator_effects.MeshRoundOpened, now: float) -> None:
        self.connected.forget_absent(keep=())
        self.notes = Notes(opened.round, opened.version, len(opened.cohort), now, Refusals())
        self.notice(task_events.RoundOpened(opened.round, opened.version, len(opened.cohort)))

    def _record(self, outcome: coordinator_effects.MeshOutcome) -> None:
        weights, self.event_handler.brought = self.event_handler.brought, None
        if weights is None:
            return
        for client, one in outcome.trained.items():
            self.notice(task_events.UpdateAccepted(client, one.round, one.examples))
        if reports := list(outcome.averaged.values()):
            fraction = max(one.fraction for one in reports if one.weights == outcome.weights)
            slowest = max(one.seconds for one in reports)
            self.notice(task_events.PeersAveraged(outcome.round, len(reports), fraction, slowest))
        self.background.spawn(self._recorded(outcome, weights, self.notes))

    async def _recorded(
        self, outcome: coordinator_effects.MeshOutcome, weights: Vector, notes: Notes
    ) -> None:
        made = await self.recorder.version(outcome, weights, notes, self.connected.devices)
        if isinstance(made, str):
            await self.post(VersionFailed(made))
            return
        await self.post(VersionWritten(made))
        await self.recorder.after(made)

    def _abandon(self, abandon: Abandon, now: float) -> None:
        reason = abandon.reason[:500]
        self.connected.tell_all(messages.Abandoned(round=abandon.round, reason=reason))
        seconds, about = now - self.notes.opened, self.connected.devices
        self.background.spawn(self.recorder.abandoned(reason, seconds, self.notes, about))
