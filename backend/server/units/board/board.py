"""What is told of the work units of a task, made anew only now and then, however many ask."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from backend.server.units.board.overview import picture
from backend.server.units.board.scores import scores
from backend.server.units.host import UnitsHost

# What is told is so old at most, in seconds; where it takes long to make, it may not take more than this part
# of the server's time.
LEAST_SECONDS, LARGEST_PART = 1.0, 0.05
# Results that an epoch's figures are made of: the newest of a long run.
MOST_RESULTS = 20_000


class UnitsBoard:
    """Reads one host."""

    def __init__(self, host: UnitsHost) -> None:
        self._host = host
        self._told: dict[str, Any] = {}
        self._until = -1.0
        self._lock = asyncio.Lock()

    async def told(self) -> dict[str, Any]:
        """Units, shards, clients, servers and epochs (docs/reference/http.md). Raises StoreError.

        `newer_in` is the number of seconds until a newer answer exists.
        """
        async with self._lock:
            if time.monotonic() >= self._until:
                began = time.monotonic()
                self._told = await self._look()
                now = time.monotonic()
                self._until = now + max(LEAST_SECONDS, (now - began) / LARGEST_PART)
            return {**self._told, "newer_in": max(0.0, self._until - time.monotonic())}

    async def _look(self) -> dict[str, Any]:
        host, state = self._host, self._host.state
        results = await host.assimilations(0, MOST_RESULTS)
        now = asyncio.get_running_loop().time()
        return {
            **picture(
                state.scheduler,
                state.servers,
                host.presences,
                state.model.base,
                state.units.epochs,
                state.units.trust,
                now,
            ),
            "scores": await asyncio.to_thread(scores, results),
        }
