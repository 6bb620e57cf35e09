"""A trusted client would send any update after a restart of the server, which had forgotten what is usual."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.server.units.validation.usual_results import MIN_NORMS
from backend.wire.unit_messages import Counted, Rejected, Unit
from tests.support.attacks.units_server import STEPS, units_server
from tests.support.tasks.tiny_task import SHARDS, SIZE
from tests.support.web.server_process import running
from tests.support.web.unit_client import UnitClient

SAMPLES: dict[str, Any] = {"replicas": 1, "spot_checks": 0.02}


async def test_an_outlier_does_not_count_alone_after_a_restart_either(tmp_path: Path) -> None:
    dice = np.random.default_rng(1)
    with units_server(tmp_path, epochs=4, trust=SAMPLES) as server:
        async with UnitClient(server.url) as eve:
            await eve.ready()
            # The last ones may not be in a checkpoint yet.
            for _ in range(MIN_NORMS + SHARDS):
                await eve.deliver(await eve.next(Unit), dice.choice([-0.5, 0.5], SIZE), steps=STEPS)
                await eve.next(Counted)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with UnitClient(server.url, token=eve.token) as eve:
            await eve.ready()
            await eve.deliver(await eve.next(Unit), np.full(SIZE, 10.0), steps=STEPS)
            with pytest.raises(TimeoutError):
                await eve.next(Counted, Rejected, patience=1.0)
