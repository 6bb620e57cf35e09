"""The aggregation jobs of a round: make versions beside the event loop. Each job ends in an event."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import structlog

from backend.errors import MingaError, ShareMismatchError
from backend.numerics.aggregators.similarity_rules import load_clustering
from backend.protocols.secagg.server_effects import Recover
from backend.server.hosting.host_events import EvaluationWritten, VersionFailed, VersionWritten
from backend.server.observers import task_events
from backend.server.privacy.privacy_budget import terms, visits_of
from backend.server.rounds.reputations import reputation_records
from backend.server.rounds.round_accumulator import RoundAccumulator
from backend.server.rounds.round_host_events import (
    MasksRemoved,
    RollbackFailed,
    RollbackRequested,
    RoundHostEvent,
    SharesMismatched,
    SumMeaningless,
    UpdateAdded,
)
from backend.server.rounds.state import RoundState
from backend.server.versions.evaluation import EvaluatorProcess
from backend.stores.contracts import (
    BlobStore,
    ContributionRecord,
    EvaluationRecord,
    ReputationRecord,
    RoundRecord,
    VersionRecord,
)
from backend.wire import messages

log = structlog.stdlib.get_logger("minga.host")

Result = TypeVar("Result")


class AggregationJobs:
    """Owns the worker thread and the evaluator of one host.

    Arithmetic on vectors runs in one worker thread, in the order of the calls, by the loop's
    `run_in_executor` alone. `post` puts an event into the host's mailbox; `clock` gives the time of day
    (Unix seconds) for the records.
    """

    def __init__(
        self,
        state: RoundState,
        blobs: BlobStore,
        post: Callable[[RoundHostEvent], Awaitable[None]],
        clock: Callable[[], float],
        evaluate: bool,
    ) -> None:
        self._state = state
        self._blobs = blobs
        self._post = post
        self._clock = clock
        self._worker = ThreadPoolExecutor(1, f"vectors-{state.task.file.name}")
        self._background = state.background
        self._evaluator: EvaluatorProcess | None = None
        if evaluate and state.task.shards.holdout:
            self._evaluator = EvaluatorProcess(
                state.task.bundle.folder,
                state.task.shards.holdout,
                self._record_evaluation,
                state.task.file.name,
            )

    def start(self) -> None:
        """Starts the evaluator, which runs as long as the host, and loads what the task's rule needs."""
        robust = self._state.task.file.security.robust
        if self._state.sketching is not None or (robust is not None and robust.rule == "flame"):
            self._background.spawn(self._load_clustering())
        if self._evaluator is not None:
            self._background.spawn(self._evaluator.run())
            self._background.spawn(self._submit_unevaluated())

    def stop(self) -> None:
        """Ends the worker thread after the last job, and frees the updates of an open round."""
        self._worker.shutdown()
        self._state.accumulator.close()

    # Called by the effect runner.

    def add(self, client: str, offer: messages.Offer, add: Callable[[], None]) -> None:
        """Runs `add`, which adds a checked update to the aggregate, in the worker thread."""
        # Submitted here, not in the task: no aggregate is closed before it.
        added = self._ask_worker(add)
        self._background.spawn(self._add(client, offer, added))

    def make_version(self, accumulator: RoundAccumulator, seconds: float) -> None:
        """Makes and records the next version from a round that took `seconds`."""
        self._background.spawn(self._make_version(accumulator, seconds))

    def unmask(self, accumulator: RoundAccumulator, recover: Recover) -> None:
        """Removes the masks from the sum of one group of a round."""
        self._background.spawn(self._unmask(accumulator, recover))

    def restore(self, number: int) -> None:
        """Records the version that is restored as the next one, in round `number`."""
        restoring, self._state.restoring = self._state.restoring, None
        if restoring is not None:
            self._background.spawn(self._restore(restoring, number))

    def record_abandoned(self, accumulator: RoundAccumulator, reason: str, seconds: float) -> None:
        """Records a round without a version."""
        record = accumulator.record(
            "abandoned", reason, seconds, self._clock(), self._state.connected.devices
        )
        contributions = accumulator.contributions(self._state.connected.devices, counted=False)
        reputations = self._judge(accumulator, counted=False)
        # Submitted here, as in `add`: after the updates that were accepted.
        self._ask_worker(accumulator.close)
        self._background.spawn(
            self._record_abandoned(record, contributions, reputations, accumulator.checked)
        )

    def record_evaluation(self, evaluation: EvaluationRecord) -> None:
        """Records an evaluation by clients, and announces it."""
        self._background.spawn(self._record_evaluation(evaluation))

    # Jobs.

    async def _add(self, client: str, offer: messages.Offer, added: asyncio.Future[None]) -> None:
        try:
            await added
        finally:
            await self._post(UpdateAdded(client, offer.round))

    async def _unmask(self, accumulator: RoundAccumulator, recover: Recover) -> None:
        if (masked := accumulator.masked) is None:
            return
        loop, number, group = asyncio.get_running_loop(), accumulator.round, recover.group
        began = loop.time()
        try:
            summed = await self._ask_worker(lambda: masked.unmask(recover))
        except ShareMismatchError as error:
            self._state.notice(task_events.UnmaskingFailed(number, str(error)))
            await self._post(SharesMismatched(number, group, error.owners))
            return
        except MingaError as error:
            await self._post(SumMeaningless(number, group, str(error)))
            return
        shared, alive = sum(map(bool, recover.pairs)), len(recover.alive)
        examples, duration = 0 if accumulator.private else summed, loop.time() - began
        self._state.notice(task_events.SumUnmasked(number, alive, shared - alive, examples, duration))
        await self._post(MasksRemoved(number, group))

    async def _make_version(self, accumulator: RoundAccumulator, seconds: float) -> None:
        history, task = self._state.history, self._state.task
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            outcome = await self._ask_worker(lambda: accumulator.outcome(task.bundle.manifest.metrics))
            weights, state = await self._ask_worker(lambda: history.next_version(outcome.mean))
            clustered = await self._ask_worker(accumulator.clustered)
            clip, private = self._state.next_clip(accumulator), task.file.privacy
            bits = task.file.security.masked.bits
            made_with = terms(private, clip, visits_of(task.file), bits) if private else None
            control = await self._ask_worker(
                lambda: history.next_control(accumulator.changes, accumulator.accepted)
            )
            results = outcome.examples, outcome.loss, outcome.metrics
            record = accumulator.record("version", "", seconds, self._clock(), self._state.connected.devices)
            contributions = accumulator.contributions(self._state.connected.devices, counted=True)
            reputations = self._judge(accumulator, counted=True)
            version = await self._background.stored(
                lambda: history.add_version(
                    weights,
                    state,
                    *results,
                    record,
                    contributions,
                    control,
                    made_with,
                    reputations=reputations,
                    checked=accumulator.checked,
                )
            )
            if self._state.noise is not None:
                self._state.noise.version_recorded(clip)
            history.checks.add_round(version.version, clustered)
        except MingaError as error:
            reason = str(error)
            log.error("version not made", task=task.file.name, round=accumulator.round, reason=reason)
            await self._post(VersionFailed(reason))
            return
        # Submitted before a next round can open, whose updates follow in the same thread.
        kept = self._ask_worker(lambda: accumulator.keep(record, history.run, version.version))
        self._state.notice(task_events.VersionMade(version.version, loop.time() - began))
        self._state.notice(task_events.RoundEnded(record, version))
        await self._post(VersionWritten(version))
        await self._submit(version)
        await kept
        await self._let_go()

    async def _restore(self, restoring: RollbackRequested, number: int) -> None:
        history, earlier = self._state.history, restoring.kept
        record = RoundRecord(
            number, history.current.version, 0, 0, 0, "version", restoring.reason, 0.0, self._clock()
        )
        # The privacy terms of a version hold for later versions, too.
        private, clip = self._state.task.file.privacy, self._state.clip
        bits = self._state.task.file.security.masked.bits
        made_with = terms(private, clip, visits_of(self._state.task.file), bits) if private else None
        results = 0, earlier.record.loss, earlier.record.metrics
        try:
            version = await self._background.stored(
                lambda: history.add_version(
                    earlier.weights, earlier.state, *results, record, [], earlier.control, made_with
                )
            )
        except MingaError as error:
            restoring.fail(error)
            await self._post(RollbackFailed())
            return
        self._state.notice(task_events.RoundEnded(record, version))
        await self._post(VersionWritten(version))
        restoring.succeed(version)
        await self._submit(version)
        await self._let_go()

    async def _record_abandoned(
        self,
        record: RoundRecord,
        contributions: list[ContributionRecord],
        reputations: dict[str, ReputationRecord | None],
        checked: list[str],
    ) -> None:
        history = self._state.history
        await self._background.stored(
            lambda: history.add_abandoned(record, contributions, reputations=reputations, checked=checked)
        )
        self._state.notice(task_events.RoundEnded(record, None))

    def _judge(self, accumulator: RoundAccumulator, counted: bool) -> dict[str, ReputationRecord | None]:
        """Adds the evidence of a round to its clients' reputations; returns those to be recorded."""
        book = self._state.book
        if book is None:
            return {}
        counting = accumulator.counted if counted else ()
        return reputation_records(book.round_ended(accumulator.round, accumulator.take_evidence(), counting))

    async def _load_clustering(self) -> None:
        await self._ask_worker(load_clustering)

    async def _submit(self, version: VersionRecord) -> None:
        if self._evaluator is not None:
            self._evaluator.submit(version.version, await self._blobs.path(version.weights))

    async def _submit_unevaluated(self) -> None:
        for version in list(self._state.history.versions):
            if version.let_go is None and version.version not in self._state.history.evaluated["server"]:
                await self._submit(version)
        await self._let_go()

    async def _let_go(self) -> None:
        # Versions that clients train from or evaluate now, and those that the server evaluates next.
        busy = {self._state.machine.version} | (self._evaluator.waiting if self._evaluator else set())
        # Another rule is tried from the version that the first kept round began with.
        busy |= self._state.kept.versions if self._state.kept else set()
        await self._state.history.let_go(busy, self._clock())

    async def _record_evaluation(self, evaluation: EvaluationRecord) -> None:
        await self._background.stored(lambda: self._state.history.add_evaluation(evaluation))
        await self._post(EvaluationWritten(evaluation))

    def _ask_worker(self, work: Callable[[], Result]) -> asyncio.Future[Result]:
        return asyncio.get_running_loop().run_in_executor(self._worker, work)
