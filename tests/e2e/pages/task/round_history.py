"""A long history of rounds in a data folder, as a server would have recorded it."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

from backend.stores.contracts import EvaluationRecord, RoundRecord, RoundResult, VersionRecord
from backend.stores.embedded import open_stores
from tests.support.tasks.tiny_task import SIZE

BEGAN = 1_790_000_000.0
KINDS = {"browser webgpu": 2, "peer tensorflow-cpu": 1}
EVERY_ABANDONED = 7


def write_history(data: Path, bundle: str, rounds: int) -> None:
    """Records so many rounds of `tiny`; every seventh was abandoned. Only the last versions have weights."""
    asyncio.run(_write(data, bundle, rounds))


async def _write(data: Path, bundle: str, rounds: int) -> None:
    stores = open_stores(data)
    run = await stores.records.open_run("tiny", bundle)
    version = 0
    for number in range(1, rounds + 1):
        ended = BEGAN + 60.0 * number
        if number % EVERY_ABANDONED == 0:
            refusals = {"not-finite": 1, "stale-round": 2}
            reason = "0 of at least 1 updates arrived in time."
            lost = RoundRecord(number, version, 4, 0, 3, "abandoned", reason, 30.0, ended, refusals)
            await stores.records.record(run, RoundResult(lost))
            continue
        version += 1
        recent = number > rounds - 10
        weights = hashlib.sha256(bytes([version % 256] * 4 * SIZE)).hexdigest()
        if recent:
            weights = await stores.blobs.put(bytes([version % 200] * 4 * SIZE))
        made = VersionRecord(version, number, weights, None, 3, 120, 2.5, {}, 2.3, ended)
        record = RoundRecord(number, version - 1, 4, 3, 0, "version", "", 2.3, ended, {}, KINDS)
        await stores.records.record(run, RoundResult(record, [], made))
        share = min(0.99, number / (number + 40))
        await stores.records.add_evaluation(
            run, EvaluationRecord(version, 2.5 * (1 - share), {"accuracy": share})
        )
        if not recent:
            await stores.records.let_go(run, [version], ended)
    await stores.close()
