"""Work of a task's host that takes time, beside its turns."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import structlog

from backend.errors import MingaError, RecordedBeforeError, StoreError
from backend.server.observers import task_events

log = structlog.stdlib.get_logger("minga.host")

Result = TypeVar("Result")

# Between attempts to record something: short, because everybody waits, and because trying costs little.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 10.0


class BackgroundTasks:
    """Owns what runs for the task `task`. `notice` is told when its stores fail.

    `trouble` says why the task waits for its stores; None while all is well.
    """

    def __init__(self, task: str, notice: Callable[[task_events.TaskEvent], None]) -> None:
        self._task = task
        self._notice = notice
        self._running: set[asyncio.Task[None]] = set()
        self.trouble: str | None = None

    def spawn(self, job: Coroutine[Any, Any, None]) -> None:
        """Runs a job. What goes wrong with it is logged."""
        task = asyncio.create_task(self._guarded(job))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def stop(self) -> None:
        """Ends everything that runs."""
        for job in self._running:
            job.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def stored(self, store: Callable[[], Awaitable[Result]]) -> Result:
        """Does `store` until it succeeds: a full disk costs time, but no round and nobody's work."""
        pause = FIRST_PAUSE
        while True:
            try:
                result = await store()
            except RecordedBeforeError:
                raise
            except StoreError as error:
                self.trouble = str(error)
                self._notice(task_events.StoreFailed(str(error), pause))
                await asyncio.sleep(pause)
                pause = min(LONGEST_PAUSE, 2 * pause)
                continue
            if self.trouble is not None:
                self.trouble = None
                self._notice(task_events.StoreMended())
            return result

    async def _guarded(self, job: Coroutine[Any, Any, None]) -> None:
        try:
            await job
        except MingaError as error:
            log.error("a job failed", task=self._task, reason=str(error))
        except Exception:
            # A shell: what a job leaves undone is logged, and the task goes on.
            log.exception("a job failed", task=self._task)
