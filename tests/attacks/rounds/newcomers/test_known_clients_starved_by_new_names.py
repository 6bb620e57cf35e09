"""One person joins an open task under a hundred new names, to send lies or to keep others from the rounds.

With `newcomers = "probation"` the lies do not count, the known clients keep their seats, and a newcomer of
another household gets one of the few seats in its turn. Names that behaved for the whole probation and lie
then are known clients: robust rules and the owner's view of them are what helps against those.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.wire.messages import Abandoned, Accepted, Train, Version
from tests.support.attacks.newcomers_server import join, newcomers_server
from tests.support.attacks.robust_rounds import weights_of
from tests.support.tasks.tiny_task import SIZE
from tests.support.web.rounds_client import Client

NAMES = 100
KNOWN = 6
ACCESS = 'newcomers = "probation"\nprobation = { rounds = 1 }'
HONEST, LIE = np.ones(SIZE, np.float32), np.full(SIZE, -15.0, np.float32)


async def deliver(client: Client, plan: Train, update: NDArray[np.float32]) -> bool:
    """Sends an update; returns whether it counts."""
    answer = await client.deliver(plan, update)
    assert isinstance(answer, Accepted)
    return answer.counted


async def test_a_flood_of_names_lies_in_vain_and_takes_no_seat_of_known_clients(
    tmp_path: Path,
) -> None:
    with newcomers_server(tmp_path, ACCESS, min_available_clients=KNOWN, quorum=KNOWN) as server:
        async with AsyncExitStack() as stack:
            known = [await join(stack, server, f"198.51.{number}.1") for number in range(KNOWN)]
            for client in known:
                await client.ready()
            for client in known:
                assert not await deliver(client, await client.selected(), HONEST)
            await known[0].next(Abandoned)
            # The flood comes from one network, a stranger from another.
            flood = [await join(stack, server, "203.0.113.7") for _ in range(NAMES)]
            stranger = await join(stack, server, "192.0.2.1")
            plans = [await client.selected() for client in known]  # Nobody else was ready.
            for client in (*flood, stranger):
                await client.ready()
            for client, plan in zip(known, plans, strict=True):
                assert await deliver(client, plan, HONEST)
            await known[0].next(Version)
            plans = [await client.selected() for client in known]
            assert await deliver(stranger, await stranger.selected(), HONEST) is False
            selected = [client for client in flood if await is_selected(client)]
            assert len(selected) == 1  # Two seats beside six, and households take turns.
            assert await deliver(selected[0], await plan_of(selected[0]), LIE) is False
            for client, plan in zip(known, plans, strict=True):
                assert await deliver(client, plan, HONEST)
            version = await known[0].next(Version)
            moved = weights_of(server, version.weights) - weights_of(server, plans[0].weights)
            np.testing.assert_allclose(moved, 1.0, rtol=1e-6)
            assert version.accepted == KNOWN


async def is_selected(client: Client) -> bool:
    """Whether the client's plan has arrived; all plans of a round are sent at once."""
    if not any(isinstance(frame, Train) for frame in client.heard):
        try:
            await client.next(Train, patience=0.05)
        except TimeoutError:
            return False
    return True


async def plan_of(client: Client) -> Train:
    return next(frame for frame in reversed(client.heard) if isinstance(frame, Train))
