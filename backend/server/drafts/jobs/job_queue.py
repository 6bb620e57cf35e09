"""Work on drafts that takes long: told live, cancelled at will, begun anew after a restart."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import suppress
from typing import Any

import msgspec
import structlog

from backend.datasets.inspection.findings import DataFindings
from backend.errors import CancelledError, MingaError, NotFoundError, NotWantedError
from backend.server.drafts import task_tables
from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.jobs.job_runner import perform
from backend.server.drafts.record import ONWARD, Draft, DraftJob, JobKind, JobLine
from backend.server.drafts.review.checklist import fingerprint, holds
from backend.server.drafts.transfer.url_data import address_state, url_completed

log = structlog.stdlib.get_logger("minga.drafts")

_NEEDS: dict[JobKind, str] = {
    "convert": "Bring a model first.",
    "look": "Bring data first.",
    "show": "Bring data and look at them first.",
    "cut": "Bring data and convert the model first.",
    "rehearse": "Convert the model first, and cut the data, if there are any.",
}


class DraftJobQueue:
    """Owns the queue of jobs, from `start` to `stop`.

    One is done at a time: a conversion takes much memory.
    """

    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts
        self._queue: deque[tuple[Draft, JobKind]] = deque()
        self._wake = asyncio.Event()
        # Set, and replaced, whenever a log grows or a job ends.
        self._news = asyncio.Event()
        self._current: tuple[Draft, JobKind] | None = None
        self._halt = threading.Event()
        self._stopping = False
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begins again what a restart interrupted, and says so in its log."""
        for draft in self._drafts.all():
            for kind, job in draft.jobs.items():
                if job.live:
                    job.restarts += 1
                    self._say(job, "The server was started again in the middle of this; it begins anew.")
                    job.state = "waiting"
                    self._queue.append((draft, kind))
                    await self._drafts.save(draft, touched=False)
        self._wake.set()
        self._running = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """Ends the job that runs; its record says that it is to be begun again."""
        self._stopping = True
        self._halt.set()
        self._wake.set()
        if self._running is not None:
            await self._running

    async def ask(self, draft: Draft, kind: JobKind) -> DraftJob:
        """Puts a job into the queue. Raises NotWantedError where it waits or runs, or lacks what it needs."""
        if (before := draft.jobs.get(kind)) is not None and before.live:
            raise NotWantedError("This is being done already; wait for it, or cancel it.")
        if not self._ready(draft, kind):
            raise NotWantedError(_NEEDS[kind])
        job = draft.jobs[kind] = DraftJob("waiting", fingerprint(draft, kind), self._drafts.clock())
        waiting = len(self._queue) + (self._current is not None)
        if waiting:
            self._say(job, f"Waits for {waiting} other {'job' if waiting == 1 else 'jobs'} on this server.")
        # Somebody looks on at what becomes of their examples, and it takes a second or two.
        (self._queue.appendleft if kind == "show" else self._queue.append)((draft, kind))
        self._wake.set()
        await self._drafts.save(draft)
        return job

    async def cancel(self, draft: Draft, kind: JobKind) -> None:
        """Ends a job that waits or runs. Raises NotFoundError where there is none."""
        job = draft.jobs.get(kind)
        if job is None or not job.live:
            raise NotFoundError("Nothing of that kind is being done.")
        if (draft, kind) == self._current:
            self._halt.set()
            return
        self._queue.remove((draft, kind))
        await self._end(draft, job, "cancelled", "Cancelled.")

    async def advance(self, draft: Draft) -> None:
        """Begins all work on a draft that goes on by itself: what can be done and was not, or not so.

        What runs for something that was changed meanwhile ends. What failed or was cancelled is left alone
        until something that it depends on changes.
        """
        if not draft.onward or not self._drafts.exists(draft):
            return
        for kind in ONWARD:
            job, of = draft.jobs.get(kind), fingerprint(draft, kind)
            if job is not None and job.live:
                # The one that runs asks again at its end; one that waits reads the draft when it begins.
                if job.state == "running" and job.of != of:
                    await self.cancel(draft, kind)
            elif (job is None or job.of != of or job.state == "done") and self._wants(draft, kind):
                await self.ask(draft, kind)

    async def cancel_all(self, draft: Draft) -> None:
        """Ends all work on a draft, and returns when it is over."""
        for kind, job in draft.jobs.items():
            if job.live:
                await self.cancel(draft, kind)
        while self._current is not None and self._current[0] is draft:
            await self._news.wait()

    async def watch(self, draft: Draft, kind: JobKind, after: int, seconds: float) -> DraftJob:
        """The job, as soon as its log is longer than `after` lines or it is over; at most after `seconds`.

        Raises NotFoundError.
        """
        if kind not in draft.jobs:
            raise NotFoundError("Nothing of that kind was asked for yet.")
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while draft.jobs[kind].live and len(draft.jobs[kind].log) <= after:
                    await self._news.wait()
        return draft.jobs[kind]

    def _ready(self, draft: Draft, kind: JobKind) -> bool:
        folder = self._drafts.folder(draft)
        match kind:
            case "convert":
                return "model" in draft.files
            case "look":
                return "data" in draft.files
            case "show":
                return "data" in draft.files and "preprocess" in draft.task.get("data", {})
            case "cut":
                placed = draft.task.get("data", {}).get("source") != "url" or address_state(draft)[0]
                return placed and "data" in draft.files and holds(draft, "convert", folder)
            case "rehearse":
                shards = draft.task.get("data", {}).get("source") in ("shards", "url")
                return holds(draft, "convert", folder) and (not shards or holds(draft, "cut", folder))

    def _wants(self, draft: Draft, kind: JobKind) -> bool:
        """Whether a draft lacks what such a job makes, and has what it needs."""
        folder = self._drafts.folder(draft)
        if holds(draft, kind, folder) or not self._ready(draft, kind):
            return False
        match kind:
            case "look":
                # What the model takes says how its data are to be read.
                conversion = draft.jobs.get("convert")
                return conversion is None or not conversion.live
            case "cut":
                data = draft.task.get("data", {})
                asked = data.get("source") in ("shards", "url") and "preprocess" in data
                return asked and holds(draft, "look", folder)
            case _:
                return True

    async def _work(self) -> None:
        while not self._stopping:
            if not self._queue:
                self._wake.clear()
                await self._wake.wait()
                continue
            draft, kind = self._current = self._queue.popleft()
            self._halt.clear()
            try:
                await self._do(draft, kind, draft.jobs[kind])
            finally:
                self._current = None
                self._spread()
            if not self._stopping:
                await self._go_on(draft)

    async def _go_on(self, draft: Draft) -> None:
        """As `advance`; a full disk must not end the work on the drafts of others."""
        try:
            await self.advance(draft)
        except MingaError as error:
            log.error("a draft does not go on", draft=draft.id, reason=str(error))

    async def _do(self, draft: Draft, kind: JobKind, job: DraftJob) -> None:
        loop = asyncio.get_running_loop()

        def tell(text: str) -> None:
            loop.call_soon_threadsafe(self._hear, job, text)

        # As it is now: it may have been changed while the job waited.
        job.state, job.of = "running", fingerprint(draft, kind)
        try:
            await self._drafts.save(draft, touched=False)
            result, message = await asyncio.to_thread(
                perform, self._drafts, draft, kind, tell, self._halt.is_set
            )
        except CancelledError as error:
            if not self._stopping:
                await self._end(draft, job, "cancelled", str(error))
        except MingaError as error:
            await self._end(draft, job, "failed", str(error))
        except Exception as error:
            # A shell: one file that makes work fail in a way nobody thought of must not end the others'.
            log.exception("work on a draft failed", draft=draft.id, kind=kind)
            await self._end(draft, job, "failed", f"This failed unexpectedly ({type(error).__name__}).")
        else:
            job.result = result
            _take_in(draft, kind, job)
            await self._end(draft, job, "done", message)

    def _say(self, job: DraftJob, text: str) -> None:
        job.log.append(JobLine(self._drafts.clock(), text))

    def _hear(self, job: DraftJob, text: str) -> None:
        self._say(job, text)
        self._spread()

    def _spread(self) -> None:
        """Wakes those who watch."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def _end(self, draft: Draft, job: DraftJob, state: Any, text: str) -> None:
        job.state, job.ended = state, self._drafts.clock()
        self._say(job, text)
        await self._drafts.save(draft, touched=False)
        self._spread()


def _take_in(draft: Draft, kind: JobKind, job: DraftJob) -> None:
    """Writes into the task file what a job proposes, where its owner has not said it."""
    if kind == "look":
        draft.task = task_tables.proposed(draft.task, msgspec.convert(job.result, DataFindings))
    if kind == "cut" and job.result is not None and job.of == fingerprint(draft, kind):
        draft.task = url_completed(draft.task, draft.files.get("data"), job.result)
    if kind == "convert" and job.result is not None and job.of == fingerprint(draft, kind):
        draft.task = task_tables.with_model(draft.task, job.result["model"])
        job.of = fingerprint(draft, kind)
