"""Weights that units in hand start from: in memory alone, each fetched once, however many units name it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from backend.peer.training.step import Vector


class FetchedWeights:
    """Owns the vectors for as long as a lease needs them; `fetch` gets one by its SHA-256."""

    def __init__(self, fetch: Callable[[str], Awaitable[Vector]]) -> None:
        self._fetch = fetch
        self._vectors: dict[str, asyncio.Task[Vector]] = {}
        self._needed: dict[int, str] = {}

    async def take(self, lease: int, address: str) -> Vector:
        """The weights for `lease`, until `release`. Raises what `fetch` raises; then ask again."""
        self._needed[lease] = address
        task = self._vectors.get(address)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._vectors[address] = asyncio.ensure_future(self._get(address))
        # One lease that is forgotten takes nothing away from the others.
        return await asyncio.shield(task)

    def release(self, lease: int) -> None:
        """`lease` needs its weights no longer."""
        address = self._needed.pop(lease, None)
        if address is not None and address not in self._needed.values():
            self._vectors.pop(address).cancel()

    async def _get(self, address: str) -> Vector:
        return await self._fetch(address)
