"""Work units over real sockets: who gets them, and what becomes of results."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import AsyncExitStack
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pytest

from backend.wire.messages import Leave, Ready
from backend.wire.unit_messages import (
    Beat,
    Board,
    Counted,
    Drop,
    Idle,
    Rejected,
    Release,
    Result,
    Standing,
    Taken,
    Unit,
    Want,
)
from tests.integration.server.conftest import Serve
from tests.support.tasks.tiny_task import EXAMPLES, SHARDS, SIZE
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server
from tests.support.web.unit_client import UnitClient

ALONE: dict[str, Any] = {"replicas": 1, "spot_checks": 0.0}
# Five rows in batches of four.
STEPS = 2
ONES = np.ones(SIZE, np.float32)


def fetched(server: Server, address: str) -> bytes | None:
    """A blob; None where there is none."""
    try:
        with urlopen(f"{server.url}/blobs/{address}", timeout=PATIENCE) as answer:
            content: bytes = answer.read()
            return content
    except HTTPError as error:
        with error:
            if error.code != 404:
                raise
        return None


async def done(client: UnitClient, unit: Unit, update: Any = ONES) -> Counted | Rejected:
    """Sends a whole result; what is found of it."""
    await client.deliver(unit, update, steps=STEPS)
    while True:
        found: Counted | Rejected = await client.next(Counted, Rejected)
        if found.lease == unit.lease:
            return found


async def test_a_client_that_is_alone_does_all_units_and_each_moves_the_model_at_once(units: Serve) -> None:
    server = units(epochs=2, trust=ALONE, assimilation={"name": "vc-asgd", "alpha": 0.5})
    async with UnitClient(server.url) as client:
        await client.ready()
        shards, weights = [], []
        for _ in range(2 * SHARDS):
            unit = await client.next(Unit)
            shards.append((unit.epoch, unit.shard.sha256))
            weights.append(await client.weights(unit))
            assert (unit.first, unit.examples, unit.base) == (0, EXAMPLES, len(weights) - 1)
            found = await done(client, unit)
            assert found == Counted(lease=unit.lease, examples=EXAMPLES, blended=True)
        board = await client.next(Board)
        while board.phase != "finished":
            board = await client.next(Board)
    assert len(set(shards)) == 2 * SHARDS
    assert (board.epoch, board.base) == (2, 2 * SHARDS)
    # W <- 0.5 W + 0.5 (W + 1), each from the newest.
    for number, vector in enumerate(weights):
        assert vector == pytest.approx(np.arange(SIZE) + 0.5 * number)
    summary = server.get("/api/tasks/tiny")
    assert (summary["scheme"], summary["version"], summary["phase"]) == ("volunteer", 2, "finished")
    made = await asyncio.to_thread(fetched, server, summary["weights"])
    assert np.frombuffer(made or b"", "<f4") == pytest.approx(np.arange(SIZE) + SHARDS)
    (given,) = server.get("/api/tasks/tiny/contributions")["contributions"]
    assert given["examples"] == 2 * SHARDS * EXAMPLES
    # 116 in a batch of 4, for each local epoch.
    assert given["operations"] == 116 * given["examples"] // 4 * unit.epochs


async def test_newcomers_do_the_same_unit_from_the_same_weights_and_one_of_both_is_blended(
    units: Serve,
) -> None:
    server = units(epochs=1)
    async with UnitClient(server.url) as ann, UnitClient(server.url) as bob:
        await ann.ready()
        one = await ann.next(Unit)
        taken = await ann.deliver(one, ONES, steps=STEPS)
        assert isinstance(taken, Taken)
        assert taken.waits
        await bob.ready()
        other = await bob.next(Unit)
        same = ("unit", "base", "weights", "seed", "shard", "first", "examples")
        assert [getattr(one, key) for key in same] == [getattr(other, key) for key in same]
        found = [await done(bob, other), await ann.next(Counted)]
    assert sorted(one.blended for one in found if isinstance(one, Counted)) == [False, True]


async def test_results_that_come_together_after_a_unit_is_done_are_each_compared(units: Serve) -> None:
    token = secrets.token_urlsafe(24)
    server = units(epochs=1, trust={"replicas": 6})
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(UnitClient(server.url, token=token))
        await first.ready()
        unit = await first.next(Unit)
        await first.deliver(unit, ONES, steps=STEPS)
        others = [await stack.enter_async_context(UnitClient(server.url)) for _ in range(5)]
        given = []
        for client in others:
            await client.ready()
            while (mine := await client.next(Unit)).unit != unit.unit:
                await client.say(Release(lease=mine.lease, cause="stopping"))
            given.append(mine)
        found = await asyncio.gather(*map(done, others, given), first.next(Counted))
    blended = [one.blended for one in found if isinstance(one, Counted)]
    assert sorted(blended) == [False] * 5 + [True]


async def test_clients_whose_results_are_doubtful_are_given_work_all_the_same(units: Serve) -> None:
    # Proven clients' results are judged alone; one that is like another unit's may be a copy.
    server = units(epochs=3, trust={"checked": 1, "spot_checks": 1e-9})

    async def work(client: UnitClient) -> None:
        await client.ready()
        phase = "training"
        while phase != "finished":
            message: Unit | Board = await client.next(Unit, Board)
            if isinstance(message, Board):
                phase = message.phase
            else:
                await client.deliver(message, ONES, steps=STEPS)

    async with UnitClient(server.url) as ann, UnitClient(server.url) as bob:
        await asyncio.gather(work(ann), work(bob))
    assert server.get("/api/tasks/tiny")["version"] == 3


async def test_each_unit_that_two_did_is_in_the_model_once(units: Serve) -> None:
    server = units(epochs=1)
    async with UnitClient(server.url) as ann, UnitClient(server.url) as bob:
        for client in (ann, bob):
            await client.ready(SHARDS)

        async def work(client: UnitClient) -> None:
            while True:
                message: Unit | Board = await client.next(Unit, Board)
                if isinstance(message, Unit):
                    await client.deliver(message, ONES, steps=STEPS)
                elif message.phase == "finished":
                    return

        await asyncio.gather(work(ann), work(bob))
    (version,) = [one for one in server.get("/api/tasks/tiny/versions")["versions"] if one["version"]]
    assert version["accepted"] == SHARDS
    assert server.get("/api/tasks/tiny")["phase"] == "finished"


async def test_a_lease_is_repeated_to_who_comes_back_and_gone_where_it_left(units: Serve) -> None:
    server = units(trust=ALONE)
    async with UnitClient(server.url) as client:
        await client.ready()
        unit = await client.next(Unit)
    async with UnitClient(server.url, token=client.token) as again:
        await again.ready()
        repeated = await again.next(Unit)
        assert (repeated.lease, repeated.unit, repeated.weights) == (unit.lease, unit.unit, unit.weights)
        await again.say(Leave())
    async with UnitClient(server.url) as other:
        await other.ready(SHARDS)
        assert unit.unit in [one.unit for one in await other.units(SHARDS)]


async def test_what_is_given_back_goes_to_somebody_else(units: Serve) -> None:
    server = units(trust=ALONE)
    async with UnitClient(server.url) as ann, UnitClient(server.url) as bob:
        await ann.ready(SHARDS)
        taken = await ann.units(SHARDS)
        await bob.ready()
        assert (await bob.next(Idle)).cause == "nothing"
        await ann.say(Want(0))
        await ann.say(Release(taken[2].lease, "paused"))
        assert (await bob.next(Unit)).unit == taken[2].unit
        await ann.say(Beat(taken[2].lease, 1))
        assert (await ann.next(Drop)).lease == taken[2].lease


@pytest.mark.parametrize(
    ("update", "code"),
    [
        (np.full(SIZE, np.nan, np.float32), "not-finite"),
        (np.full(SIZE, 1e3, np.float32), "norm-too-large"),
    ],
)
async def test_a_result_that_cannot_be_counts_against_who_sent_it(
    units: Serve, update: Any, code: str
) -> None:
    server = units(trust=ALONE | {"quota": 8})
    async with UnitClient(server.url) as client:
        await client.ready()
        before = await client.next(Standing)
        unit = await client.next(Unit)
        found = await done(client, unit, update)
        assert isinstance(found, Rejected)
        assert found.code == code
        after = await client.next(Standing)
        assert before.quota == 8
        # Half a quota, of which one is used up.
        assert (after.quota, after.credited) == (3, 0)
    assert server.get("/api/tasks/tiny")["version"] == 0


async def test_a_result_of_another_length_or_of_nobodys_lease_is_refused(units: Serve) -> None:
    server = units(trust=ALONE)
    async with UnitClient(server.url) as client:
        await client.ready()
        unit = await client.next(Unit)
        wrong = await client.deliver(unit, ONES[:-1])
        assert isinstance(wrong, Rejected)
        assert wrong.code == "wrong-length"
        other = await client.next(Unit)
        await client.say(Result(12345, EXAMPLES, STEPS, 0.5, [(1.0, 4.0)], 4 * SIZE))
        assert (await client.next(Rejected)).lease == 12345
        assert isinstance(await done(client, other), Counted)


@pytest.mark.parametrize(
    "said",
    [{"examples": 0}, {"examples": EXAMPLES + 1}, {"steps": 0}, {"steps": STEPS + 1}],
    ids=str,
)
async def test_a_result_of_more_or_less_than_can_be_is_refused_and_its_unit_done_by_others(
    units: Serve, said: dict[str, int]
) -> None:
    server = units(trust=ALONE)
    async with UnitClient(server.url) as ann, UnitClient(server.url) as bob:
        await ann.ready()
        unit = await ann.next(Unit)
        found = await ann.deliver(unit, ONES, **{"steps": STEPS, **said})
        assert isinstance(found, Rejected)
        assert found.code == "bad-examples"
        await bob.ready(SHARDS)
        assert unit.unit in [one.unit for one in await bob.units(SHARDS - 1)]


@pytest.mark.parametrize(("plan", "rows"), [("epochs=1", EXAMPLES), ("epochs=3", 4), ("steps=50", EXAMPLES)])
async def test_a_unit_is_halved_where_all_its_epochs_take_too_long_but_never_in_vain(
    units: Serve, plan: str, rows: int
) -> None:
    server = units("--set", f"tiny.training.{plan}", trust=ALONE, seconds=120)
    async with UnitClient(server.url) as client:
        # Five rows in batches of four are 50 s; of a fixed number of steps a half takes as long as the whole.
        await client.say(Ready(backend="numpy", step_ms=40_000.0, examples=0))
        await client.say(Want(1))
        assert (await client.next(Unit)).examples == rows


async def test_the_weights_of_recent_units_stay_for_replays(units: Serve) -> None:
    server = units(trust=ALONE)
    async with UnitClient(server.url) as client:
        await client.ready()
        first = await client.next(Unit)
        await done(client, first)
        second = await client.next(Unit)
        await client.weights(second)
        await done(client, second)
        third = await client.next(Unit)
        await client.weights(third)
        # The model moved on before the third unit was told of.
        assert third.weights != second.weights
        assert await asyncio.to_thread(fetched, server, second.weights) is not None
