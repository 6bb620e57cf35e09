"""Who drips its results would not be counted as late, and an owner would look for the cause elsewhere."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from backend.errors import SlowUploadError
from backend.wire.messages import Credit
from backend.wire.unit_messages import Rejected, Result, Unit
from tests.support.attacks.units_server import ALONE, STEPS, units_server
from tests.support.tasks.tiny_task import SIZE
from tests.support.web.unit_client import UnitClient
from tests.support.web.visitors import operator


async def test_a_result_that_drips_counts_as_late_under_the_code_of_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINGA_STALL_SECONDS", "1")
    monkeypatch.setenv("MINGA_MIN_BYTES_PER_SECOND", "1000000")
    with units_server(tmp_path, epochs=2, trust=ALONE) as server:
        boss = await asyncio.to_thread(operator, server)
        async with UnitClient(server.url) as client:
            await client.ready()
            unit = await client.next(Unit)
            offer = Result(
                lease=unit.lease,
                examples=unit.examples,
                steps=STEPS,
                loss=0.5,
                sums=[(1.0, 4.0)],
                size=4 * SIZE,
            )
            await client.say(offer)
            await client.next(Credit)
            assert (await client.next(Rejected)).code == SlowUploadError.code
            listed = await asyncio.to_thread(boss.ask, "GET", "/api/tasks/tiny/participants")
        (row,) = listed["participants"]
        assert (row["late"], row["refusals"]) == (1, {SlowUploadError.code: 1})
