"""Rounds that send a share of the parameters: what is not sent comes with later updates."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from urllib.request import urlopen

import numpy as np
from numpy.typing import NDArray

from backend.numerics.masking.bit_packing import masked_bytes
from backend.numerics.masking.encoding import Encoding, error
from backend.numerics.masking.sparse import BLOCK, block_count, chosen_values
from backend.wire.messages import Offer
from tests.support.masking.known_update_peers import known_update
from tests.support.masking.masked_task import (
    CLIENTS,
    CLIP,
    LEAST,
    PARAMETERS,
    dying,
    serving,
    tokens,
    train,
)
from tests.support.peer.transcript import recorded
from tests.support.web.server_process import Server

# Of five members four recover a secret.
MEMBERS = 5
SHARE = 0.25
SENT = chosen_values(PARAMETERS, SHARE)

Values = NDArray[np.float32]


def versions(server: Server, count: int) -> list[Values]:
    """The first `count` versions."""
    found = server.get("/api/tasks/tiny/versions")["versions"]
    addresses = {one["version"]: one["weights"] for one in found}
    read = []
    for version in range(count):
        with urlopen(f"{server.url}/blobs/{addresses[version]}") as answer:
            read.append(np.frombuffer(answer.read(), "<f4"))
    return read


def changed(before: Values, after: Values) -> NDArray[np.bool_]:
    """Which values a version changed: random ones are hardly ever left as they are."""
    different: NDArray[np.bool_] = after != before
    return different


class Clients:
    """What clients owe, worked out from their known updates and from what versions changed."""

    def __init__(self) -> None:
        self._owed: dict[str, Values] = {}

    def mean(self, rounds: dict[str, int], sent: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Of what clients send of what they trained in these rounds, where that is `sent`."""
        total = np.zeros(PARAMETERS)
        for name, number in rounds.items():
            whole = known_update(name, number, PARAMETERS, 1.0) + self._owed.get(name, np.float32(0))
            total += np.where(sent, whole, 0)
            self._owed[name] = np.where(sent, np.float32(0), whole)
        return total / len(rounds)


def bound(members: int, clients: int) -> float:
    """How far the mean can be off, float32 included."""
    return error(Encoding(members, SENT, 1, 32, CLIP, sharers=LEAST), clients, clients).worst + 1e-6


def assert_drawn(sent: NDArray[np.bool_]) -> None:
    """Whole blocks were sent and the last values, as many as the share has."""
    blocks = sent[: BLOCK * block_count(PARAMETERS)].reshape(-1, BLOCK)
    assert (blocks.all(axis=1) | ~blocks.any(axis=1)).all()
    assert sent[blocks.size :].all()
    assert sent.sum() == SENT


async def test_every_round_sends_other_values_and_what_waited_comes_with_them(tmp_path: Path) -> None:
    names, rounds = tokens(), 4
    with serving(tmp_path, rounds=rounds, share=str(SHARE)) as server:
        async with recorded(server.url) as transcript:
            await train(transcript.url, {name: {} for name in names})
        made = versions(server, rounds + 1)
    clients, draws = Clients(), []
    for number in range(1, rounds + 1):
        before, after = made[number - 1 : number + 1]
        sent = changed(before, after)
        assert_drawn(sent)
        draws.append(sent)
        off = np.abs(after - before - clients.mean(dict.fromkeys(names, number), sent)).max()
        assert off <= bound(CLIENTS, CLIENTS)
    assert all((one != other).any() for one, other in pairwise(draws))
    said = [frame for frames in transcript.conversations() for frame in frames]
    sizes = [frame.size for frame in said if isinstance(frame, Offer)]
    assert sizes == [masked_bytes(SENT, 1, 32)] * (CLIENTS * rounds)


async def test_a_client_that_drops_out_changes_nothing_of_what_others_owe(tmp_path: Path) -> None:
    victim, newcomer, *others = tokens(MEMBERS + 1)
    with (
        serving(tmp_path, MEMBERS, rounds=2, share=str(SHARE)) as server,
        dying(server.url, victim, "before:offer") as process,
    ):

        async def join_later() -> None:
            assert await asyncio.to_thread(process.wait, 100) == -9
            await train(server.url, {newcomer: {}})

        await asyncio.gather(train(server.url, {name: {} for name in others}), join_later())
        made = versions(server, 3)
    clients = Clients()
    for number, counted in ((1, others), (2, [newcomer, *others])):
        before, after = made[number - 1 : number + 1]
        sent = changed(before, after)
        assert_drawn(sent)
        off = np.abs(after - before - clients.mean(dict.fromkeys(counted, number), sent)).max()
        assert off <= bound(MEMBERS, len(counted))


async def test_what_a_round_sent_that_failed_after_reveals_is_lost_and_its_rest_is_owed(
    tmp_path: Path,
) -> None:
    one, other, third, fourth, *others = tokens(MEMBERS + 2)
    with (
        serving(tmp_path, MEMBERS, rounds=1, share=str(SHARE)) as server,
        # All updates are accepted, but too few are left to take off the masks.
        dying(server.url, one, "before:reveal") as process,
        dying(server.url, other, "before:reveal") as another,
    ):

        async def join_later() -> None:
            for dead in (process, another):
                assert await asyncio.to_thread(dead.wait, 100) == -9
            await train(server.url, {third: {}, fourth: {}})

        await asyncio.gather(train(server.url, {name: {} for name in others}), join_later())
        told = server.get("/api/tasks/tiny/rounds")["rounds"]
        made = versions(server, 3)
    assert [(one["round"], one["outcome"]) for one in sorted(told, key=lambda one: one["round"])] == [
        (1, "abandoned"),
        (2, "version"),
        (3, "version"),
    ]
    # Some revealed shares for version 0, so that version 1 equals it, and all train anew.
    assert (made[1] == made[0]).all()
    sent = changed(*made[1:])
    assert_drawn(sent)
    anew = Clients().mean(dict.fromkeys([third, fourth, *others], 3), sent)
    first = sum(known_update(name, 1, PARAMETERS, 1.0) for name in others) / MEMBERS
    beside = made[2] - made[1] - anew
    lost, owed = ((np.abs(beside - more) <= bound(MEMBERS, MEMBERS))[sent] for more in (0.0, first))
    assert (lost | owed).all()
    assert 0 < lost.sum() < lost.size


async def test_packed_shares_add_up(tmp_path: Path) -> None:
    names = tokens()
    with serving(tmp_path, rounds=2, share=str(SHARE), bits="24") as server:
        await train(server.url, {name: {} for name in names})
        made = versions(server, 3)
    clients = Clients()
    encoding = Encoding(CLIENTS, SENT, 1, 24, CLIP, sharers=LEAST)
    for number in (1, 2):
        before, after = made[number - 1 : number + 1]
        sent = changed(before, after)
        off = np.linalg.norm(after - before - clients.mean(dict.fromkeys(names, number), sent))
        assert off <= error(encoding, CLIENTS, CLIENTS).worst + 1e-4
        assert sent.sum() <= SENT
