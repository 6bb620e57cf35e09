"""Rounds with reputation over sockets: updates of a liar stop counting, also after a restart."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from backend.wire.messages import Accepted, Refused
from tests.support.attacks.judged_rounds import honest, judging_server, lie, play
from tests.support.attacks.robust_rounds import weights_of
from tests.support.tasks.tiny_task import SIZE
from tests.support.timeouts import eventually
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server
from tests.support.web.visitors import operator

CLIENTS = 6
TOKENS = [f"{number}" * 24 for number in range(CLIENTS)]


async def joined(server: Server, stack: AsyncExitStack) -> list[Client]:
    clients = [await stack.enter_async_context(Client(server.url, token=token)) for token in TOKENS]
    for client in clients:
        await client.ready()
    return clients


async def test_a_liar_no_longer_counts_is_told_why_and_a_restart_forgets_nothing(tmp_path: Path) -> None:
    with judging_server(tmp_path, CLIENTS) as server:
        async with AsyncExitStack() as stack:
            clients = await joined(server, stack)
            for number in range(1, 4):
                answers, version = await play(clients, {0: lie(0, number)})
                assert all(isinstance(one, Accepted) and one.counted for one in answers)
                assert version.accepted == CLIENTS
            before = weights_of(server, version.weights)
            (told, *others), version = await play(clients, {0: lie(0, 4)})
            assert isinstance(told, Accepted)
            assert not told.counted
            assert "pointed against those of most others" in told.reason
            assert all(isinstance(one, Accepted) and one.counted and not one.reason for one in others)
            assert version.accepted == CLIENTS - 1
            step = weights_of(server, version.weights) - before
            counted = np.mean([honest(client, 4) for client in range(1, CLIENTS)], axis=0)
            np.testing.assert_allclose(step, counted, atol=1e-6)
            server.stop(signal.SIGKILL)
        server.start()
        async with AsyncExitStack() as stack:
            clients = await joined(server, stack)
            (told, *_), version = await play(clients, {})
            assert isinstance(told, Accepted)
            assert not told.counted
            assert version.accepted == CLIENTS - 1
        (*_, last) = server.get("/api/tasks/tiny/rounds")["rounds"]
        assert last["accepted"] == CLIENTS - 1
        assert "uncounted" not in last  # For the owner alone.


async def test_a_liar_that_changes_its_ways_counts_again(tmp_path: Path) -> None:
    with judging_server(tmp_path, CLIENTS) as server:
        async with AsyncExitStack() as stack:
            clients = await joined(server, stack)
            for number in range(1, 4):
                await play(clients, {0: lie(0, number)})
            counted = []
            for _ in range(14):
                (told, *_), _ = await play(clients, {})
                assert isinstance(told, Accepted)
                counted.append(told.counted)
    assert not counted[0]
    assert counted[-1]
    assert counted == sorted(counted)


async def test_not_a_number_three_times_ends_in_quarantine_although_no_update_was_compared(
    tmp_path: Path,
) -> None:
    with judging_server(tmp_path, CLIENTS, "") as server:
        async with AsyncExitStack() as stack:
            clients = await joined(server, stack)
            broken = np.full(SIZE, np.nan, np.float32)
            for _ in range(3):
                plans = await asyncio.gather(*(client.selected() for client in clients))
                answers = [
                    await client.deliver(plan, honest(number, plan.round) if number else broken)
                    for number, (client, plan) in enumerate(zip(clients, plans, strict=True))
                ]
                assert isinstance(answers[0], Refused)
            rounds = "/api/tasks/tiny/rounds"
            await asyncio.to_thread(eventually, lambda: len(server.get(rounds)["rounds"]) == 3, "no record")
            (told, *_), _ = await play(clients, {})
            assert isinstance(told, Accepted)
            assert not told.counted
            assert "could not be used" in told.reason


async def test_a_robust_rule_bears_fewer_false_updates_of_those_that_count(tmp_path: Path) -> None:
    robust = '[security.robust]\nrule = "trimmed-mean"\nattackers = 1'
    with judging_server(tmp_path, CLIENTS, robust) as server:
        async with AsyncExitStack() as stack:
            clients = await joined(server, stack)
            for number in range(1, 4):
                _, version = await play(clients, {0: lie(0, number)})
            before = weights_of(server, version.weights)
            (told, *_), version = await play(clients, {0: lie(0, 4)})
            assert isinstance(told, Accepted)
            assert not told.counted
            # All others count, as their one false update is gone.
            step = weights_of(server, version.weights) - before
            counted = np.mean([honest(client, 4) for client in range(1, CLIENTS)], axis=0)
            np.testing.assert_allclose(step, counted, atol=1e-6)


async def test_an_owner_reads_who_is_suspect_and_lifts_it_for_good(tmp_path: Path) -> None:
    with judging_server(tmp_path, CLIENTS) as server:
        owner = operator(server)
        async with AsyncExitStack() as stack:
            clients = await joined(server, stack)
            for number in range(1, 4):
                await play(clients, {0: lie(0, number)})
            address = f"/api/tasks/tiny/participants/{clients[0].id}"
            (row,) = (await asyncio.to_thread(owner.ask, "GET", "/api/tasks/tiny/dashboard"))["suspects"]
            assert (row["client"], row["quarantined"]) == (clients[0].id, True)
            await asyncio.to_thread(owner.ask, "POST", address, {"act": "lift"})
            server.stop(signal.SIGKILL)
        server.start()
        owner.host = urlsplit(server.url).netloc
        async with AsyncExitStack() as stack:
            (told, *_), _ = await play(await joined(server, stack), {})
            assert isinstance(told, Accepted)
            assert told.counted
        (row,) = owner.ask("GET", "/api/tasks/tiny/dashboard")["suspects"]
        assert (row["counts"], row["quarantines"]) == (True, 1)
        owner.ask("POST", "/api/tasks/tiny/participants/" + "0" * 16, {"act": "lift"}, 404)
