"""Records the rounds of a mesh: versions that a peer uploads, evaluations, abandoned rounds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field

import structlog

from backend.errors import MingaError
from backend.numerics.aggregation.server_optimizers import no_state
from backend.numerics.metrics import metric_values
from backend.numerics.vectors import Vector
from backend.protocols.mesh.coordinator_effects import MeshOutcome
from backend.server.hosting.background_tasks import BackgroundTasks
from backend.server.hosting.host_events import EvaluationWritten
from backend.server.mesh.mesh_host_events import MeshHostEvent
from backend.server.observers import task_events
from backend.server.rounds.round_accumulator import UNKNOWN_KIND, ClientKinds, Refusals, kinds, spread
from backend.server.tasks.task import Task
from backend.server.versions.evaluation import EvaluatorProcess
from backend.server.versions.version_history import VersionHistory
from backend.stores.contracts import (
    BlobStore,
    ContributionRecord,
    EvaluationRecord,
    MeshGroupRecord,
    RoundRecord,
    VersionRecord,
)
from backend.wire.mesh_messages import Trained

log = structlog.stdlib.get_logger("minga.host")


@dataclass
class RoundNotes:
    """The record of the open round beside the coordinator's state: cohort, start, refusals.

    `opened` is a time of the event loop, in seconds. Owned by the host.
    """

    round: int = 0
    version: int = 0
    cohort: int = 0
    opened: float = 0.0
    refused: Refusals = field(default_factory=Refusals)

    def record(
        self,
        outcome: str,
        reason: str,
        seconds: float,
        ended: float,
        client_kinds: ClientKinds,
        trained: dict[str, Trained],
    ) -> RoundRecord:
        """Returns the record of the round; `trained` are the reports of the peers that averaged.

        The round took `seconds` and ended at `ended` (Unix seconds).
        """
        return RoundRecord(
            round=self.round,
            version=self.version,
            cohort=self.cohort,
            accepted=len(trained),
            refused=self.refused.codes.total(),
            outcome=outcome,
            reason=reason,
            seconds=seconds,
            ended=ended,
            refusals=dict(self.refused.codes),
            accepted_by=kinds(client_kinds.get(client, UNKNOWN_KIND) for client in trained),
            losses=spread(report.loss for report in _worked(trained)),
        )

    def contributions(
        self, client_kinds: ClientKinds, trained: dict[str, Trained]
    ) -> list[ContributionRecord]:
        """Returns each peer's contribution; `trained` are the reports of the peers that averaged."""
        return [
            ContributionRecord(
                client=client,
                kind=client_kinds.get(client, UNKNOWN_KIND)[0],
                backend=client_kinds.get(client, UNKNOWN_KIND)[1],
                accepted=int(client in trained),
                refused=self.refused.clients[client],
                examples=trained[client].examples if client in trained else 0,
            )
            for client in trained.keys() | self.refused.clients.keys()
        ]


class MeshRecorder:
    """Records versions, evaluations and rounds for the host of one mesh.

    `clock` gives the time of day (Unix seconds) for the records; `post` puts an event into the
    host's mailbox.
    """

    def __init__(
        self,
        task: Task,
        history: VersionHistory,
        blobs: BlobStore,
        background: BackgroundTasks,
        notice: Callable[[task_events.TaskEvent], None],
        post: Callable[[MeshHostEvent], Awaitable[None]],
        clock: Callable[[], float],
        evaluate: bool,
    ) -> None:
        self._task = task
        self._history = history
        self._blobs = blobs
        self._background = background
        self._notice = notice
        self._post = post
        self._clock = clock
        self._evaluator: EvaluatorProcess | None = None
        if evaluate and task.shards.holdout:
            self._evaluator = EvaluatorProcess(
                task.bundle.folder, task.shards.holdout, self.evaluation, task.file.name
            )

    def start(self) -> None:
        """Starts the jobs that run as long as the host."""
        if self._evaluator is not None:
            self._background.spawn(self._evaluator.run())
            self._background.spawn(self._submit_unevaluated())

    async def version(
        self,
        outcome: MeshOutcome,
        weights: Vector,
        notes: RoundNotes,
        client_kinds: ClientKinds,
        groups: list[MeshGroupRecord],
    ) -> VersionRecord | str:
        """Records the version that a round made, with its round and the survivors of its groups.

        Returns the reason where this fails.

        A round that peers made without the server has no known examples and no known loss.
        """
        specs, reports = self._task.bundle.manifest.metrics, list(_worked(outcome.trained))
        examples = sum(report.examples for report in reports)
        loss = sum(report.loss * report.examples for report in reports) / examples if reports else None
        metrics = metric_values(specs, [report.sums for report in reports]) if reports else {}
        record = notes.record("version", "", outcome.seconds, self._clock(), client_kinds, outcome.trained)
        contributions = notes.contributions(client_kinds, outcome.trained)
        try:
            version = await self._background.stored(
                lambda: self._history.add_version(
                    weights,
                    no_state(),
                    examples,
                    loss,
                    metrics,
                    record,
                    contributions,
                    mesh_groups=groups,
                )
            )
        except MingaError as error:
            log.error("version not made", task=self._task.file.name, round=outcome.round, reason=str(error))
            return str(error)
        self._notice(task_events.RoundEnded(record, version))
        return version

    async def groups(self, records: Callable[[], list[MeshGroupRecord]]) -> None:
        """Records the groups whose members can certify what follows; `records` returns the newest."""
        await self._background.stored(lambda: self._history.replace_mesh_groups(records()))

    async def after_version(self, version: VersionRecord) -> None:
        """Submits a new version for evaluation and lets go of older ones."""
        await self._submit(version)
        await self._let_go()

    async def abandoned(
        self, reason: str, seconds: float, notes: RoundNotes, client_kinds: ClientKinds
    ) -> None:
        """Records a round that made no version."""
        record = notes.record("abandoned", reason, seconds, self._clock(), client_kinds, {})
        contributions = notes.contributions(client_kinds, {})
        await self._background.stored(lambda: self._history.add_abandoned(record, contributions))
        self._notice(task_events.RoundEnded(record, None))

    async def evaluation(self, record: EvaluationRecord) -> None:
        """Records an evaluation."""
        await self._background.stored(lambda: self._history.add_evaluation(record))
        await self._post(EvaluationWritten(record))

    async def _submit(self, version: VersionRecord) -> None:
        if self._evaluator is not None:
            self._evaluator.submit(version.version, await self._blobs.path(version.weights))

    async def _submit_unevaluated(self) -> None:
        for version in list(self._history.versions):
            if version.let_go is None and version.version not in self._history.evaluated["server"]:
                await self._submit(version)
        await self._let_go()

    async def _let_go(self) -> None:
        waiting = self._evaluator.waiting if self._evaluator else set[int]()
        await self._history.let_go({self._history.current.version} | waiting, self._clock())


def _worked(trained: Mapping[str, Trained]) -> Iterator[Trained]:
    """Yields the reports of peers that trained; in a Byzantine mesh validators did not."""
    return (report for report in trained.values() if report.steps)
