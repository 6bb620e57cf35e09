"""Work of a task's host that takes time. Each job ends in an event."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import structlog

from backend.errors import MingaError, RecordedBeforeError, StoreError
from backend.numerics.vectors import Vector
from backend.services import observer as happened
from backend.services.evaluation import Evaluator
from backend.services.hosted import Event, Hosted
from backend.services.reception import Reception
from backend.services.tally import Tally
from backend.stores.contracts import (
    Blobs,
    Contribution,
    EvaluationRecord,
    RoundRecord,
    VersionRecord,
)
from backend.wire import messages as say

log = structlog.stdlib.get_logger("minga.host")

Result = TypeVar("Result")

# Between attempts to record something: short, because everybody waits, and because trying costs little.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 10.0


class Jobs:
    """Owns the running jobs of one host, its worker thread and its evaluator.

    Arithmetic on vectors runs in the one worker thread, in the order in which it was asked for, and gets
    there through the loop's `run_in_executor` alone. `post` puts an event into the host's inbox; `clock`
    gives the time of day (Unix seconds) for the records.
    """

    def __init__(
        self,
        hosted: Hosted,
        blobs: Blobs,
        reception: Reception,
        post: Callable[[Event], Awaitable[None]],
        clock: Callable[[], float],
        evaluate: bool,
    ) -> None:
        self._at = hosted
        self._blobs = blobs
        self._tell = reception
        self._post = post
        self._clock = clock
        self._worker = ThreadPoolExecutor(1, f"vectors-{hosted.task.file.name}")
        self._running: set[asyncio.Task[None]] = set()
        self._evaluator: Evaluator | None = None
        if evaluate and hosted.task.shards.holdout:
            self._evaluator = Evaluator(
                hosted.task.bundle.folder, hosted.task.shards.holdout, self._evaluated, hosted.task.file.name
            )

    def start(self, *others: Coroutine[Any, Any, None]) -> None:
        """Begins what goes on as long as the host does, and `others` with it."""
        for other in others:
            self._spawn(other)
        if self._evaluator is not None:
            self._spawn(self._evaluator.run())
            self._spawn(self._submit_unevaluated())

    async def stop(self) -> None:
        """Ends everything that runs."""
        for job in self._running:
            job.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        self._worker.shutdown()

    # What a performer asks for.

    def add(self, client: str, offer: say.Offer, tally: Tally, update: Vector) -> None:
        """Adds a checked update to the aggregate."""
        # Asked for here and now, so that no aggregate is closed before it.
        added = self._ask_worker(lambda: tally.add(update, offer))
        self._spawn(self._add(client, offer, added))

    def make_version(self, tally: Tally, seconds: float) -> None:
        """Makes and records the next version from a round that took `seconds`."""
        self._spawn(self._make_version(tally, seconds))

    def record_abandoned(self, tally: Tally, reason: str, seconds: float) -> None:
        """Records a round that made no version."""
        record = tally.record("abandoned", reason, seconds, self._clock(), self._at.audience.known)
        given = tally.contributions(self._at.audience.known, counted=False)
        self._spawn(self._record_abandoned(record, given))

    def record_evaluation(self, found: EvaluationRecord) -> None:
        """Records what clients measured, and tells everybody."""
        self._spawn(self._evaluated(found))

    # The jobs.

    async def _add(self, client: str, offer: say.Offer, added: asyncio.Future[None]) -> None:
        try:
            await added
        finally:
            await self._post(lambda now: self._tell.added(client, offer, now))

    async def _make_version(self, tally: Tally, seconds: float) -> None:
        ledger, task = self._at.ledger, self._at.task
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            weights, state = await self._ask_worker(lambda: ledger.next_version(tally.mean))
            control = await self._ask_worker(lambda: ledger.next_control(tally.changes, tally.accepted))
            loss, metrics = tally.loss(), tally.metrics(task.bundle.manifest.metrics)
            record = tally.record("version", "", seconds, self._clock(), self._at.audience.known)
            given = tally.contributions(self._at.audience.known, counted=True)
            version = await self._stored(
                lambda: ledger.add_version(weights, state, loss, metrics, record, given, control)
            )
        except MingaError as error:
            reason = str(error)
            log.error("version not made", task=task.file.name, round=tally.round, reason=reason)
            await self._post(lambda now: self._tell.version_failed(reason, now))
            return
        self._at.notice(happened.VersionMade(version.version, loop.time() - began))
        self._at.notice(happened.RoundEnded(record, version))
        await self._post(lambda now: self._tell.version_made(version, now))
        await self._submit(version)
        await self._let_go()

    async def _record_abandoned(self, record: RoundRecord, given: list[Contribution]) -> None:
        await self._stored(lambda: self._at.ledger.add_abandoned(record, given))
        self._at.notice(happened.RoundEnded(record, None))

    async def _submit(self, version: VersionRecord) -> None:
        if self._evaluator is not None:
            self._evaluator.submit(version.version, await self._blobs.path(version.weights))

    async def _submit_unevaluated(self) -> None:
        for version in list(self._at.ledger.versions):
            if version.let_go is None and version.version not in self._at.ledger.evaluated["server"]:
                await self._submit(version)
        await self._let_go()

    async def _let_go(self) -> None:
        # What clients train from or measure at this moment, and what the server is about to measure.
        busy = {self._at.machine.version} | (self._evaluator.waiting if self._evaluator else set())
        await self._at.ledger.let_go(busy, self._clock())

    async def _evaluated(self, found: EvaluationRecord) -> None:
        await self._stored(lambda: self._at.ledger.add_evaluation(found))
        await self._post(lambda now: self._tell.evaluated(found, now))

    async def _stored(self, store: Callable[[], Awaitable[Result]]) -> Result:
        """Does `store` until it succeeds: a full disk costs time, but no round and nobody's work."""
        pause = FIRST_PAUSE
        while True:
            try:
                result = await store()
            except RecordedBeforeError:
                raise
            except StoreError as error:
                self._at.trouble = str(error)
                self._at.notice(happened.StoreFailed(str(error), pause))
                await asyncio.sleep(pause)
                pause = min(LONGEST_PAUSE, 2 * pause)
                continue
            if self._at.trouble is not None:
                self._at.trouble = None
                self._at.notice(happened.StoreMended())
            return result

    # How they run.

    def _ask_worker(self, work: Callable[[], Result]) -> asyncio.Future[Result]:
        return asyncio.get_running_loop().run_in_executor(self._worker, work)

    def _spawn(self, job: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._guarded(job))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _guarded(self, job: Coroutine[Any, Any, None]) -> None:
        try:
            await job
        except MingaError as error:
            log.error("a job failed", task=self._at.task.file.name, reason=str(error))
        except Exception:
            # A shell: what a job leaves undone is logged, and the task goes on.
            log.exception("a job failed", task=self._at.task.file.name)
