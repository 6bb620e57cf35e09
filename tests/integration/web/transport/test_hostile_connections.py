"""One bad connection must not hurt the others, or the server."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
import numpy as np
import psutil
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from backend.wire.codec import MAX_CLIENT_FRAME, decode_server, encode
from backend.wire.messages import Accepted, Chunk, Closing, Hello, Offer, Version, Welcome
from tests.contract.vectors.frames.make_frames import PLACE
from tests.support.tasks.tiny_task import SIZE, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running

HELLO = Hello(
    token=secrets.token_urlsafe(24),
    kind="peer",
    backend="numpy",
    agent="test",
    aggregation=["open"],
    min_masked=0,
)
# The server sends an empty one back.
BAD_FRAMES = [entry for entry in json.loads(PLACE.read_text())["bad_client"] if entry["hex"]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("hostile")
    write_task(folder / "tasks" / "tiny", deadline=60)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINGA_HELLO_SECONDS", "4")
        with running(folder / "tasks", folder / "data") as running_server:
            yield running_server
            assert running_server.process.poll() is None, "the server died"


def address(server: Server, task: str = "tiny") -> str:
    return f"{server.url.replace('http', 'ws', 1)}/api/tasks/{task}/socket"


async def last_words(server: Server, *frames: bytes | str, task: str = "tiny") -> tuple[Closing | None, int]:
    """Sends frames as fast as they go; the closing frame, if any, and the close code."""
    closing = None
    async with connect(address(server, task), subprotocols=["minga.1"]) as socket:  # type: ignore[list-item]
        with suppress(ConnectionClosed):
            for frame in frames:
                await socket.send(frame)
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    message = decode_server(msgspec.convert(await socket.recv(), bytes))
                    closing = message if isinstance(message, Closing) else closing
        except ConnectionClosed:
            pass
        return closing, socket.close_code or 0


def nobody_is_left(server: Server) -> bool:
    """Whether every client is gone, after some patience."""
    for _ in range(3000):
        if not server.get("/api/tasks/tiny")["participants"]:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("entry", BAD_FRAMES, ids=lambda entry: entry["name"])
async def test_a_bad_frame_ends_its_own_connection_with_a_reason(
    server: Server, entry: dict[str, str]
) -> None:
    for before in ([], [encode(HELLO)]):
        closing, code = await last_words(server, *before, bytes.fromhex(entry["hex"]))
        assert closing is not None
        assert (closing.code, code) == ("bad-frame", 4000)


async def test_a_text_frame_is_refused(server: Server) -> None:
    closing, code = await last_words(server, encode(HELLO), '{"type": "leave"}')
    assert closing is not None
    assert "binary" in closing.reason
    assert code == 4000


async def test_a_message_over_the_limit_closes_before_it_is_read(server: Server) -> None:
    closing, code = await last_words(server, encode(HELLO), bytes(MAX_CLIENT_FRAME + 1))
    assert closing is not None
    assert (closing.code, code) == ("too-long", 1009)
    assert str(MAX_CLIENT_FRAME) in closing.reason


async def test_a_message_in_a_few_fragments_is_read_and_in_thousands_refused(server: Server) -> None:
    async with connect(address(server), subprotocols=["minga.1"]) as socket:  # type: ignore[list-item]
        hello = encode(HELLO)
        await socket.send([hello[:5], hello[5:9], hello[9:]])
        assert isinstance(decode_server(msgspec.convert(await socket.recv(), bytes)), Welcome)
        with suppress(ConnectionClosed):
            await socket.send([b"x"] * 20_000)
        await socket.wait_closed()
        assert socket.close_code == 1009
    assert await asyncio.to_thread(nobody_is_left, server)


async def test_the_first_frame_must_be_hello_and_only_the_first(server: Server) -> None:
    closing, _ = await last_words(server, encode(Chunk(round=1, offset=0, data=memoryview(b"1234"))))
    assert closing is not None
    assert "first frame" in closing.reason
    closing, _ = await last_words(server, encode(HELLO), encode(HELLO))
    assert closing is not None
    assert "before" in closing.reason


async def test_an_unknown_task_is_told(server: Server) -> None:
    closing, code = await last_words(server, encode(HELLO), task="nothing")
    assert closing is not None
    assert (closing.code, code) == ("not-found", 4004)


async def test_silence_instead_of_hello_is_ended(server: Server) -> None:
    closing, code = await last_words(server)
    assert closing is not None
    assert (closing.code, code) == ("idle", 4008)


@pytest.mark.parametrize(
    "handshake",
    [
        {"subprotocols": ["minga.1"], "origin": "https://elsewhere.example"},
        {"subprotocols": ["minga.1"], "origin": "null"},
        {"subprotocols": ["minga.2"]},
        {},
    ],
)
async def test_a_handshake_from_elsewhere_is_refused(server: Server, handshake: dict[str, Any]) -> None:
    with pytest.raises(InvalidStatus) as refusal:
        await connect(address(server), **handshake)
    assert refusal.value.response.status_code == 403
    assert json.loads(refusal.value.response.body)["error"]["code"] == "bad-handshake"


async def test_a_page_of_the_server_itself_may_connect(server: Server) -> None:
    async with connect(address(server), subprotocols=["minga.1"], origin=server.url) as socket:  # type: ignore[list-item,arg-type]
        assert socket.subprotocol == "minga.1"


async def test_a_round_completes_amid_garbage(server: Server) -> None:
    async with Client(server.url) as ann, Client(server.url) as bob:
        await ann.ready()
        await bob.ready()
        plans = await asyncio.gather(ann.selected(), bob.selected())
        storm = [last_words(server, bytes.fromhex(entry["hex"])) for entry in BAD_FRAMES]
        await asyncio.gather(*storm)
        for client, plan in zip((ann, bob), plans, strict=True):
            assert isinstance(await client.deliver(plan, np.ones(SIZE)), Accepted)
        assert (await ann.next(Version)).accepted == 2


async def test_offers_and_chunks_of_no_round_cost_refusals_only(server: Server) -> None:
    offer = Offer(round=77, version=0, examples=1, steps=1, loss=0.0, sums=[], size=4)
    flood = [encode(offer), encode(Chunk(round=77, offset=0, data=memoryview(bytes(1000))))] * 200
    _, code = await last_words(server, encode(HELLO), *flood, b"end")
    assert code == 4000
    assert server.get("/api/tasks/tiny")["participants"] >= 0


async def test_half_a_handshake_and_half_a_frame_hurt_nobody(server: Server) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    for start in (b"GET /api/tasks/tiny/socket HTTP/1.1\r\nHost: x\r\n", b"\x00\xff" * 50, b""):
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(start)
        await writer.drain()
        writer.close()
    assert server.get("/api/tasks")["tasks"]


async def test_memory_does_not_grow_with_bad_connections(server: Server) -> None:
    frames = [bytes.fromhex(entry["hex"]) for entry in BAD_FRAMES]
    for frame in frames:
        await last_words(server, frame)
    before = _resident_kilobytes(server)
    for _ in range(5):
        await asyncio.gather(*(last_words(server, encode(HELLO), frame) for frame in frames))
    assert _resident_kilobytes(server) - before < 20_000


def _resident_kilobytes(server: Server) -> int:
    return int(psutil.Process(server.process.pid).memory_info().rss) // 1024
