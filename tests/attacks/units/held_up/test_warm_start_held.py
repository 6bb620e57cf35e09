"""One newcomer would keep everybody from work in a warm start, where one unit at a time is given."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from backend.wire.unit_messages import Beat, Unit
from tests.support.attacks.units_server import units_server
from tests.support.web.unit_client import UnitClient

LEASE = 2.0
WARM = {"name": "vc-asgd", "warm_start": 2}


@asynccontextmanager
async def holding(client: UnitClient) -> AsyncIterator[None]:
    """Holds the client's unit by heartbeats."""
    await client.ready()
    unit = await client.next(Unit)

    async def beat() -> None:
        while True:
            await client.say(Beat(lease=unit.lease, steps=0))
            await asyncio.sleep(LEASE / 8)

    task = asyncio.create_task(beat())
    try:
        yield
    finally:
        task.cancel()


async def test_a_unit_held_by_heartbeats_costs_a_warm_start_one_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINGA_TRUSTED_PROXIES", "127.0.0.1")
    with units_server(tmp_path, epochs=1, lease=LEASE, assimilation=WARM) as server:
        async with (
            UnitClient(server.url, address="203.0.113.7") as eve,
            UnitClient(server.url, address="198.51.100.1") as ann,
            holding(eve),
        ):
            began = time.monotonic()
            await ann.ready()
            await ann.next(Unit)
            assert LEASE / 2 < time.monotonic() - began < 2 * LEASE
