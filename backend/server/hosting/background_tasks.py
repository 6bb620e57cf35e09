"""Runs the jobs of a task's host that take time, beside its event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import structlog

from backend.errors import FinalStoreError, MingaError, StoreError
from backend.server.observers import task_events

log = structlog.stdlib.get_logger("minga.host")

Result = TypeVar("Result")

# Seconds between attempts to record something: short, because all clients wait and an attempt costs little.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 10.0


class BackgroundTasks:
    """Owns the background jobs of the task `task`. Calls `notice` when its stores fail and recover.

    `trouble` is the reason why the task waits for its stores; None while they work.
    """

    def __init__(self, task: str, notice: Callable[[task_events.TaskEvent], None]) -> None:
        self._task = task
        self._notice = notice
        self._running: set[asyncio.Task[None]] = set()
        self.trouble: str | None = None

    def spawn(self, job: Coroutine[Any, Any, None]) -> None:
        """Starts a job. Its errors are logged."""
        task = asyncio.create_task(self._guarded(job))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def stop(self) -> None:
        """Cancels all jobs and waits for their end."""
        for job in self._running:
            job.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def stored(self, store: Callable[[], Awaitable[Result]]) -> Result:
        """Retries `store` until it succeeds; its result. A full disk costs time, but no round and no update.

        Raises FinalStoreError, which no retry can mend.
        """
        pause = FIRST_PAUSE
        while True:
            try:
                result = await store()
            except FinalStoreError:
                self._mended()
                raise
            except StoreError as error:
                self.trouble = str(error)
                self._notice(task_events.StoreFailed(str(error), pause))
                await asyncio.sleep(pause)
                pause = min(LONGEST_PAUSE, 2 * pause)
                continue
            self._mended()
            return result

    def _mended(self) -> None:
        """Notes that the stores answer again."""
        if self.trouble is not None:
            self.trouble = None
            self._notice(task_events.StoreMended())

    async def _guarded(self, job: Coroutine[Any, Any, None]) -> None:
        try:
            await job
        except MingaError as error:
            log.error("a job failed", task=self._task, reason=str(error))
        except Exception:
            # A shell: a failed job is logged and must not end the task.
            log.exception("a job failed", task=self._task)
