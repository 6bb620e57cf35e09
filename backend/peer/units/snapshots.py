"""Fetches the weights that current units start from, once for all units of the same weights.

They are in memory only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from backend.peer.training.step import Vector


class FetchedWeights:
    """Owns each vector for as long as a lease needs it; `fetch` loads one by its SHA-256."""

    def __init__(self, fetch: Callable[[str], Awaitable[Vector]]) -> None:
        self._fetch = fetch
        self._vectors: dict[str, asyncio.Task[Vector]] = {}
        self._needed: dict[int, str] = {}

    async def take(self, lease: int, address: str) -> Vector:
        """Returns the weights for `lease`, until `release`.

        Raises the errors of `fetch`; a later call retries.
        """
        self._needed[lease] = address
        task = self._vectors.get(address)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._vectors[address] = asyncio.ensure_future(self._get(address))
        # A lease that is forgotten must not cancel the download for the others.
        return await asyncio.shield(task)

    def release(self, lease: int) -> None:
        """Drops the weights of `lease`, unless another lease needs them."""
        address = self._needed.pop(lease, None)
        if address is not None and address not in self._needed.values():
            self._vectors.pop(address).cancel()

    async def _get(self, address: str) -> Vector:
        return await self._fetch(address)
