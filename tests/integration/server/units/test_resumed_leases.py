"""Clients that gave a unit back when they left, and come back with a checkpoint of it."""

from __future__ import annotations

from backend.wire.messages import Leave, Ready
from backend.wire.unit_messages import Beat, Counted, Drop, Release, Unit, Want
from tests.integration.server.conftest import Serve
from tests.integration.server.units.test_work_units import ALONE, done
from tests.support.web.unit_client import UnitClient

READY = Ready(backend="numpy", step_ms=1.0, examples=0)


async def test_a_client_that_left_gets_its_unit_again_and_others_are_not_kept_waiting(units: Serve) -> None:
    server = units(epochs=1, trust=ALONE)
    async with UnitClient(server.url) as client:
        await client.ready()
        unit = await client.next(Unit)
        await client.say(Release(lease=unit.lease, cause="stopping"))
        await client.say(Leave())
    async with UnitClient(server.url, token=client.token) as again:
        await again.say(READY)
        await again.say(Beat(lease=unit.lease, steps=0))
        same = await again.next(Unit)
        assert (same.lease, same.unit, same.weights, same.seed) == (
            unit.lease,
            unit.unit,
            unit.weights,
            unit.seed,
        )
        assert await again.weights(same) is not None
        found = await done(again, same)
        assert isinstance(found, Counted)
        await again.say(Want(slots=1))
        other = await again.next(Unit)
        await again.say(Release(lease=other.lease, cause="stopping"))
        await again.say(Leave())
    async with UnitClient(server.url) as stranger:
        await stranger.ready(slots=64)
        while (await stranger.next(Unit)).unit != other.unit:
            pass
        async with UnitClient(server.url, token=client.token) as late:
            await late.say(READY)
            await late.say(Beat(lease=other.lease, steps=0))
            assert (await late.next(Drop)).lease == other.lease
