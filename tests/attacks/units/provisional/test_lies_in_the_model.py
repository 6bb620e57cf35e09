"""Strangers work until they are believed, then lie where nothing is compared; their lies are in the model."""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import numpy as np
import pytest

from backend.numerics.vectors import Vector
from backend.wire.client_id import client_id
from backend.wire.unit_messages import Board, Counted, Unit
from tests.support.tasks.pinned_task import built_program, require_exact
from tests.support.tasks.tiny_task import SIZE, write_units
from tests.support.timeouts import PATIENCE
from tests.support.web.exact_unit_client import ExactUnitClient
from tests.support.web.server_process import Server, running

TOKEN = "a" * 32
HALF = SIZE // 2
# Equally long, so that none is an outlier; a lie moves other numbers of the model.
TRUTH = np.repeat(np.array([1.0, 0.0], np.float32), HALF)
LIE = np.repeat(np.array([0.0, 1.0], np.float32), HALF)
LIARS, EPOCHS = 8, 4


class Liar(NamedTuple):
    """What a stranger did: the units of which it told lies, and how many of those were in the model."""

    client: str
    units: frozenset[int]
    blended: int


async def work(client: ExactUnitClient, first: int) -> Liar:
    """Works until the training is over, and lies from the `first` epoch on."""
    await client.ready_with(built_program().program)
    told, blended = dict[int, int](), 0
    while True:
        message: Unit | Board | Counted = await client.next(Unit, Board, Counted)
        if isinstance(message, Unit):
            # As long as honest work takes: lies do not come faster.
            await asyncio.sleep(0.02)
            is_lie = message.epoch >= first
            if is_lie:
                told[message.lease] = message.unit
            # Another unit has another result: copies are compared in any case.
            update = (1.0 + message.seed % 1009 / 1e4) * (LIE if is_lie else TRUTH)
            await client.send(message, client.commit(message, update))
        elif isinstance(message, Counted):
            blended += message.blended and message.lease in told
        elif message.phase == "finished":
            return Liar(client.id, frozenset(told.values()), blended)


def verdicts(server: Server, liar: Liar) -> list[str | None]:
    """Returns what the server's records of units say of a stranger's lies."""
    records = [server.get(f"/api/tasks/tiny/units/{unit}")["results"] for unit in liar.units]
    return [one["verdict"] for results in records for one in results if one["client"] == liar.client]


def newest_weights(server: Server) -> Vector:
    """Returns the weights of the newest version."""
    address = server.get("/api/tasks/tiny")["weights"]
    with urlopen(f"{server.url}/blobs/{address}", timeout=PATIENCE) as answer:
        return np.frombuffer(answer.read(), "<f4")


@pytest.mark.parametrize("first", [3, EPOCHS])
async def test_nothing_of_a_refuted_stranger_stays_in_the_model(tmp_path: Path, first: int) -> None:
    folder, log = tmp_path / "tasks" / "tiny", tmp_path / "server.log"
    trust = {"checked": 1, "spot_checks": 0.01, "trusted": [client_id(TOKEN)], "newcomers": 100}
    # The server's own network: each client is a household there.
    write_units(folder, epochs=EPOCHS, rows=1, trust=trust)
    require_exact(folder, built_program())
    with running(tmp_path / "tasks", tmp_path / "data", log=log) as server:
        before = newest_weights(server)
        async with AsyncExitStack() as stack:
            join = stack.enter_async_context
            peer = await join(ExactUnitClient(server.url, token=TOKEN))
            liars = [await join(ExactUnitClient(server.url)) for _ in range(LIARS)]
            jobs = [work(peer, EPOCHS + 1), *(work(liar, first) for liar in liars)]
            _, *found = await asyncio.gather(*jobs)
        after = newest_weights(server)
        judged = [verdict for liar in found for verdict in verdicts(server, liar)]
    assert judged.count("taken_out") >= sum(liar.blended for liar in found)
    assert "valid" not in judged
    assert sum(liar.blended for liar in found) > 0
    assert (after - before)[TRUTH == 1.0].min() > 0.1
    np.testing.assert_allclose(after[LIE == 1.0], before[LIE == 1.0], rtol=0.0, atol=1e-5)
    text = log.read_text("utf-8")
    # Where another liar agrees with a refuted one, that is believed once more, and refuted once more.
    refuted = set(re.findall(r"its results are out of the model .* client=(\w+)", text))
    assert refuted == {liar.client for liar in found if liar.units}
    assert "an event failed" not in text
    assert "a job failed" not in text
