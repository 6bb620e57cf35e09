"""A server whose parameters another one took over would wait for ever; its volunteers work for nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np

from backend.wire.unit_messages import Board, Counted, Unit
from tests.support.attacks.units_server import ALONE, STEPS, units_server
from tests.support.environment.databases import serving_redis
from tests.support.tasks.tiny_task import SHARDS, SIZE
from tests.support.timeouts import PATIENCE
from tests.support.web.unit_client import UnitClient

ONES = np.ones(SIZE, np.float32)


async def test_a_server_whose_parameters_were_taken_over_says_so_and_stops(tmp_path: Path) -> None:
    flags, rules = ["--parameters"], {"epochs": 1, "trust": ALONE, "assimilation": {"name": "downpour"}}
    with serving_redis() as redis, units_server(tmp_path / "a", *flags, redis.address, **rules) as first:
        async with UnitClient(first.url) as ann:
            await ann.ready()
            unit = await ann.next(Unit)
            await ann.deliver(unit, ONES, steps=STEPS)
            assert isinstance(await ann.next(Counted), Counted)
            unit = await ann.next(Unit)
            with units_server(tmp_path / "b", *flags, redis.address, **rules) as second:
                async with UnitClient(second.url) as bob, asyncio.timeout(PATIENCE):
                    await bob.ready()
                    theirs = await bob.next(Unit)
                    await ann.deliver(unit, ONES, steps=STEPS)
                    while (await ann.next(Board)).phase != "finished":
                        pass
                    # Nobody is held up, and what the other one does is its own.
                    for number in range(SHARDS):
                        theirs = theirs if number == 0 else await bob.next(Unit)
                        assert theirs.base == number
                        await bob.deliver(theirs, ONES, steps=STEPS)
                        assert isinstance(await bob.next(Counted), Counted)
                    while (await bob.next(Board)).phase != "finished":
                        pass
            told = await asyncio.to_thread(first.get, "/api/tasks/tiny")
            # The result from before is kept, in a version of the first server's own.
            assert (told["version"], told["state"], told["trouble"]) == (1, "finished", None)
            (epoch,) = (await asyncio.to_thread(first.get, "/api/tasks/tiny/rounds"))["rounds"]
            assert (epoch["accepted"], epoch["outcome"]) == (1, "version")
            assert epoch["reason"].startswith("Another server began with the parameters of tiny in Redis.")
        assert first.stop() == 0
