"""A lying server that sums a version's updates twice, the second time without one client, and subtracts.

It has everything that the strongest masked mode leaves it: `server = "active"`, a complete graph, and no
client in league with it. It says that the first round was abandoned.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from backend.protocols.secagg.server import MaskedRound
from backend.wire.client_id import client_id
from backend.wire.messages import Abandoned
from tests.support.attacks.lying_rounds_server import LyingServer, Sum, lying_server, new_token
from tests.support.attacks.training_peers import training_peer
from tests.support.protocols.secagg.member_host import plan, terms_of
from tests.support.protocols.secagg.world import SECONDS, World, masking

PEERS, PARAMETERS = 7, 40


class Repeating(World):
    """A world whose server opens another round of the version that was summed before."""

    def again(self, cohort: list[str]) -> None:
        """Opens the next round for `cohort` alone, from the same version and weights."""
        for client in self.holders:
            self.put(client, Abandoned(round=self.train.round, reason="Too few updates came."))
        self.settle()
        self._open(self.train.round + 1)
        self.train = replace(plan(self.train.round, self.terms), version=0)
        self.cohort = cohort
        self.masks = MaskedRound(terms_of(self.train, self.values), cohort, SECONDS, self.now)
        for client in cohort:
            self.put(client, self.train)

    def play(self) -> None:
        """Plays the open round to its end."""
        self.settle()
        self.end_inputs()
        self.settle()
        while self.outcome == "open":
            self.wait()


def test_members_reveal_for_a_version_once() -> None:
    world = Repeating(PEERS, masking("active"))
    world.play()
    first = world.sum
    assert first is not None
    victim, *others = world.holders
    world.again(others)
    world.play()
    stolen = None if world.sum is None else first - world.sum
    assert stolen is None, f"read exactly: {np.array_equal(stolen, world.holders[victim].update)}"
    reasons = {reason for client in others for reason in world.holders[client].refusals}
    assert len(reasons) == 1
    assert "was summed before" in reasons.pop()


@asynccontextmanager
async def peers(server: LyingServer, tokens: list[str], folder: Path, said: StringIO) -> AsyncIterator[None]:
    """Real sessions of these peers, each with its own folder; they leave at the end."""
    stop = asyncio.Event()
    for token in tokens:
        server.volunteers.pop(client_id(token), None)
    running = [
        asyncio.create_task(training_peer(server.address, token, PARAMETERS, folder / token, said).run(stop))
        for token in tokens
    ]
    await server.arrived(len(tokens))
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(*running)


async def second_sum(server: LyingServer, tokens: list[str], version: int) -> Sum | None:
    """What the server gets from a round of `version` without the first peer."""
    return await server.sum_of([client_id(token) for token in tokens[1:]], 2, version)


def check(first: Sum | None, second: Sum | None, server: LyingServer, tokens: list[str]) -> None:
    """No second sum may exist, since all who revealed shares decline."""
    assert first is not None
    if second is not None:
        # Rounding takes some parts in a million from a norm of 1.
        error = abs(float(np.linalg.norm(first - second)) - 1.0)
        pytest.fail(f"The update of one peer was read with a relative error of {error:.1e}.")
    assert server.declined[2] == {client_id(token) for token in tokens[1:]}


@pytest.mark.parametrize("connection", ["same", "broken"])
async def test_peers_reveal_for_a_version_once(tmp_path: Path, connection: str) -> None:
    tokens, said = [new_token() for _ in range(PEERS)], StringIO()
    async with lying_server(PARAMETERS) as server, peers(server, tokens, tmp_path, said):
        first = await server.sum_of(server.volunteers, 1, 0)
        await server.say_abandoned(1)
        if connection == "broken":
            before = dict(server.volunteers)
            server.volunteers.clear()
            for volunteer in before.values():
                await volunteer.link.close()
            await server.arrived(PEERS)
        second = await second_sum(server, tokens, 0)
    check(first, second, server, tokens)
    assert "was summed before" in said.getvalue()


async def test_peers_that_were_restarted_remember_what_was_summed(tmp_path: Path) -> None:
    tokens, said = [new_token() for _ in range(PEERS)], StringIO()
    async with lying_server(PARAMETERS) as server:
        async with peers(server, tokens, tmp_path, said):
            first = await server.sum_of(server.volunteers, 1, 0)
        async with peers(server, tokens, tmp_path, said):
            second = await second_sum(server, tokens, 0)
    check(first, second, server, tokens)


async def test_an_older_version_is_no_way_round(tmp_path: Path) -> None:
    tokens, said = [new_token() for _ in range(PEERS)], StringIO()
    async with lying_server(PARAMETERS) as server, peers(server, tokens, tmp_path, said):
        first = await server.sum_of(server.volunteers, 1, 3)
        await server.say_abandoned(1)
        second = await second_sum(server, tokens, 2)
    check(first, second, server, tokens)


async def test_the_next_version_is_summed(tmp_path: Path) -> None:
    tokens, said = [new_token() for _ in range(PEERS)], StringIO()
    async with lying_server(PARAMETERS) as server, peers(server, tokens, tmp_path, said):
        await server.sum_of(server.volunteers, 1, 0)
        assert await second_sum(server, tokens, 1) is not None
