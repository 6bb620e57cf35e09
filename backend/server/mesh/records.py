"""What the rounds of a mesh leave behind: versions that a peer brings, evaluations, and why there is none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
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
    RoundRecord,
    VersionRecord,
)
from backend.wire.mesh_messages import Trained

log = structlog.stdlib.get_logger("minga.host")


@dataclass
class Notes:
    """Of the open round, beside the machine's: its cohort, and what was refused. Owned by the host."""

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
        """The round as it will be remembered; `trained` are the reports of those who averaged in it."""
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
            losses=spread(one.loss for one in trained.values()),
        )

    def contributions(
        self, client_kinds: ClientKinds, trained: dict[str, Trained]
    ) -> list[ContributionRecord]:
        """Who gave what; `trained` are the reports of those who averaged."""
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
    """Records for the host of one mesh. `clock` gives the time of day (Unix seconds) for the records;
    `post` puts an event into the host's mailbox."""

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
        self, outcome: MeshOutcome, weights: Vector, notes: Notes, client_kinds: ClientKinds
    ) -> VersionRecord | str:
        """Records the version that a round came to, with its round; or says why that cannot be.

        Of a round that peers made without the server neither examples nor their loss are known.
        """
        specs, trained = self._task.bundle.manifest.metrics, list(outcome.trained.values())
        examples = sum(one.examples for one in trained)
        loss = sum(one.loss * one.examples for one in trained) / examples if trained else None
        metrics = metric_values(specs, [one.sums for one in trained]) if trained else {}
        record = notes.record("version", "", outcome.seconds, self._clock(), client_kinds, outcome.trained)
        given = notes.contributions(client_kinds, outcome.trained)
        try:
            version = await self._background.stored(
                lambda: self._history.add_version(weights, no_state(), examples, loss, metrics, record, given)
            )
        except MingaError as error:
            log.error("version not made", task=self._task.file.name, round=outcome.round, reason=str(error))
            return str(error)
        self._notice(task_events.RoundEnded(record, version))
        return version

    async def after(self, version: VersionRecord) -> None:
        """What a new version brings with it: it is measured, and older ones are let go."""
        await self._submit(version)
        await self._let_go()

    async def abandoned(self, reason: str, seconds: float, notes: Notes, client_kinds: ClientKinds) -> None:
        """Records a round that made no version."""
        record = notes.record("abandoned", reason, seconds, self._clock(), client_kinds, {})
        given = notes.contributions(client_kinds, {})
        await self._background.stored(lambda: self._history.add_abandoned(record, given))
        self._notice(task_events.RoundEnded(record, None))

    async def evaluation(self, found: EvaluationRecord) -> None:
        """Records an evaluation."""
        await self._background.stored(lambda: self._history.add_evaluation(found))
        await self._post(EvaluationWritten(found))

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
