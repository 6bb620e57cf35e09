"""Plays the flows whose roads are measured, with clients over sockets: rounds and a work unit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, get_args

import numpy as np

from backend.crypto.round_context import Terms
from backend.numerics.masking.bit_packing import masked_words
from backend.wire.messages import Abandoned, Chunk, Credit, Refused, ServerFrame, Train, Version, Welcome
from backend.wire.unit_messages import Board, Counted, Unit
from scripts.roads.serving import Road, serving
from tests.support.protocols.secagg.member_host import Holder, terms_of
from tests.support.tasks import tiny_task
from tests.support.tasks.tiny_task import write_task, write_units
from tests.support.web.rounds_client import Client
from tests.support.web.unit_client import UnitClient

# So many values of state beside the task's own, so that an update is longer than anything else.
MORE = 2992
SIZE = tiny_task.SIZE + MORE
# Within the task's bound on an update's norm.
UPDATE = np.full(SIZE, 0.01, np.float32)
# One result of a unit is enough, and none is compared.
ALONE = {"replicas": 1, "spot_checks": 0.0}

MASKED_CLIENTS = 3
MASKED = (
    'security.aggregation=["masked"]',
    f"security.masking.min_clients={MASKED_CLIENTS}",
    "security.masking.clip=1.0",
    "security.masking.bits=32",
)
# The task has one metric.
ROWS = 1
# A masked update's examples, in steps of the encoding: some, and not too many.
WEIGHT = 1000
FRAMES: tuple[type[Any], ...] = get_args(ServerFrame)

Flow = Callable[[Path], Coroutine[Any, Any, Road]]


async def federated_round(folder: Path) -> Road:
    """From the offers of two clients' updates until both have the next version's plan."""
    write_task(folder / "tasks" / "tiny", more=MORE)
    with serving(folder) as server:
        async with Client(server.url) as one, Client(server.url) as other:
            await one.ready()
            await other.ready()
            plans = [await one.selected(), await other.selected()]
            server.begin()
            await one.deliver(plans[0], UPDATE)
            await other.deliver(plans[1], UPDATE)
            for client in (one, other):
                await client.next(Version)
                await client.selected()
            return server.end()


async def masked_round(folder: Path) -> Road:
    """From when the last client is ready, so that the round opens, until all have the new version."""
    write_task(
        folder / "tasks" / "tiny", more=MORE, min_available_clients=MASKED_CLIENTS, quorum=MASKED_CLIENTS
    )
    with serving(folder, *MASKED) as server:
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(Client(server.url, aggregation=["masked"]))
                for _ in range(MASKED_CLIENTS)
            ]
            for client in clients[:-1]:
                await client.ready()
            server.begin()
            await clients[-1].ready()
            await asyncio.gather(*(_take_part(client, number) for number, client in enumerate(clients)))
            return server.end()


async def work_unit(folder: Path) -> Road:
    """From when a client gets its second unit until the board says that the result is in the model."""
    write_units(folder / "tasks" / "tiny", more=MORE, trust=ALONE)
    with serving(folder) as server:
        async with UnitClient(server.url) as client:
            await client.ready()
            await _train_unit(client, 1)
            server.begin()
            await _train_unit(client, 2)
            return server.end()


async def _train_unit(client: UnitClient, number: int) -> None:
    """Delivers a unit's result, which is the model's result `number`."""
    unit = await client.next(Unit)
    await client.deliver(unit, UPDATE, steps=2)
    await client.next(Counted)
    while (await client.next(Board)).base < number:
        pass


async def _take_part(client: Client, number: int) -> None:
    """One client's part of a masked round, until it hears of the version."""
    plan = await client.selected()
    update, words = b"", np.zeros(masked_words(SIZE, ROWS), np.uint32)
    words[SIZE] = WEIGHT
    chance = Random(number)  # noqa: S311 - the same keys in every run
    holder = Holder(client.id, words, chance, terms=partial(_terms, client.welcome))
    holder.planned(plan)
    while True:
        while holder.outcomes:
            holder.work()
        for said in holder.said:
            await client.say(said)
        holder.said.clear()
        if holder.masked is not None and not update:
            update = holder.masked.tobytes()
            await client.offer(plan, words.size, examples=0, steps=0, loss=0.0, sums=[])
        frame: ServerFrame = await client.next(*FRAMES)
        match frame:
            case Version():
                return
            case Refused(reason=reason) | Abandoned(reason=reason):
                raise RuntimeError(reason)
            case Credit():
                await client.say(Chunk(round=plan.round, offset=0, data=memoryview(update[: frame.until])))
            case _:
                holder.hears(frame)


def _terms(welcome: Welcome, plan: Train, _values: int) -> Terms:
    """What the masks of a round are bound to: the task `tiny`, its bundle and its parameters."""
    return replace(terms_of(plan, SIZE, welcome.bundle), task="tiny", rows=ROWS)


FLOWS: dict[str, Flow] = {
    "federated_round": federated_round,
    "masked_round": masked_round,
    "work_unit": work_unit,
}
