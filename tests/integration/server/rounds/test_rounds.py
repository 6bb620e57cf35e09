"""Whole rounds over real sockets with a real server process."""

from __future__ import annotations

import asyncio
import hashlib
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.wire.messages import (
    Abandoned,
    Accepted,
    Chunk,
    Closing,
    Credit,
    Leave,
    Refused,
    State,
    Train,
    Version,
)
from tests.integration.server.conftest import Serve
from tests.support.tasks.tiny_task import EXAMPLES, SHARDS, SIZE, TRAINABLE, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running

ONES = np.ones(SIZE, np.float32)
# Seconds of a round that waits for its end: for who is there to deliver in time, however busy the machine is.
DEADLINE = 6


def seconds_of_last_round(server: Server) -> float:
    seconds: float = server.get("/api/tasks/tiny/versions")["versions"][-1]["seconds"]
    return seconds


def weights_of(server: Server, address: str) -> NDArray[np.float32]:
    with urlopen(f"{server.url}/blobs/{address}", timeout=PATIENCE) as answer:
        return np.frombuffer(answer.read(), "<f4")


async def test_a_version_is_the_weighted_mean_of_what_was_sent(serve: Serve) -> None:
    server = serve()
    async with Client(server.url) as ann, Client(server.url) as bob:
        await ann.ready()
        await bob.ready()
        plans = await asyncio.gather(ann.selected(), bob.selected())
        assert not {one.sha256 for one in plans[0].shards} & {one.sha256 for one in plans[1].shards}
        one, three = {"examples": 1, "sums": [(1.0, 1.0)]}, {"examples": 3, "sums": [(0.0, 3.0)], "loss": 1.5}
        assert await ann.deliver(plans[0], ONES, **one) == Accepted(round=1, examples=1)
        assert await bob.deliver(plans[1], 5 * ONES, **three) == Accepted(round=1, examples=3)
        version = await ann.next(Version)
    assert (version.version, version.round, version.accepted, version.examples) == (1, 1, 2, 4)
    assert (version.loss, version.metrics) == (1.25, {"accuracy": 0.25})
    assert np.array_equal(weights_of(server, version.weights), np.arange(SIZE) + 4.0)
    (given,) = [
        one for one in server.get("/api/tasks/tiny/contributions")["contributions"] if one["client"] == bob.id
    ]
    assert given == {
        "client": bob.id, "kind": "peer", "backend": "numpy", "accepted": 1, "refused": 0, "examples": 3,
        # 116 in a batch of 4.
        "operations": 87,
    }  # fmt: skip
    summary = server.get("/api/tasks/tiny")
    assert (summary["version"], summary["weights"], summary["round"]) == (1, version.weights, 2)


BAD_UPDATES: list[tuple[NDArray[Any], dict[str, Any], str]] = [
    (ONES * np.nan, {}, "not-finite"),
    (ONES * np.inf, {}, "not-finite"),
    (np.where(np.arange(SIZE) == 7, -np.inf, ONES), {}, "not-finite"),
    (ONES, {"loss": float("nan")}, "not-finite"),
    (ONES, {"loss": 1e300}, "not-finite"),
    (ONES, {"sums": [(float("inf"), 1.0)]}, "not-finite"),
    (ONES, {"sums": [(1.0, 1e31)]}, "not-finite"),
    (ONES, {"sums": []}, "wrong-length"),
    (ONES, {"sums": [(0.0, 1.0)] * 2}, "wrong-length"),
    (ONES * 1e6, {}, "norm-too-large"),
    (np.full(SIZE, 3e38), {}, "norm-too-large"),
    (ONES[:-1], {}, "wrong-length"),
    (np.ones(SIZE + 1), {}, "wrong-length"),
    (ONES, {"size": 2**52}, "wrong-length"),
    (ONES, {"examples": 0}, "bad-examples"),
    (ONES, {"examples": -3}, "bad-examples"),
    (ONES, {"examples": 10**9}, "bad-examples"),
    (ONES, {"version": 17}, "stale-round"),
    (ONES, {"round": 0}, "stale-round"),
    (ONES, {"round": 99}, "stale-round"),
]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a task of its own for each bad update."""
    folder = tmp_path_factory.mktemp("many")
    for number in range(len(BAD_UPDATES)):
        write_task(folder / "tasks" / f"case-{number}")
    with running(folder / "tasks", folder / "data") as server:
        yield server


@pytest.mark.parametrize("number", range(len(BAD_UPDATES)))
async def test_a_bad_update_is_refused_alone(many: Server, number: int) -> None:
    update, said, code = BAD_UPDATES[number]
    task = f"case-{number}"
    async with Client(many.url, task) as good, Client(many.url, task) as bad:
        await good.ready()
        await bad.ready()
        plans = await asyncio.gather(good.selected(), bad.selected())
        refused = await bad.deliver(plans[1], update, **said)
        assert isinstance(refused, Refused)
        assert refused.code == code
        assert len(refused.reason) > 20
        await bad.say(Leave())
        assert isinstance(await good.deliver(plans[0], ONES), Accepted)
        version = await good.next(Version)
    assert version.accepted == 1
    assert np.array_equal(weights_of(many, version.weights), np.arange(SIZE) + 1.0)
    assert many.process.poll() is None


async def test_a_second_update_in_a_round_is_refused_and_the_first_counts_once(serve: Serve) -> None:
    server = serve()
    async with Client(server.url) as ann, Client(server.url) as bob:
        await ann.ready()
        await bob.ready()
        plans = await asyncio.gather(ann.selected(), bob.selected())
        assert isinstance(await ann.deliver(plans[0], ONES), Accepted)
        again = await ann.deliver(plans[0], 7 * ONES)
        assert isinstance(again, Refused)
        assert again.code == "duplicate"
        await bob.deliver(plans[1], ONES)
        version = await bob.next(Version)
    assert np.array_equal(weights_of(server, version.weights), np.arange(SIZE) + 1.0)


async def test_who_is_not_in_the_cohort_is_refused_and_selected_next(serve: Serve) -> None:
    server = serve()
    async with Client(server.url) as ann, Client(server.url) as bob, Client(server.url) as late:
        await ann.ready()
        await bob.ready()
        plans = await asyncio.gather(ann.selected(), bob.selected())
        await late.ready()
        refused = await late.deliver(plans[0], ONES)
        assert isinstance(refused, Refused)
        assert refused.code == "not-selected"
        await ann.deliver(plans[0], ONES)
        await bob.deliver(plans[1], ONES)
        plan = await late.selected()
        assert (plan.round, plan.version) == (2, 1)


@pytest.mark.parametrize(
    "chunks",
    [
        [(4, 8)],
        [(0, 8), (0, 8)],
        [(0, 8), (12, 8)],
        [(0, 0)],
        [(0, 4 * SIZE + 4)],
        [(0, 8), (8, 4 * SIZE)],
    ],
)
async def test_chunks_out_of_order_or_too_long_are_refused(
    serve: Serve, chunks: list[tuple[int, int]]
) -> None:
    server = serve(min_available_clients=1)
    async with Client(server.url) as ann:
        await ann.ready()
        plan = await ann.selected()
        await ann.offer(plan, SIZE)
        assert await ann.next(Credit) == Credit(round=1, until=4 * SIZE)
        for offset, length in chunks:
            await ann.say(Chunk(round=1, offset=offset, data=memoryview(bytes(length))))
        assert (await ann.next(Refused)).code == "wrong-length"
        await ann.next(Abandoned)
        plan = await ann.selected()
        assert isinstance(await ann.deliver(plan, ONES), Accepted)


async def test_a_member_killed_mid_round_holds_nobody_up(serve: Serve) -> None:
    server = serve(deadline=DEADLINE)
    async with Client(server.url) as ann:
        lost = await Client(server.url).__aenter__()
        await ann.ready()
        await lost.ready()
        plan, other = await asyncio.gather(ann.selected(), lost.selected())
        await lost.offer(other, SIZE)
        lost.socket.transport.abort()
        await ann.deliver(plan, ONES)
        version = await ann.next(Version)
        assert version.accepted == 1


async def test_a_silent_member_delays_the_round_until_its_deadline_only(serve: Serve) -> None:
    server = serve(deadline=DEADLINE)
    async with Client(server.url) as ann, Client(server.url) as silent:
        await ann.ready()
        await silent.ready()
        plan, _ = await asyncio.gather(ann.selected(), silent.selected())
        await ann.deliver(plan, ONES)
        version = await ann.next(Version)
        assert version.accepted == 1
        assert seconds_of_last_round(server) >= DEADLINE


async def test_a_slow_upload_is_refused_at_the_deadline_and_the_round_is_made_without_it(
    serve: Serve,
) -> None:
    server = serve(deadline=DEADLINE)
    async with Client(server.url) as ann, Client(server.url) as slow:
        await ann.ready()
        await slow.ready()
        plan, other = await asyncio.gather(ann.selected(), slow.selected())
        await ann.deliver(plan, ONES)
        await slow.offer(other, SIZE)
        await slow.next(Credit)
        await slow.say(Chunk(round=1, offset=0, data=memoryview(bytes(4))))
        assert (await slow.next(Refused)).code == "stale-round"
        await slow.say(Chunk(round=1, offset=4, data=memoryview(bytes(4))))
        assert (await ann.next(Version)).accepted == 1
        plan = await slow.selected()
        assert isinstance(await slow.deliver(plan, ONES), Accepted)


async def test_one_who_reconnects_within_the_round_hears_its_plan_and_delivers(serve: Serve) -> None:
    server = serve()
    async with Client(server.url) as ann:
        bob = await Client(server.url).__aenter__()
        await ann.ready()
        await bob.ready()
        plan, before = await asyncio.gather(ann.selected(), bob.selected())
        await ann.deliver(plan, ONES)
        bob.socket.transport.abort()
        async with Client(server.url, token=bob.token) as again:
            assert again.id == bob.id
            await again.ready()
            after = await again.selected()
            assert after.shards == before.shards
            assert (after.seed, after.round) == (before.seed, before.round)
            assert isinstance(await again.deliver(after, 3 * ONES), Accepted)
            assert (await ann.next(Version)).accepted == 2


async def test_more_clients_than_upload_slots_all_get_their_turn(serve: Serve) -> None:
    server = serve(min_available_clients=9, quorum=9)
    clients = [Client(server.url) for _ in range(9)]
    for client in clients:
        await client.__aenter__()
        await client.ready()
    plans = await asyncio.gather(*(client.selected() for client in clients))
    assert {shard.sha256 for plan in plans for shard in plan.shards} == {
        shard["sha256"] for shard in json.loads(await _shards(server))["train"]
    }
    for client, plan in zip(clients, plans, strict=True):
        await client.offer(plan, SIZE)
    credits = await asyncio.gather(*(client.next(Credit) for client in clients[:4]))
    assert len(credits) == 4
    with pytest.raises(TimeoutError):
        await clients[4].next(Credit, patience=0.3)
    for client in clients:
        if client not in clients[:4]:
            await client.next(Credit)
        await client.say(Chunk(round=1, offset=0, data=memoryview(ONES.tobytes())))
        await client.next(Accepted)
    assert (await clients[0].next(Version)).accepted == 9
    for client in clients:
        await client.socket.close()


async def _shards(server: Server) -> str:
    folder = Path(server.words[server.words.index("--tasks") + 1])
    return await asyncio.to_thread((folder / "tiny" / "shards" / "shards.json").read_text)


async def test_large_updates_of_two_clients_at_once_arrive_whole(serve: Serve) -> None:
    size = 700_000
    server = serve(more=size - SIZE)
    async with Client(server.url) as ann, Client(server.url) as bob:
        await ann.ready()
        await bob.ready()
        plans = await asyncio.gather(ann.selected(), bob.selected())
        noise = np.random.default_rng(0).normal(scale=0.01, size=(2, size)).astype("<f4")
        answers = await asyncio.gather(ann.deliver(plans[0], noise[0]), bob.deliver(plans[1], noise[1]))
        assert all(isinstance(answer, Accepted) for answer in answers)
        assert any(isinstance(said, Credit) and said.until == 4 * size for said in ann.heard)
        version = await ann.next(Version)
    expected = np.arange(size, dtype=np.float32) + noise.astype(np.float64).mean(axis=0)
    assert np.allclose(weights_of(server, version.weights), expected, rtol=1e-6, atol=1e-6)


async def test_a_server_that_ends_asks_its_clients_to_come_back(serve: Serve) -> None:
    server = serve()
    async with Client(server.url) as ann:
        await ann.ready()
        assert await asyncio.to_thread(server.stop) == 0
        await ann.socket.wait_closed()
        assert ann.socket.close_code == 1012


async def test_state_tells_everybody_what_happens(serve: Serve) -> None:
    server = serve()
    async with Client(server.url) as ann, Client(server.url) as bob:
        await ann.ready()
        await bob.ready()
        await asyncio.gather(ann.selected(), bob.selected())
        state = await ann.next(State)
        while state.phase != "training":
            state = await ann.next(State)
        assert (state.round, state.version, state.needed, state.cohort, state.quorum) == (1, 0, 0, 2, 1)
        assert {one.client: one.status for one in state.participants} == {
            ann.id: "training",
            bob.id: "training",
        }
        assert state.seconds is not None
        assert 0 < state.seconds <= 60
    assert server.get("/api/tasks/tiny")["participants"] <= 2


async def test_a_finished_task_says_so(serve: Serve) -> None:
    server = serve(rounds=1, min_available_clients=1)
    async with Client(server.url) as ann:
        await ann.ready()
        await ann.deliver(await ann.selected(), ONES)
        while (await ann.next(State)).phase != "finished":
            pass
        with pytest.raises(TimeoutError):
            await ann.next(Train, patience=0.5)
    assert server.get("/api/tasks/tiny")["phase"] == "finished"


async def test_a_killed_server_resumes_with_version_momentum_and_contributions(
    tmp_path: Path, serve: Serve
) -> None:
    changes = {
        "server_optimizer": '{ name = "fedavgm", learning_rate = 0.5, momentum = 0.5 }',
        "min_available_clients": 1,
    }
    server = serve(**changes)
    token = ""
    async with Client(server.url) as ann:
        await ann.ready()
        token = ann.token
        for _ in range(2):
            await ann.deliver(await ann.selected(), ONES)
            await ann.next(Version)
        await ann.selected()
        server.stop(signal.SIGKILL)
    with running(tmp_path / "tasks", tmp_path / "data") as again:
        assert [task["version"] for task in again.report["tasks"]] == [2]
        async with Client(again.url, token=token) as ann:
            await ann.ready()
            plan = await ann.selected()
            assert (plan.round, plan.version) == (3, 2)
            await ann.deliver(plan, ONES)
            version = await ann.next(Version)
        # v = 1, 1.5, 1.75 and half of each is added; the two values of state take the plain mean.
        expected = np.arange(SIZE) + np.where(np.arange(SIZE) < TRAINABLE, 0.5 * (1 + 1.5 + 1.75), 3.0)
        assert np.allclose(weights_of(again, version.weights), expected)
        history = again.get("/api/tasks/tiny/versions")["versions"]
        assert [one["version"] for one in history] == [0, 1, 2, 3]
        (given,) = again.get("/api/tasks/tiny/contributions")["contributions"]
        assert given["accepted"] == 3
        assert again.stop() == 0


async def test_the_second_connection_of_a_client_replaces_the_first(serve: Serve) -> None:
    server = serve()
    first = await Client(server.url).__aenter__()
    async with Client(server.url, token=first.token) as second:
        assert (await first.next(Closing)).code == "replaced"
        await first.socket.wait_closed()
        assert first.socket.close_code == 4009
        await second.ready()
        assert server.get("/api/tasks/tiny")["participants"] == 1


def test_blobs_of_the_tiny_task_are_what_their_addresses_say(serve: Serve) -> None:
    server = serve()
    bundle = server.report["tasks"][0]["bundle"]
    with urlopen(f"{server.url}/blobs/{bundle}", timeout=PATIENCE) as answer:
        files = json.loads(answer.read())["files"]
    for file in files.values():
        with urlopen(f"{server.url}/blobs/{file['sha256']}", timeout=PATIENCE) as answer:
            assert hashlib.sha256(answer.read()).hexdigest() == file["sha256"]
    assert server.report["tasks"][0]["examples"] == SHARDS * EXAMPLES
