"""One client reads nothing, one uploads a kilobyte a second, one is too many: others do their rounds."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed

from backend.wire.codec import encode
from backend.wire.messages import Accepted, Chunk, Credit, Hello, Offer, Ready, Train, Version
from tests.integration.server.conftest import Serve
from tests.support.tasks.tiny_task import SIZE, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.raw_client import Raw
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running

MORE = 1_000_000
VALUES = SIZE + MORE
ROUNDS = 3
QUEUED_BYTES = 256 << 10
MIB = 1 << 20

Misbehave = Callable[[Raw, threading.Event], None]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Rounds of 4 MB updates that end with two of five, or else after an hour."""
    write_task(
        tmp_path / "tasks" / "tiny",
        more=MORE,
        deadline=3600,
        rounds=ROUNDS,
        quorum=2,
        min_available_clients=5,
        min_train_clients=2,
        fraction_train=0.4,
        over_selection=1.5,
    )
    monkeypatch.setenv("MINGA_MAX_QUEUED_BYTES", str(QUEUED_BYTES))
    monkeypatch.setenv("MINGA_FRAMES_PER_SECOND", "100000")
    with running(tmp_path / "tasks", tmp_path / "data", "--log-level", "error") as one:
        yield one


def joined(server: Server) -> Raw:
    """A client that is ready to be chosen."""
    client = Raw(server.url)
    token = secrets.token_urlsafe(24)
    client.send(
        encode(
            Hello(token=token, kind="peer", backend="numpy", agent="test", aggregation=["open"], min_masked=0)
        )
    )
    client.send(encode(Ready(backend="numpy", step_ms=1.0, examples=0)))
    return client


@contextmanager
def meanwhile(misbehave: Misbehave, client: Raw) -> Iterator[threading.Thread]:
    """Lets `client` misbehave until the end."""
    enough = threading.Event()
    thread = threading.Thread(target=misbehave, args=(client, enough))
    thread.start()
    try:
        yield thread
    finally:
        enough.set()
        thread.join()
        client.socket.close()


def ask_and_read_nothing(client: Raw, enough: threading.Event) -> None:
    """Asks for refusals, which nobody reads, until the server has had enough of it."""
    stale = encode(Offer(round=999, version=0, examples=1, steps=1, loss=0.0, sums=[], size=4))
    try:
        while not enough.is_set():
            for _ in range(100):
                client.send(stale)
            time.sleep(0.01)
    except OSError:
        return


def drip_an_update(client: Raw, enough: threading.Event) -> None:
    """Uploads a kilobyte a second."""
    train = client.hear_message(Train)
    assert isinstance(train, Train)
    examples = sum(shard.examples for shard in train.shards)
    said = Offer(
        round=train.round,
        version=train.version,
        examples=examples,
        steps=1,
        loss=0.0,
        sums=[(1.0, 4.0)],
        size=4 * VALUES,
    )
    client.send(encode(said))
    client.hear_message(Credit)
    sent = 0
    while not enough.wait(0.1):
        client.send(encode(Chunk(round=train.round, offset=sent, data=memoryview(bytes(100)))))
        sent += 100


async def do_rounds(client: Client) -> list[int]:
    """Delivers to every round until the last version; the rounds in which its update counted."""
    counted = list[int]()
    while True:
        news: Train | Version = await client.next(Train, Version)
        if isinstance(news, Version):
            if news.version == ROUNDS:
                return counted
            continue
        answer = await client.deliver(news, np.full(VALUES, 1e-3, np.float32))
        if isinstance(answer, Accepted):
            counted.append(news.round)


def resident(server: Server) -> int:
    """Bytes of memory of the server."""
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
async def test_slow_clients_do_not_slow_the_rounds_of_others_and_take_bounded_memory(server: Server) -> None:
    deaf, slow = joined(server), joined(server)
    before = resident(server)
    with meanwhile(ask_and_read_nothing, deaf) as flood, meanwhile(drip_an_update, slow):
        async with Client(server.url) as ann, Client(server.url) as bob, Client(server.url) as cem:
            for client in (ann, bob, cem):
                await client.ready()
            counted = await asyncio.gather(*(do_rounds(client) for client in (ann, bob, cem)))
        assert sorted(chain.from_iterable(counted)) == sorted(2 * list(range(1, ROUNDS + 1)))
        grown = resident(server) - before
        # It ends once what waits for it is over its limit: sending it fails then.
        await asyncio.to_thread(flood.join, PATIENCE)
        assert not flood.is_alive()
    versions = server.get("/api/tasks/tiny/versions")["versions"]
    assert [one["accepted"] for one in versions] == [0] + [2] * ROUNDS
    # Four updates on their way in, the sum in float64, old and new version, and what waits for the deaf one.
    assert grown < 12 * 4 * VALUES + QUEUED_BYTES + 16 * MIB


async def test_a_full_task_says_so_and_takes_its_own_clients_back(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINGA_MAX_CLIENTS", "2")
    server = serve()
    async with Client(server.url) as ann, Client(server.url):
        with pytest.raises(ConnectionClosed) as refused:
            await Client(server.url).__aenter__()
        assert refused.value.rcvd is not None
        assert refused.value.rcvd.code == 4013
        assert "2 participants are connected, the limit of this task" in refused.value.rcvd.reason
        async with Client(server.url, token=ann.token) as again:
            assert again.id == ann.id
    async with Client(server.url) as late:
        assert late.id
