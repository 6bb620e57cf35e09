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
from backend.server.hosting.clients.connected_clients import ConnectedClients
from backend.server.hosting.host_events import VersionFailed, VersionWritten
from backend.server.mesh.event_handler import MeshEventHandler
from backend.server.mesh.mesh_host_events import MeshHostEvent
from backend.server.mesh.recorded_groups import RecordedGroups
from backend.server.mesh.records import MeshRecorder, RoundNotes
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
    groups: RecordedGroups
    notes: RoundNotes = field(default_factory=RoundNotes)

    def perform(self, effects: Iterable[coordinator_effects.Effect], now: float) -> None:
        """Performs `effects` in order."""
        for effect in effects:
            match effect:
                case coordinator_effects.MeshRoundOpened():
                    self._opened(effect, now)
                case coordinator_effects.TakeUp(round=number, version=version, holders=holders):
                    self.notes = RoundNotes(number, version, len(holders), now, Refusals())
                    self.notice(task_events.RoundOpened(number, version, len(holders)))
                case coordinator_effects.SendMeshTrain():
                    self.connected.tell(effect.client, task_frames.train(self.task, effect, effect.weights))
                case coordinator_effects.GroupsFormed(groups):
                    peers = self.event_handler.peers.by_id
                    self.groups.formed(groups, {client: peer.identity for client, peer in peers.items()})
                    self.event_handler.formed(groups)
                    self.background.spawn(self.recorder.groups(self.groups.records))
                case coordinator_effects.SendGroup():
                    # Peers must know all members of their group before they average.
                    self.event_handler.peers.announce(now, force=True)
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
                    evaluation = EvaluationRecord(
                        effect.version, effect.loss, effect.metrics, "clients", effect.examples
                    )
                    self.background.spawn(self.recorder.evaluation(evaluation))
                case Abandon():
                    self._abandon(effect, now)
                case Finished():
                    self.notice(task_events.TaskFinished(effect.version, effect.reason))

    def _opened(self, opened: coordinator_effects.MeshRoundOpened, now: float) -> None:
        self.connected.forget_absent(keep=())
        self.notes = RoundNotes(opened.round, opened.version, len(opened.cohort), now, Refusals())
        self.notice(task_events.RoundOpened(opened.round, opened.version, len(opened.cohort)))

    def _record(self, outcome: coordinator_effects.MeshOutcome) -> None:
        weights, self.event_handler.deposited = self.event_handler.deposited, None
        if weights is None:
            return
        for client, report in outcome.trained.items():
            self.notice(task_events.UpdateAccepted(client, report.round, report.examples))
        if reports := list(outcome.averaged.values()):
            fraction = max(report.fraction for report in reports if report.weights == outcome.weights)
            slowest = max(report.seconds for report in reports)
            self.notice(task_events.PeersAveraged(outcome.round, len(reports), fraction, slowest))
        self.background.spawn(self._record_version(outcome, weights, self.notes))

    async def _record_version(
        self, outcome: coordinator_effects.MeshOutcome, weights: Vector, notes: RoundNotes
    ) -> None:
        groups = self.groups.of(outcome)
        version = await self.recorder.version(outcome, weights, notes, self.connected.devices, groups)
        if isinstance(version, str):
            await self.post(VersionFailed(version))
            return
        self.groups.recorded(groups)
        await self.post(VersionWritten(version))
        await self.recorder.after_version(version)

    def _abandon(self, abandon: Abandon, now: float) -> None:
        reason = abandon.reason[:500]
        self.connected.tell_all(messages.Abandoned(round=abandon.round, reason=reason))
        seconds, devices = now - self.notes.opened, self.connected.devices
        self.background.spawn(self.recorder.abandoned(reason, seconds, self.notes, devices))
