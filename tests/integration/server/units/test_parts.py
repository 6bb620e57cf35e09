"""Clients that stop in the middle of their units: the rest of each unit is dealt out."""

from __future__ import annotations

import asyncio
from collections import Counter

from backend.numerics.walk import Walk
from backend.wire.unit_messages import Board, Counted, Idle, Taken, Unit
from tests.integration.server.conftest import Serve
from tests.integration.server.units.test_work_units import ALONE, ONES, STEPS
from tests.support.tasks.tiny_task import EXAMPLES, SHARDS
from tests.support.web.unit_client import UnitClient

EPOCHS = 5
PREEMPTIONS = EPOCHS * SHARDS


async def trained(client: UnitClient, unit: Unit) -> list[int]:
    """Trains one step of a unit, where its client is preempted if it has more; returns the rows it visits."""
    (rows,) = list(Walk(unit.seed, 0, 1, unit.batch_size, unit.first_step).batches(unit.examples))
    taken = await client.deliver(unit, ONES, steps=1, examples=len(rows))
    assert isinstance(taken, Taken)
    counted = await client.next(Counted)
    assert counted == Counted(lease=unit.lease, examples=len(rows), blended=True)
    return [int(row) for row in rows]


async def test_thirty_preemptions_leave_no_row_of_an_epoch_out_and_none_is_visited_twice(
    units: Serve,
) -> None:
    server = units(epochs=EPOCHS, trust=ALONE, assimilation={"name": "vc-asgd", "alpha": 0.5})
    visits: Counter[tuple[int, str, int]] = Counter()
    preemptions, rests = 0, []
    async with UnitClient(server.url) as client:
        await client.ready()
        for _ in range(2 * PREEMPTIONS):
            unit = await client.next(Unit)
            if unit.first_step:
                rests.append((unit.first_step, unit.steps, unit.epochs, unit.examples))
            else:
                preemptions += 1
            rows = await trained(client, unit)
            visits.update((unit.epoch, unit.shard.sha256, row) for row in rows)
        board = await client.next(Board)
        while board.phase != "finished":
            board = await client.next(Board)
    assert preemptions == PREEMPTIONS == 30
    assert rests == [(1, STEPS - 1, 0, EXAMPLES)] * PREEMPTIONS
    assert set(visits.values()) == {1}
    assert len(visits) == EPOCHS * SHARDS * EXAMPLES
    assert board.tally.units == board.tally.done == 2 * SHARDS
    history = server.get("/api/tasks/tiny/units/history")["results"]
    assert len(history) == 2 * PREEMPTIONS
    told = Counter((one["first_step"], one["examples"], one["visits"]) for one in history)
    assert told == {(0, 4, 4): PREEMPTIONS, (1, 1, 1): PREEMPTIONS}
    work = server.get(f"/api/tasks/tiny/units/{history[-1]['unit']}")["work"]
    assert (work["first_step"], work["steps"], work["examples"]) == (1, 1, EXAMPLES)


async def worked(client: UnitClient, part_of: int) -> list[Unit]:
    """Trains units until the training is over, of unit `part_of` only the first step; returns the units."""
    trained = []
    await client.ready()
    while True:
        frame: Unit | Idle = await client.next(Unit, Idle)
        if isinstance(frame, Unit):
            trained.append(frame)
            in_part = frame.first_step or frame.steps or frame.unit == part_of
            examples = (EXAMPLES - 4 if frame.first_step else 4) if in_part else EXAMPLES
            await client.deliver(frame, ONES, steps=1 if in_part else STEPS, examples=examples)
        elif frame.cause == "over":
            return trained


async def test_two_clients_train_the_same_part_and_the_same_rest_from_the_same_weights(units: Serve) -> None:
    server = units(epochs=1, trust={"replicas": 2, "spot_checks": 0.0})
    async with UnitClient(server.url) as ann, UnitClient(server.url) as bob:
        trained = [unit for mine in await asyncio.gather(worked(ann, 0), worked(bob, 0)) for unit in mine]
    first, second = [unit for unit in trained if unit.unit == 0]
    # Who comes second is told where the first one stopped.
    assert {(one.first_step, one.steps) for one in (first, second)} == {(0, 0), (0, 1)}
    rest, again = [unit for unit in trained if unit.first_step]
    assert (rest.unit, rest.base, rest.weights, rest.first_step, rest.steps) == (
        again.unit,
        again.base,
        again.weights,
        1,
        1,
    )
    assert (rest.shard, rest.first, rest.examples, rest.seed) == (first.shard, 0, EXAMPLES, first.seed)
