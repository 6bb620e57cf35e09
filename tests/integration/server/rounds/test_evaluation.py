"""Clients measure versions on held-out shards, over real sockets; none of them is awaited for long."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import numpy as np
import pytest

from backend.wire.messages import Evaluate, Evaluated, Evaluation, Leave, Train
from tests.integration.server.conftest import Serve
from tests.support.tasks.tiny_task import EXAMPLES, SIZE
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server

# Every version is measured by all clients, on four held-out shards.
MEASURED = {"holdout": 4, "fraction_evaluate": 1.0}
# Seconds after which nobody is waited for; enough for the others on a busy machine.
DEADLINE = 6


async def train(*clients: Client) -> list[Evaluate]:
    """One round in which all deliver; what each is asked to measure then."""
    for client in clients:
        await client.ready()
    plans = await asyncio.gather(*(client.selected() for client in clients))
    await asyncio.gather(
        *(client.deliver(plan, np.ones(SIZE)) for client, plan in zip(clients, plans, strict=True))
    )
    return await asyncio.gather(*(client.next(Evaluate) for client in clients))


def answer(request: Evaluate, **said: Any) -> Evaluation:
    honest: dict[str, Any] = {
        "round": request.round,
        "version": request.version,
        "examples": sum(shard.examples for shard in request.shards),
        "loss": 0.5,
        "sums": [(4.0, 10.0)],
    }
    return Evaluation(**(honest | said))


async def found_by_clients(client: Client) -> Evaluated:
    while True:
        found = await client.next(Evaluated)
        if found.source == "clients":
            return found


async def second_round(client: Client) -> bool:
    """Whether it opens. It may have, before the news of the evaluation came."""
    opened = any(isinstance(heard, Train) and heard.round == 2 for heard in client.heard)
    return opened or (await client.selected()).round == 2


async def test_sums_of_clients_are_those_of_all_examples_together(serve: Serve) -> None:
    server = serve(**MEASURED, min_available_clients=3)
    async with Client(server.url) as ann, Client(server.url) as bob, Client(server.url) as eve:
        requests = await train(ann, bob, eve)
        shards = [shard.sha256 for request in requests for shard in request.shards]
        assert len(shards) == len(set(shards)) == 4
        assert {request.version for request in requests} == {1}
        said = [(5, 0.25, (1.0, 5.0)), (5, 0.75, (5.0, 5.0)), (4, 1.5, (0.0, 7.0))]
        for client, request, (examples, loss, sums) in zip((ann, bob, eve), requests, said, strict=True):
            await client.say(answer(request, examples=examples, loss=loss, sums=[sums]))
        found = await found_by_clients(bob)
        # All are free again at once.
        assert all(await asyncio.gather(*(second_round(client) for client in (ann, bob, eve))))
    assert (found.version, found.metrics) == (1, {"accuracy": 6 / 17})
    assert found.loss == math.fsum([5 * 0.25, 5 * 0.75, 4 * 1.5]) / 14
    summary = server.get("/api/tasks/tiny/versions")["versions"][-1]
    assert summary["version"] == 1


LIES: list[dict[str, Any]] = [
    {"loss": float("nan")},
    {"loss": float("inf")},
    {"loss": -1e31},
    {"sums": [(float("nan"), 1.0)]},
    {"sums": [(1e300, 1.0)]},
    {"sums": []},
    {"sums": [(1.0, 1.0)] * 2},
    {"examples": 0},
    {"examples": 2 * EXAMPLES + 1},
    {"examples": 2**50},
]


@pytest.mark.parametrize("lie", LIES)
async def test_what_cannot_be_true_counts_for_nothing_and_holds_nobody_up(
    serve: Serve, lie: dict[str, Any]
) -> None:
    server = serve(**MEASURED)
    async with Client(server.url) as good, Client(server.url) as bad:
        requests = await train(good, bad)
        await bad.say(answer(requests[1], **lie))
        await good.say(answer(requests[0]))
        found = await found_by_clients(good)
        assert (found.loss, found.metrics) == (0.5, {"accuracy": 0.4})
        assert await second_round(good)


async def test_answers_of_another_version_and_second_answers_change_nothing(serve: Serve) -> None:
    server = serve(**MEASURED)
    async with Client(server.url) as ann, Client(server.url) as bob:
        requests = await train(ann, bob)
        await ann.say(answer(requests[0], version=0, loss=9.0))
        await ann.say(answer(requests[0], version=7, loss=9.0))
        await ann.say(answer(requests[0]))
        await ann.say(answer(requests[0], loss=9.0))
        await bob.say(answer(requests[1]))
        assert (await found_by_clients(bob)).loss == 0.5


async def ends(server: Server, client: Client, other: Client, how: str) -> None:
    """`other` does not answer what it was asked; how the evaluation ends for `client`."""
    requests = await train(client, other)
    if how == "leaves":
        await other.say(Leave())
    elif how == "is lost":
        other.socket.transport.abort()
    await client.say(answer(requests[0]))
    found = await found_by_clients(client)
    assert (found.version, found.loss) == (1, 0.5)
    assert server.get("/api/tasks/tiny")["version"] == 1


@pytest.mark.parametrize("how", ["leaves", "is lost", "is silent"])
async def test_nobody_waits_for_one_that_does_not_answer(serve: Serve, how: str) -> None:
    server = serve(**MEASURED, deadline=DEADLINE)
    async with Client(server.url) as client, Client(server.url) as other:
        await ends(server, client, other, how)
        # The task goes on as soon as there are enough clients.
        async with Client(server.url) as third:
            await third.ready()
            assert await second_round(client)


async def test_if_nobody_answers_the_next_round_opens_all_the_same(serve: Serve) -> None:
    server = serve(**MEASURED, deadline=DEADLINE)
    async with Client(server.url) as ann, Client(server.url) as bob:
        await train(ann, bob)
        await asyncio.sleep(DEADLINE)
        for client in (ann, bob):
            await client.ready()
        plans = await asyncio.gather(ann.selected(), bob.selected())
        assert {plan.round for plan in plans} == {2}
        assert not any(isinstance(one, Evaluated) and one.source == "clients" for one in ann.heard)
