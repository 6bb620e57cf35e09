"""Clients that go on from weights of their own: Downpour that fetches seldom, and EASGD."""

from __future__ import annotations

import numpy as np
import pytest

from backend.wire.unit_messages import Drop, Unit
from tests.integration.server.conftest import Serve
from tests.integration.server.units.test_work_units import ALONE, ONES
from tests.support.tasks.tiny_task import SIZE
from tests.support.web.unit_client import UnitClient

BEGAN = np.arange(SIZE, dtype=np.float32)
# A step is a unit; every other one begins at weights that are fetched.
DOWNPOUR = {"name": "downpour", "n_push": 1, "n_fetch": 2}


async def test_a_client_of_downpour_pushes_what_it_learned_since_its_last_push(units: Serve) -> None:
    server = units(trust=ALONE, assimilation=DOWNPOUR)
    async with UnitClient(server.url) as ann, UnitClient(server.url) as bob:
        await ann.ready(slots=4)
        first, *_ = await ann.units(4)
        await bob.ready()
        other = await bob.next(Unit)
        assert (first.start, other.start, first.base, other.base) == ("given", "given", 0, 0)
        await bob.deliver(other, 10 * ONES, steps=1)
        # When Bob is given more, what he pushed is in the model.
        assert (await bob.next(Unit)).base == 1
        await ann.deliver(first, ONES, steps=1)
        second = await ann.next(Unit)
        given = await ann.weights(second)
        assert second.start == "own"
        assert given == pytest.approx(BEGAN + 11)
        # Her own weights are 1 above where all began, and go up by 5.
        await ann.deliver(second, BEGAN + 6 - given, steps=1)
        third = await ann.next(Unit)
        assert third.start == "given"
        assert await ann.weights(third) == pytest.approx(BEGAN + 16)


async def test_a_client_of_easgd_is_told_how_strongly_it_is_drawn_to_the_model(units: Serve) -> None:
    server = units(trust=ALONE, assimilation={"name": "easgd", "alpha": 0.25})
    async with UnitClient(server.url) as client:
        await client.ready()
        first = await client.next(Unit)
        assert (first.start, first.elasticity) == ("given", 0.0)
        await client.deliver(first, 4 * ONES, steps=2)
        second = await client.next(Unit)
        # The client is at 4, the model went from 0 to 1: a third of what is left takes the client to 3.
        assert second.start == "elastic"
        assert second.elasticity == pytest.approx(1 / 3)
        assert await client.weights(second) == pytest.approx(BEGAN + 1)


async def test_what_began_at_own_weights_ends_with_the_connection_that_knew_them(units: Serve) -> None:
    server = units(trust=ALONE, assimilation=DOWNPOUR)
    async with UnitClient(server.url) as client:
        await client.ready()
        await client.deliver(await client.next(Unit), ONES, steps=1)
        own = await client.next(Unit)
        assert own.start == "own"
    async with UnitClient(server.url, token=client.token) as again:
        await again.ready()
        unit = await again.next(Unit)
        assert (unit.start, unit.lease == own.lease) == ("given", False)
        refused = await again.deliver(own, ONES, steps=1)
        assert not isinstance(refused, Drop)
        assert refused.lease == own.lease
