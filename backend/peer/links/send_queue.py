"""Queues the frames of one link, control frames before bulk."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable


class SendQueue:
    """Sends frames one after the other, control frames first. Its link owns it.

    `transmit` waits while the way is full; `sent` is called with the size of each frame after it was sent.
    """

    def __init__(self, transmit: Callable[[bytes], Awaitable[object]], sent: Callable[[int], None]) -> None:
        self._transmit = transmit
        self._sent = sent
        self._control: deque[bytes] = deque()
        self._bulk: deque[bytes] = deque()
        self._filled = asyncio.Event()
        self.waiting = 0

    def put(self, frame: bytes, bulk: bool) -> None:
        """Queues a frame."""
        (self._bulk if bulk else self._control).append(frame)
        self.waiting += len(frame)
        self._filled.set()

    async def run(self) -> None:
        """Sends until cancelled, or until `transmit` raises."""
        while True:
            while not (self._control or self._bulk):
                self._filled.clear()
                await self._filled.wait()
            frame = (self._control or self._bulk).popleft()
            await self._transmit(frame)
            self.waiting -= len(frame)
            self._sent(len(frame))
