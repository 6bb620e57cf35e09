"""The shared lock: jobs hold it together, or one job alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class SharedLock:
    """A shared/exclusive lock for the tasks of one event loop.

    A task that waits for the exclusive lock comes before all that ask for a shared one after it.
    """

    def __init__(self) -> None:
        self._holders = 0
        # Whether a task has the exclusive lock or waits for the holders of a shared one.
        self._exclusive = False
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def held(self, *, exclusive: bool) -> AsyncIterator[None]:
        """Holds the lock, shared or exclusive, after waiting for those that exclude it."""
        while self._exclusive:
            await self._change()
        self._exclusive = exclusive
        try:
            while exclusive and self._holders:
                await self._change()
            self._holders += 1
            try:
                yield
            finally:
                self._holders -= 1
        finally:
            if exclusive:
                self._exclusive = False
            self._changed.set()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()
