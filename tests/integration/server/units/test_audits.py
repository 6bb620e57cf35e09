"""Before a training ends, trusted peers repeat one result of each client whose results count unproven."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from backend.wire.client_id import client_id
from backend.wire.unit_messages import Board, Unit
from tests.support.tasks.pinned_task import built_program, require_exact
from tests.support.tasks.tiny_task import SIZE, write_units
from tests.support.web.exact_unit_client import ExactUnitClient
from tests.support.web.server_process import running

TOKEN = "a" * 32
ONES = np.ones(SIZE, np.float32)
EPOCHS, UNITS = 3, 30


async def work(client: ExactUnitClient, most: int = 10**6) -> list[Unit]:
    """Does so many units at `most`, until the training is over; returns them."""
    await client.ready_with(built_program().program)
    done: list[Unit] = []
    while len(done) < most:
        message: Unit | Board = await client.next(Unit, Board)
        if isinstance(message, Unit):
            done.append(message)
            # Another unit has another result: copies are compared in any case.
            await client.send(message, client.commit(message, (1.0 + message.seed % 1009 / 1e4) * ONES))
        elif message.phase == "finished":
            break
    return done


@pytest.mark.parametrize("stays", [True, False], ids=["peer stays", "peer leaves"])
async def test_a_training_waits_for_audits_as_long_as_a_trusted_peer_is_there(
    tmp_path: Path, stays: bool
) -> None:
    folder, log = tmp_path / "tasks" / "tiny", tmp_path / "server.log"
    trust = {"checked": 1, "spot_checks": 1e-9, "trusted": [client_id(TOKEN)]}
    # A peer that leaves has a unit, which another one gets after its lease.
    write_units(folder, epochs=EPOCHS, rows=1, lease=2.0, trust=trust)
    require_exact(folder, built_program())
    with running(tmp_path / "tasks", tmp_path / "data", log=log) as server:
        async with ExactUnitClient(server.url) as ann, ExactUnitClient(server.url) as bob:

            async def watch() -> list[Unit]:
                async with ExactUnitClient(server.url, token=TOKEN) as peer:
                    return await work(peer, 10**6 if stays else 10)

            of_peer, of_ann, of_bob = await asyncio.gather(watch(), work(ann), work(bob))
        summary = server.get("/api/tasks/tiny")
    assert (summary["version"], summary["phase"]) == (EPOCHS, "finished")
    # Audits are units of their own, beyond those of the epochs; each repeats the work of a client.
    audits = [unit for unit in of_peer if unit.unit >= EPOCHS * UNITS]
    assert len(audits) <= 2 * EPOCHS
    assert stays or not audits
    again = [(one.shard, one.first, one.seed, one.weights) for one in (*of_ann, *of_bob)]
    assert all((one.shard, one.first, one.seed, one.weights) in again for one in audits)
    assert "an event failed" not in log.read_text("utf-8")
    assert "a job failed" not in log.read_text("utf-8")
