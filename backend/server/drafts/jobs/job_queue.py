"""Queues long jobs on drafts: their logs are live, they can be cancelled, and restart with the server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import structlog

from backend.datasets.inspection.findings import DataFindings
from backend.errors import CancelledError, MingaError, NotFoundError, NotWantedError, OverQuotaError
from backend.server.drafts.derived_settings import (
    forget_model_settings,
    model_note,
    take_data_settings,
    take_model_settings,
)
from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.jobs.job_inputs import NEEDS, is_due, is_ready
from backend.server.drafts.jobs.job_runner import JobResult, clear, perform
from backend.server.drafts.jobs.job_turns import JobTurns, QueuedJob
from backend.server.drafts.plan_proposals import apply_plan
from backend.server.drafts.record import ONWARD, Draft, DraftJob, JobKind, JobLine
from backend.server.drafts.review.checklist import fingerprint, holds
from backend.server.drafts.starters import building
from backend.server.drafts.transfer.url_data import url_completed
from backend.server.sandbox.limited_process import Supervision

log = structlog.stdlib.get_logger("minga.drafts")

# Called at a job's end with its kind and `done`, `cancelled`, or the code of its error.
CountJob = Callable[[JobKind, str], None]
# Jobs that run at a time: a conversion takes much memory, and must not keep everybody else waiting.
WORKERS = 2
# So often a job that the server ended in is begun again: it may be what ends the server.
MOST_RESTARTS = 4


class DraftJobQueue:
    """Owns the queue of jobs, from `start` to `stop`.

    WORKERS jobs run at a time, of different owners, who take turns. What jobs write counts to their owner's
    quota while they run; `measure` measures the bytes of an owner's tasks before. `count` counts jobs.
    """

    def __init__(
        self,
        drafts: Drafts,
        measure: Callable[[str], Awaitable[int]] | None = None,
        count: CountJob = lambda _kind, _outcome: None,
    ) -> None:
        self._drafts, self._measure, self._count = drafts, measure, count
        self._turns = JobTurns()
        self._wake = asyncio.Event()
        # Set and replaced whenever a log grows or a job ends.
        self._changed = asyncio.Event()
        self._stopping = False
        self._workers: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Queues again the jobs that a restart interrupted, up to MOST_RESTARTS times each, and logs it."""
        live = [
            (job.asked, draft, kind)
            for draft in self._drafts.all()
            for kind, job in draft.jobs.items()
            if job.live
        ]
        for _, draft, kind in sorted(live, key=lambda asked: asked[0]):
            await self._restart(draft, kind, draft.jobs[kind])
        self._wake.set()
        self._workers = [asyncio.create_task(self._run_queue()) for _ in range(WORKERS)]

    async def _restart(self, draft: Draft, kind: JobKind, job: DraftJob) -> None:
        if job.state == "running" and job.restarts >= MOST_RESTARTS:
            text = f"The server ended {MOST_RESTARTS + 1} times during this job. Start it again."
            self._count(kind, MingaError.code)
            await self._end(draft, job, "failed", text)
            return
        # What only waits ends no server.
        job.restarts += job.state == "running"
        self._append_log(job, "The server restarted during this job; it starts over.")
        job.state = "waiting"
        self._turns.add(draft, kind)
        await self._drafts.save(draft, touched=False)

    async def stop(self) -> None:
        """Ends the running jobs; their records stay live, so that the next start queues them again."""
        self._stopping = True
        for running in self._turns.running:
            running.cancel.set()
        self._wake.set()
        await asyncio.gather(*self._workers)

    async def ask(self, draft: Draft, kind: JobKind) -> DraftJob:
        """Queues a job. Raises NotWantedError if it waits or runs already, or lacks its inputs."""
        if (previous := draft.jobs.get(kind)) is not None and previous.live:
            raise NotWantedError("This job is already running; wait for it or cancel it.")
        if not is_ready(draft, kind, self._drafts.folder(draft)):
            raise NotWantedError(NEEDS[kind])
        job = draft.jobs[kind] = DraftJob("waiting", fingerprint(draft, kind), self._drafts.clock())
        if not self._turns.is_due(draft.owner, WORKERS):
            self._append_log(
                job, "Waits for its turn: an owner has one job at a time here, and owners take turns."
            )
        if kind != "forecast":
            self._interrupt_forecasts(draft.owner)
        # A preview goes first: its owner watches the page, and it takes a second or two.
        self._turns.add(draft, kind, first=kind == "show")
        self._wake.set()
        await self._drafts.save(draft)
        return job

    def _interrupt_forecasts(self, owner: str) -> None:
        """Ends a forecast of the owner's that runs: it is the least urgent job, and is queued again."""
        for running in self._turns.running:
            if running.owner == owner and running.kind == "forecast":
                running.draft.jobs["forecast"].of = ""
                running.cancel.set()

    async def cancel(self, draft: Draft, kind: JobKind) -> None:
        """Cancels a job that waits or runs. Raises NotFoundError if there is none."""
        job = draft.jobs.get(kind)
        if job is None or not job.live:
            raise NotFoundError("No such job is running.")
        if (running := self._turns.runs(draft, kind)) is not None:
            running.cancel.set()
            return
        self._turns.remove(draft, kind)
        self._count(kind, "cancelled")
        await self._end(draft, job, "cancelled", "Cancelled.")

    async def advance(self, draft: Draft) -> None:
        """Queues every due job of a draft with `onward`: its inputs exist and it has no valid result.

        Cancels a running job whose inputs changed. A job that failed or was cancelled is not queued again
        until its inputs change.
        """
        if not draft.onward or not self._drafts.exists(draft):
            return
        for kind in ONWARD:
            job, of = draft.jobs.get(kind), fingerprint(draft, kind)
            if job is not None and job.live:
                # A cancelled job is queued again at its end; a waiting one reads the draft when it starts.
                if job.state == "running" and job.of != of:
                    await self.cancel(draft, kind)
            elif (job is None or job.of != of or job.state == "done") and is_due(
                draft, kind, self._drafts.folder(draft)
            ):
                await self.ask(draft, kind)

    async def cancel_all(self, draft: Draft) -> None:
        """Cancels all jobs of a draft, and returns when they have ended."""
        for kind, job in draft.jobs.items():
            if job.live:
                await self.cancel(draft, kind)
        while any(running.draft is draft for running in self._turns.running):
            await self._changed.wait()

    async def resume(self, draft: Draft, kinds: Collection[JobKind]) -> None:
        """Queues jobs again that `cancel_all` ended; logs why one cannot be."""
        for kind in kinds:
            try:
                await self.ask(draft, kind)
            except MingaError as error:
                log.error("a job does not begin again", draft=draft.id, kind=kind, reason=str(error))

    async def watch(self, draft: Draft, kind: JobKind, after: int, seconds: float) -> DraftJob:
        """Returns the job once its log has more than `after` lines, it has ended, or `seconds` have passed.

        Raises NotFoundError.
        """
        if kind not in draft.jobs:
            raise NotFoundError("No such job was started yet.")
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while draft.jobs[kind].live and len(draft.jobs[kind].log) <= after:
                    await self._changed.wait()
        return draft.jobs[kind]

    async def _run_queue(self) -> None:
        while not self._stopping:
            queued = self._turns.start()
            if queued is None:
                self._wake.clear()
                await self._wake.wait()
                continue
            try:
                if self._drafts.exists(queued.draft):
                    await self._run(queued, queued.draft.jobs[queued.kind])
            except MingaError as error:
                # The disk may be full: other jobs, and the end of this one, do not depend on its record.
                log.error("a job is not recorded", draft=queued.draft.id, reason=str(error))
            except Exception:
                # A shell: whatever one job leaves, its worker does the next one.
                log.exception("a job cannot be recorded", draft=queued.draft.id, kind=queued.kind)
                await self._discard(queued)
            finally:
                self._turns.end(queued)
                self._notify()
                # The owner's next job may be another worker's.
                self._wake.set()
            if not self._stopping:
                await self._advance_safely(queued.draft)

    async def _advance_safely(self, draft: Draft) -> None:
        """Calls `advance`; logs its errors, so that a full disk does not stop jobs on other drafts."""
        try:
            await self.advance(draft)
        except MingaError as error:
            log.error("the next job of a draft did not start", draft=draft.id, reason=str(error))
        except Exception:
            # A shell, as in `_run_queue`.
            log.exception("the next job of a draft did not start", draft=draft.id)

    async def _discard(self, queued: QueuedJob) -> None:
        """Fails a job without its log and result, which may be what cannot be recorded."""
        draft, kind = queued.draft, queued.kind
        try:
            job = draft.jobs[kind] = DraftJob("failed", draft.jobs[kind].of, draft.jobs[kind].asked)
            await self._end(
                draft, job, "failed", "This job failed unexpectedly and left no result. Start it again."
            )
        except Exception:
            log.exception("a job is not recorded", draft=draft.id, kind=kind)

    async def _run(self, queued: QueuedJob, job: DraftJob) -> None:
        draft, kind = queued.draft, queued.kind
        # The draft may have changed while the job waited.
        if kind == "convert":
            forget_model_settings(draft)
        job.state, job.of = "running", fingerprint(draft, kind)
        try:
            await self._drafts.save(draft, touched=False)
            result, message = await self._performed(queued, job)
        except CancelledError as error:
            if not self._stopping:
                self._count(kind, "cancelled")
                await self._end(draft, job, "cancelled", str(error))
        except MingaError as error:
            self._count(kind, error.code)
            await self._end(draft, job, "failed", str(error))
        except Exception as error:
            # A shell: an unforeseen failure on one file must not stop jobs on other drafts.
            log.exception("work on a draft failed", draft=draft.id, kind=kind)
            self._count(kind, MingaError.code)
            await self._end(draft, job, "failed", f"This failed unexpectedly ({type(error).__name__}).")
        else:
            job.result = result
            self._count(kind, "done")
            notes = _apply_result(draft, self._drafts.folder(draft), kind, job)
            self._conclude(job, "done", f"{message} {notes}".strip())
            await apply_plan(draft, self._drafts.folder(draft))
            await self._record_end(draft)

    async def _performed(self, queued: QueuedJob, job: DraftJob) -> JobResult:
        """Performs the job while what it writes is counted. Raises as `perform`, and OverQuotaError."""
        draft, kind, loop = queued.draft, queued.kind, asyncio.get_running_loop()
        reason: str | None = None

        def tell(text: str) -> None:
            loop.call_soon_threadsafe(self._log_progress, job, text)

        def room(written: int) -> None:
            self._drafts.count_written(draft, written)

        await asyncio.to_thread(clear, self._drafts, draft, kind)
        await self._drafts.measure(draft)
        if self._measure is not None:
            await self._measure(draft.owner)
        try:
            self._drafts.check_room(draft.owner, 0)
            left, reason = self._drafts.room(draft.owner)
            supervision = Supervision(tell, queued.cancel.is_set, room)
            return await asyncio.to_thread(perform, self._drafts, draft, kind, supervision, left)
        except OverQuotaError as error:
            # The process itself does not know whether the quota or the disk ends it.
            raise OverQuotaError(
                f"This job was ended, and its work was discarded. {reason or error}"
            ) from error
        finally:
            await self._drafts.measure(draft)

    def _append_log(self, job: DraftJob, text: str) -> None:
        job.log.append(JobLine(self._drafts.clock(), text))

    def _log_progress(self, job: DraftJob, text: str) -> None:
        self._append_log(job, text)
        self._notify()

    def _notify(self) -> None:
        """Wakes the callers of `watch` and `cancel_all`."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _end(self, draft: Draft, job: DraftJob, state: Any, text: str) -> None:
        self._conclude(job, state, text)
        await self._record_end(draft)

    def _conclude(self, job: DraftJob, state: Any, text: str) -> None:
        job.state, job.ended = state, self._drafts.clock()
        self._append_log(job, text)

    async def _record_end(self, draft: Draft) -> None:
        await self._drafts.save(draft, touched=False)
        self._notify()


def _apply_result(draft: Draft, folder: Path, kind: JobKind, job: DraftJob) -> str:
    """Writes a job's proposals into the task file for values that the owner has not set.

    Returns sentences on what became of settings for an earlier file.
    """
    if job.result is None or job.of != fingerprint(draft, kind):
        return ""
    if kind == "build":
        building.take_built(draft, folder, job.result)
    if kind == "look":
        findings = msgspec.convert(job.result, DataFindings)
        note = take_data_settings(draft, findings, holds(draft, "convert", folder))
        if note:
            job.result["notes"] = [note, *job.result.get("notes", ())]
        return note
    if kind == "cut":
        draft.task = url_completed(draft.task, draft.files.get("data"), job.result)
    if kind == "convert":
        if not take_model_settings(draft, job.result):
            job.of = fingerprint(draft, kind)
        return model_note(draft)
    return ""
