"""Rounds that check newcomers' updates before they count, over real sockets and a restart."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np

from backend.wire.messages import Abandoned, Accepted, Refused, Train, Version
from tests.support.attacks.newcomers_server import join, newcomers_server
from tests.support.attacks.robust_rounds import weights_of
from tests.support.tasks.tiny_task import SIZE
from tests.support.timeouts import eventually
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server

ACCESS = 'newcomers = "probation"\nprobation = { rounds = 2 }'
HOMES = ("198.51.100.1", "203.0.113.1")
ONES = np.ones(SIZE, np.float32)


async def members(stack: AsyncExitStack, server: Server, tokens: Sequence[str | None]) -> list[Client]:
    """Joins a client from each home, and makes it ready."""
    clients = [await join(stack, server, home, token) for home, token in zip(HOMES, tokens, strict=True)]
    for client in clients:
        await client.ready()
    return clients


async def play(clients: Sequence[Client], values: Sequence[float]) -> tuple[list[Accepted | Refused], Train]:
    """Has each client send an update of one value in the next round; returns the answers and a plan."""
    plans = [await client.selected() for client in clients]
    answers = [
        await client.deliver(plan, value * ONES)
        for client, plan, value in zip(clients, plans, values, strict=True)
    ]
    return answers, plans[0]


async def test_a_newcomer_moves_the_model_only_after_its_probation(tmp_path: Path) -> None:
    with newcomers_server(tmp_path, ACCESS) as server:
        async with AsyncExitStack() as stack:
            clients = await members(stack, server, [None, None])
            assert [client.welcome.probation for client in clients] == [2, 2]
            for number in (1, 2):
                answers, _ = await play(clients, (9.0, -9.0))
                assert answers == [Accepted(round=number, examples=0, counted=False)] * 2
                abandoned = await clients[0].next(Abandoned)
                assert "2 more came from newcomers" in abandoned.reason
            answers, plan = await play(clients, (1.0, 3.0))
            assert [isinstance(one, Accepted) and one.counted for one in answers] == [True, True]
            version = await clients[0].next(Version)
            assert version.version == 1
            moved = weights_of(server, version.weights) - weights_of(server, plan.weights)
            np.testing.assert_allclose(moved, 2.0, rtol=1e-6)
        url = "/api/tasks/tiny/rounds"
        await asyncio.to_thread(eventually, lambda: len(server.get(url)["rounds"]) == 3, "no record")
        assert [one["checked"] for one in server.get(url)["rounds"]] == [2, 2, 0]
        assert {one["accepted"] for one in server.get("/api/tasks/tiny/contributions")["contributions"]} == {
            1
        }


async def test_a_killed_server_remembers_how_much_of_a_probation_is_served(tmp_path: Path) -> None:
    with newcomers_server(tmp_path, ACCESS) as server:
        async with AsyncExitStack() as stack:
            clients = await members(stack, server, [None, None])
            await play(clients, (1.0, 1.0))
            await clients[0].next(Abandoned)
            tokens = [client.token for client in clients]
            rounds = "/api/tasks/tiny/rounds"
            await asyncio.to_thread(eventually, lambda: bool(server.get(rounds)["rounds"]), "no record")
            server.stop(signal.SIGKILL)
        server.start()
        async with AsyncExitStack() as stack:
            assert [one.welcome.probation for one in await members(stack, server, tokens)] == [1, 1]
            stranger = await join(stack, server, "192.0.2.1")
            assert stranger.welcome.probation == 2


async def test_what_is_no_update_serves_nothing(tmp_path: Path) -> None:
    with newcomers_server(tmp_path, ACCESS) as server:
        async with AsyncExitStack() as stack:
            clients = await members(stack, server, [None, None])
            answers, _ = await play(clients, (np.nan, 1000.0))
            assert [isinstance(one, Refused) and one.code for one in answers] == [
                "not-finite",
                "norm-too-large",
            ]
            await clients[0].next(Abandoned)
            again = await join(stack, server, HOMES[0], clients[0].token)
            assert again.welcome.probation == 2
