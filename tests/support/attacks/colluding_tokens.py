"""Tokens of one attacker at a real server: they take every unit they can get, and agree on the same noise."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import numpy as np

from backend.numerics.vectors import Vector
from backend.wire.unit_messages import Counted, Rejected, Unit
from tests.support.tasks.tiny_task import SIZE
from tests.support.web.unit_client import UnitClient

# Five rows in batches of four.
STEPS = 2
PAUSE = 0.05
HONEST = np.ones(SIZE, np.float32)


def noise(unit: Unit) -> Vector:
    """Returns the lie about a unit that all tokens tell."""
    return np.random.default_rng(unit.unit).normal(size=SIZE).astype(np.float32)


@dataclass
class Outcome:
    """Units whose result one client was told to be in the model, and results that were rejected, by code."""

    blended: set[int] = field(default_factory=set)
    counted: int = 0
    rejected: list[str] = field(default_factory=list)


async def work(client: UnitClient, lies: bool, seconds: float) -> Outcome:
    """Does units for a while, honestly or with noise."""
    outcome, units = Outcome(), {}
    try:
        async with asyncio.timeout(seconds):
            while True:
                message: Unit | Counted | Rejected = await client.next(Unit, Counted, Rejected)
                if isinstance(message, Unit):
                    units[message.lease] = message.unit
                    await client.deliver(message, noise(message) if lies else HONEST, steps=STEPS)
                    # A server takes a hundred messages of a client in a second.
                    await asyncio.sleep(PAUSE)
                elif isinstance(message, Counted):
                    outcome.counted += 1
                    if message.blended:
                        outcome.blended.add(units[message.lease])
                else:
                    outcome.rejected.append(message.code)
    except TimeoutError:
        return outcome


async def collude(
    url: str, attackers: Sequence[str], honest: Sequence[UnitClient], seconds: float
) -> tuple[list[Outcome], list[Outcome]]:
    """Lets a token lie from each of these addresses beside honest clients; returns the outcomes of both."""
    async with AsyncExitStack() as stack:
        liars = [await stack.enter_async_context(UnitClient(url, address=address)) for address in attackers]
        others = [await stack.enter_async_context(client) for client in honest]
        for client in (*others, *liars):
            await client.ready(4)
        outcomes = await asyncio.gather(
            *(work(client, False, seconds) for client in others),
            *(work(client, True, seconds) for client in liars),
        )
    return outcomes[len(others) :], outcomes[: len(others)]
