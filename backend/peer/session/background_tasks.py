"""The coroutines that run beside each other in one session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class SessionTasks:
    """Coroutines of one session. `failed` is told of an exception that ends one."""

    def __init__(self, failed: Callable[[BaseException], None]) -> None:
        self._failed = failed
        self._running: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begins `work`."""
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)

    async def end(self) -> None:
        """Ends what is left."""
        left = list(self._running)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
