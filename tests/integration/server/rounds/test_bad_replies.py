"""Every kind of bad reply over real sockets, in one task of one server, one round each.

Two honest clients are in every round. Whatever a third member does, it is refused alone with a code and a
sentence, the round makes the version that the two alone make, to the bit, and the server neither dies nor
grows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.request import urlopen

import numpy as np
import pytest
from numpy.typing import NDArray
from websockets.frames import Frame, Opcode

from backend.wire.codec import MAX_CLIENT_FRAME, encode
from backend.wire.messages import Accepted, Chunk, Closing, Credit, Leave, Offer, Refused, Train, Version
from tests.support.tasks.tiny_task import SIZE, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.raw_client import Raw
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running

# Two chunks. Weights are whole numbers below 2^17, so that multiples of 2^-7 are added to them exactly.
VALUES = 70_000
MIB = 1 << 20
GROWTH = 24 * MIB
LIMITS = {
    "MINGA_STALL_SECONDS": 6,
    "MINGA_MIN_BYTES_PER_SECOND": MAX_CLIENT_FRAME,
    "MINGA_JOINS_PER_MINUTE": 300,
    "MINGA_FRAMES_PER_SECOND": 30,
}
ELSEWHERE = "127.0.0.66"

Vector: TypeAlias = NDArray[np.float32]
Answer: TypeAlias = Refused | Closing


@dataclass(frozen=True)
class Place:
    """Where the bad client, a member of the round, plays its game."""

    server: Server
    bad: Client
    plan: Train
    honest: Client
    update: Vector


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("bad")
    write_task(folder / "tasks" / "tiny", more=VALUES - SIZE, min_available_clients=3, deadline=100)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in LIMITS.items():
            patch.setenv(name, str(value))
        with running(folder / "tasks", folder / "data", "--log-level", "error") as running_server:
            yield running_server


@pytest.fixture(scope="module")
def memory(server: Server) -> int:
    """The server's before all rounds but the first."""
    asyncio.run(one_round(server, nothing_bad))
    return resident(server)


def resident(server: Server) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])


def weights_of(server: Server, address: str) -> Vector:
    with urlopen(f"{server.url}/blobs/{address}", timeout=PATIENCE) as answer:
        return np.frombuffer(answer.read(), "<f4")


def honest_update(seed: int) -> Vector:
    """Minus one, nothing or one 32nd, everywhere."""
    return (np.random.default_rng(seed).integers(-1, 2, VALUES) / 32).astype(np.float32)


async def one_round(server: Server, play: Callable[[Place], Awaitable[Answer | None]]) -> Answer | None:
    """A round of two honest clients and a third that plays; what that one was told."""
    async with Client(server.url) as ann, Client(server.url) as bob, Client(server.url) as bad:
        for client in (ann, bob, bad):
            await client.ready()
        plans = await asyncio.gather(ann.selected(), bob.selected(), bad.selected())
        mine, other = honest_update(2 * plans[0].round), honest_update(2 * plans[0].round + 1)
        told = await play(Place(server, bad, plans[2], bob, other))
        # Wherever it is by now, nobody waits for it any more.
        async with Client(server.url, token=bad.token) as again:
            await again.say(Leave())
        assert isinstance(await ann.deliver(plans[0], mine, examples=1), Accepted)
        if not any(isinstance(heard, Accepted) for heard in bob.heard):
            assert isinstance(await bob.deliver(plans[1], other, examples=3), Accepted)
        version = await ann.next(Version)
    assert (version.round, version.accepted, version.examples) == (plans[0].round, 2, 4)
    mean = (mine.astype(np.float64) + 3 * other.astype(np.float64)) / 4
    before, after = weights_of(server, plans[0].weights), weights_of(server, version.weights)
    assert after.tobytes() == (before + mean).astype("<f4").tobytes()
    return told


# Bad updates: refused, and the client stays.


async def nothing_bad(place: Place) -> None:
    return None


def with_value(value: float) -> Callable[[Place], Awaitable[Answer]]:
    """An update that is good but for one value in its middle."""

    async def play(place: Place) -> Answer:
        update = np.where(np.arange(VALUES) == VALUES // 2, np.float32(value), place.update)
        return refusal(await place.bad.deliver(place.plan, update))

    return play


def with_length(values: int) -> Callable[[Place], Awaitable[Answer]]:
    async def play(place: Place) -> Answer:
        return refusal(await place.bad.deliver(place.plan, np.resize(place.update, values)))

    return play


def saying(**changes: int) -> Callable[[Place], Awaitable[Answer]]:
    """A good update with a bad offer."""

    async def play(place: Place) -> Answer:
        return refusal(await place.bad.deliver(place.plan, place.update, **changes))

    return play


async def as_float64(place: Place) -> Answer:
    data = memoryview(place.update.astype("<f8").tobytes())
    await place.bad.offer(place.plan, VALUES, size=len(data))
    return refusal(await place.bad.next(Credit, Accepted, Refused))


async def cut_short(place: Place) -> Answer:
    """Half of the update, then nothing."""
    await place.bad.offer(place.plan, VALUES)
    await place.bad.next(Credit)
    half = place.update.tobytes()[: 2 * VALUES]
    await place.bad.say(Chunk(round=place.plan.round, offset=0, data=memoryview(half)))
    return refusal(await place.bad.next(Accepted, Refused))


async def out_of_order(place: Place) -> Answer:
    await place.bad.offer(place.plan, VALUES)
    await place.bad.next(Credit)
    await place.bad.say(Chunk(round=place.plan.round, offset=1000, data=memoryview(bytes(1000))))
    return refusal(await place.bad.next(Accepted, Refused))


async def twice(place: Place) -> Answer:
    """An honest client's second update in a round, after its first was accepted."""
    first = await place.honest.deliver(place.plan, place.update, examples=3)
    assert isinstance(first, Accepted)
    return refusal(await place.honest.deliver(place.plan, 7 * place.update))


async def not_selected(place: Place) -> Answer:
    """A good update of somebody who came when the round was open."""
    async with Client(place.server.url) as late:
        await late.ready()
        return refusal(await late.deliver(place.plan, place.update))


def refusal(answer: object) -> Answer:
    assert isinstance(answer, Refused | Closing), answer
    return answer


# Bad bytes: the connection ends.


def raw(play: Callable[[Raw, int], None], code: int) -> Callable[[Place], Awaitable[Answer]]:
    """The bad client connects again, goes on with bytes of its own, is told why and closed with `code`."""

    def conversation(place: Place) -> Closing:
        with Raw(place.server.url, source=ELSEWHERE) as client:
            client.join(place.bad.token)
            plan = client.hear_message(Train)
            assert isinstance(plan, Train)
            assert (plan.round, plan.seed) == (place.plan.round, place.plan.seed), "it is still a member"
            with suppress(OSError):  # The server may be quicker.
                play(client, place.plan.round)
            closing, closed = client.last_words()
        assert closing is not None
        assert closed == code
        return closing

    async def played(place: Place) -> Answer:
        return await asyncio.to_thread(conversation, place)

    return played


def garbage(client: Raw, _round: int) -> None:
    client.send(np.random.default_rng(0).bytes(5000))


def half_a_message(client: Raw, number: int) -> None:
    client.send(encode(Chunk(round=number, offset=0, data=memoryview(bytes(5000))))[:-1])


def text(client: Raw, _round: int) -> None:
    client.send(b'{"type": "leave"}', Opcode.TEXT)


def oversized(client: Raw, _round: int) -> None:
    client.send(bytes(MAX_CLIENT_FRAME + 1))


def endless(client: Raw, _round: int) -> None:
    """A frame of 4 EiB, as much of it as the server takes."""
    client.socket.sendall(b"\x82\xff" + (1 << 62).to_bytes(8, "big") + bytes(4))
    for _ in range(1000):
        client.socket.sendall(bytes(65536))


def endless_fragments(client: Raw, _round: int) -> None:
    client.send(b"x", fin=False)
    for _ in range(10_000):
        client.send(b"x", Opcode.CONT, fin=False)


def slow(client: Raw, number: int) -> None:
    chunk = encode(Chunk(round=number, offset=0, data=memoryview(bytes(100_000))))
    client.drip(Frame(Opcode.BINARY, chunk).serialize(mask=True), seconds=60)


def unmasked(client: Raw, _round: int) -> None:
    client.socket.sendall(Frame(Opcode.BINARY, encode(Leave())).serialize(mask=False))


def flood_of_pings(client: Raw, _round: int) -> None:
    pings = Frame(Opcode.PING, b"x" * 125).serialize(mask=True) * 100
    for _ in range(1000):
        client.socket.sendall(pings)


def flood_of_offers(client: Raw, number: int) -> None:
    offer = Offer(round=number, version=0, examples=1, steps=1, loss=0.0, sums=[], size=4)
    offers = Frame(Opcode.BINARY, encode(offer)).serialize(mask=True) * 100
    for _ in range(1000):
        client.socket.sendall(offers)


async def flood_of_joins(place: Place) -> Answer:
    """As many clients as come in, until one is told to wait."""

    def flood() -> Closing:
        for _ in range(1000):
            with Raw(place.server.url, source="127.0.0.67") as client:
                client.send(b"", Opcode.CLOSE)
                closing, code = client.last_words()
                if closing is not None:
                    assert code == 4029
                    return closing
        pytest.fail("everybody was let in")

    return await asyncio.to_thread(flood)


KINDS: dict[str, tuple[Callable[[Place], Awaitable[Answer]], str, str]] = {
    "NaN": (with_value(np.nan), "not-finite", "infinity"),
    "infinity": (with_value(-np.inf), "not-finite", "infinity"),
    "1e30": (with_value(1e30), "norm-too-large", "norm"),
    "short": (with_length(VALUES - 1), "wrong-length", "bytes"),
    "long": (with_length(VALUES + 1), "wrong-length", "bytes"),
    "wrong dtype": (as_float64, "wrong-length", "bytes"),
    "no examples": (saying(examples=0), "bad-examples", "examples"),
    "negative examples": (saying(examples=-5), "bad-examples", "examples"),
    "huge example count": (saying(examples=2**60), "bad-examples", "examples"),
    "garbage": (raw(garbage, 4000), "bad-frame", "not a message"),
    "truncated message": (raw(half_a_message, 4000), "bad-frame", "not a message"),
    "truncated update": (cut_short, "too-slow", "too slow"),
    "chunk out of order": (out_of_order, "wrong-length", "out of order"),
    "duplicate": (twice, "duplicate", "one counts"),
    "stale round": (saying(round=0), "stale-round", "not open"),
    "foreign round": (saying(round=10**6), "stale-round", "not open"),
    "stale version": (saying(version=10**6), "stale-round", "version"),
    "oversized": (raw(oversized, 1009), "too-long", str(MAX_CLIENT_FRAME)),
    "endless frame": (raw(endless, 1009), "too-long", str(MAX_CLIENT_FRAME)),
    "endless fragments": (raw(endless_fragments, 1009), "too-long", "64 fragments"),
    "slow frame": (raw(slow, 4028), "too-slow", "within 7 seconds"),
    "text frame": (raw(text, 4000), "bad-frame", "binary"),
    "no WebSocket frame": (raw(unmasked, 1002), "bad-frame", "mask"),
    "not selected": (not_selected, "not-selected", "next"),
    "flood of joins": (flood_of_joins, "too-fast", "300 a minute"),
    "flood of pings": (raw(flood_of_pings, 4029), "too-fast", "Pings"),
    "flood of offers": (raw(flood_of_offers, 4029), "too-fast", "30 a second"),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_bad_reply_is_refused_alone(server: Server, memory: int, kind: str) -> None:
    play, code, words = KINDS[kind]
    told = await one_round(server, play)
    assert told is not None
    assert told.code == code
    assert words in told.reason
    assert told.reason.endswith(".")
    assert server.process.poll() is None
    assert server.get("/api/tasks/tiny")["trouble"] is None
    assert resident(server) - memory < GROWTH
