"""Makes senders wait until few enough bytes are queued for a link."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Backpressure:
    """Blocks senders to a client while too many bytes wait for it.

    `buffered` returns the bytes that wait for a client; `notify` is called when these may be fewer.
    """

    def __init__(self, buffered: Callable[[str], int]) -> None:
        self._buffered = buffered
        self._waiting: dict[str, list[tuple[int, asyncio.Future[None]]]] = {}

    async def wait(self, client: str, below: int) -> None:
        """Waits until fewer than `below` bytes wait for `client`, or none."""
        below = max(below, 1)
        if self._buffered(client) >= below:
            future = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(client, []).append((below, future))
            await future

    def notify(self, client: str) -> None:
        """Resumes the senders for which few enough bytes wait now."""
        waiting = self._waiting.get(client)
        if not waiting:
            return
        buffered = self._buffered(client)
        self._waiting[client] = [entry for entry in waiting if buffered >= entry[0]]
        for below, future in waiting:
            if buffered < below and not future.done():
                future.set_result(None)
