"""What a session has going on beside each other, and work that is tried again while the server is away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from backend.errors import PeerError, UnreachableError
from backend.peer.session.progress import Teller

T = TypeVar("T")

PAUSE = 2.0


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


async def insist(
    work: Callable[[], Awaitable[T]], given_up: Callable[[], bool], reporter: Teller
) -> T | None:
    """What `work` makes, tried again while the server does not answer; None once it is given up."""
    while not given_up():
        try:
            return await work()
        except UnreachableError as error:
            reporter.tell("trouble", f"{error} Trying again in {PAUSE:.0f} s.")
            await asyncio.sleep(PAUSE)
        except PeerError:
            if not given_up():
                raise  # Else the round is over, and the server may have let its version go.
    return None
