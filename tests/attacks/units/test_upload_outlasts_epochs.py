"""A client holds the last bytes of a result back until the server has forgotten its lease."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from backend.wire.messages import Chunk, Credit
from backend.wire.unit_messages import Rejected, Unit
from tests.support.attacks.units_server import ALONE, STEPS
from tests.support.tasks.tiny_task import SIZE, write_units
from tests.support.web.exact_unit_client import PROGRAM, ExactUnitClient
from tests.support.web.server_process import running
from tests.support.web.unit_client import UnitClient

ONES = np.ones(SIZE, np.float32)


@pytest.mark.parametrize("program", [None, PROGRAM], ids=["tolerance", "bits"])
async def test_a_result_that_comes_two_epochs_late_is_over(tmp_path: Path, program: str | None) -> None:
    write_units(tmp_path / "tasks" / "tiny", epochs=4, lease=1.0, trust=ALONE)
    log = tmp_path / "server.log"
    with running(tmp_path / "tasks", tmp_path / "data", log=log) as server:
        async with ExactUnitClient(server.url) as slow, UnitClient(server.url) as quick:
            await slow.ready_with(program)
            held = await slow.next(Unit)
            committed = slow.commit(held, ONES)
            await slow.offer(held, committed, steps=STEPS)
            await slow.next(Credit)
            await quick.ready()
            while (unit := await quick.next(Unit)).epoch < held.epoch + 2:
                await quick.deliver(unit, ONES, steps=STEPS)
            await slow.say(Chunk(round=held.lease, offset=0, data=memoryview(committed.data)))
            assert (await slow.next(Rejected)).code == "over"
            await quick.deliver(unit, ONES, steps=STEPS)
    assert "an event failed" not in log.read_text("utf-8")
