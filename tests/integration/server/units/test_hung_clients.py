"""A page lives on while its computation hangs: its heartbeats do not keep its units for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from backend.wire.unit_messages import Beat, Renewed, Taken, Unit
from tests.integration.server.conftest import Serve
from tests.support.tasks.tiny_task import SHARDS
from tests.support.web.unit_client import UnitClient

LEASE = 2.0
ALONE: dict[str, Any] = {"replicas": 1, "spot_checks": 0.0}


async def beats(client: UnitClient, units: Sequence[Unit], working: bool) -> None:
    """Sends heartbeats until it is cancelled; the first unit's tell of steps if the client is `working`."""
    steps = 0
    while True:
        steps += working
        for unit in units:
            await client.say(Beat(unit.lease, steps if unit is units[0] else 0))
        await asyncio.sleep(LEASE / 8)


async def test_units_of_a_client_that_takes_no_steps_go_to_others_after_a_lease(units: Serve) -> None:
    server = units(trust=ALONE, lease=LEASE)
    async with UnitClient(server.url) as hung, UnitClient(server.url) as other:
        await hung.ready(SHARDS)
        taken = await hung.units(SHARDS)
        beating = asyncio.create_task(beats(hung, taken, working=False))
        await other.ready(SHARDS)
        given = await other.units(SHARDS)
        assert not beating.done()
        beating.cancel()
        with suppress(TimeoutError):
            await hung.next(Taken, patience=1.0)
    assert {unit.unit for unit in given} == {unit.unit for unit in taken}
    # No heartbeat moved the end of a lease.
    first = [
        frame.seconds for frame in hung.heard if isinstance(frame, Renewed) and frame.lease == taken[0].lease
    ]
    assert len(first) > 2
    assert first == sorted(set(first), reverse=True)


async def test_a_client_keeps_all_its_units_while_it_takes_steps_of_one(units: Serve) -> None:
    server = units(trust=ALONE, lease=LEASE)
    async with UnitClient(server.url) as slow, UnitClient(server.url) as other:
        await slow.ready(SHARDS)
        taken = await slow.units(SHARDS)
        beating = asyncio.create_task(beats(slow, taken, working=True))
        await other.ready(SHARDS)
        await asyncio.sleep(2 * LEASE)
        assert not beating.done()
        beating.cancel()
        await slow.next(Renewed)
        assert [message for message in other.heard if isinstance(message, Unit)] == []
