"""Three servers overwrite one another's results, and the host ends five times: its records stay true.

The store is a stand-in for Redis in this process; test_killed_with_database.py does the same with real ones.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest

from backend.errors import MingaError
from backend.numerics.aggregation.asynchronous import Assimilate, ClientResult, Memory
from backend.numerics.vectors import Vector
from backend.protocols.units.server_pool import PoolRules
from backend.server.tasks.task import load_task
from backend.server.units.host import UnitsHost
from backend.server.units.parameters.server_pool import ParameterDeployment
from backend.server.units.setup import load_restored_state
from backend.server.versions.version_history import VersionHistory
from backend.stores.embedded import Stores, open_stores
from backend.stores.parameters.contract import REMEMBERED_RESULTS, Receipt, StoredParameters
from backend.stores.parameters.place import ParameterAddress
from backend.wire import messages, unit_messages
from backend.wire.units_codec import decode_to_units
from tests.support.tasks.tiny_task import OPS, SIZE, write_units
from tests.support.timeouts import PATIENCE

ENDS, SERVERS, SLOTS = 5, 3, 8
ONES = np.ones(SIZE, np.float32)


class Overwriting:
    """A store whose servers read, assimilate and write, as those of Redis do."""

    def __init__(self) -> None:
        self._lock, self._chance = Lock(), random.Random(1)
        self._stored: StoredParameters
        self._contained = 0
        self._held: tuple[str, ...] = ()

    def begin(self, weights: Vector, memory: Memory, base: int) -> None:
        self._stored, self._contained, self._held = StoredParameters(weights, memory, base), base, ()

    def read(self) -> StoredParameters:
        return self._stored

    def assimilate(self, recipe: Assimilate, result: ClientResult, _base: int, name: str) -> Receipt:
        with self._lock:
            before, contained, held = self._stored, self._contained, self._held
        time.sleep(self._chance.uniform(0.0, 0.01))
        weights, memory = recipe(before.weights, result, before.memory)
        with self._lock:
            stored = self._stored = StoredParameters(weights, memory, self._stored.base + 1)
            self._contained, self._held = contained + 1, (*held[1 - REMEMBERED_RESULTS :], name)
            lost, held = stored.base - self._contained, self._held
        return Receipt(weights, memory, stored.base, staleness=0, lost=lost, seconds=0.0, held=held)

    def clear(self) -> None:
        pass

    def close(self) -> None:
        pass


class Client:
    """A connection inside the process that does each unit at once, and remembers what it hears of it."""

    address, is_unnamed_proxy, identity, volunteer = "", False, "", ""

    def __init__(self) -> None:
        self.frames: asyncio.Queue[Any] = asyncio.Queue()
        self.counted: list[int] = []
        self.overwritten: list[int] = []

    def send(self, frame: bytes) -> None:
        self.frames.put_nowait(decode_to_units(frame))

    def close(self, error: MingaError) -> None:
        raise AssertionError(error)

    async def work(self, host: UnitsHost) -> None:
        enlist = unit_messages.Enlist(token="t" * 32, kind="peer", backend="numpy", agent="test", shards=[])
        name = await host.join(enlist, self)

        async def say(message: unit_messages.UnitsToServer) -> None:
            await host.hear(name, self, message)

        await say(messages.Ready(backend="numpy", step_ms=1.0, examples=0))
        await say(unit_messages.Want(slots=SLOTS))
        while True:
            match await self.frames.get():
                case unit_messages.Unit() as unit:
                    await say(
                        unit_messages.Result(
                            lease=unit.lease,
                            examples=unit.examples,
                            steps=2,
                            loss=0.5,
                            sums=[(1.0, 4.0)],
                            size=4 * SIZE,
                        )
                    )
                case messages.Credit(round=lease):
                    await say(messages.Chunk(round=lease, offset=0, data=memoryview(ONES.tobytes())))
                case unit_messages.Counted(lease=lease):
                    self.counted.append(lease)
                case unit_messages.Drop(lease=lease):
                    self.overwritten.append(lease)
                case unit_messages.Rejected() as rejected:
                    raise AssertionError(rejected)


async def opened(path: Path, stores: Stores) -> UnitsHost:
    task = await load_task(path, (), frozenset(OPS), stores.blobs)
    run = await stores.records.open_run(task.file.name, task.bundle.identity)
    history = VersionHistory(task, stores.records, stores.blobs, run)
    await history.open(time.time())
    deployment = ParameterDeployment(rules=PoolRules(least=SERVERS, most=SERVERS))
    restored = await load_restored_state(task, history)
    return UnitsHost(
        task, history, stores.blobs, False, stores.scratch / "tiny", restored, parameters=deployment
    )


async def run_until(host: UnitsHost, client: Client, reached: Callable[[], Awaitable[bool]]) -> None:
    """Runs the host with its client until something is reached; then it ends at once, as if killed."""
    running = [asyncio.create_task(host.run()), asyncio.create_task(client.work(host))]
    async with asyncio.timeout(PATIENCE):
        while not await reached():
            for task in running:
                if task.done():
                    task.result()
            await asyncio.sleep(0.01)
    for task in running:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(ParameterAddress, "open", lambda _: Overwriting())
    alone = {"replicas": 1, "spot_checks": 0.0}
    return write_units(tmp_path / "tiny", epochs=30, trust=alone, assimilation={"name": "downpour"})


async def test_the_weights_hold_the_results_on_record_less_those_that_were_overwritten(
    tmp_path: Path, folder: Path
) -> None:
    stores = open_stores(tmp_path / "data")
    recorded = 0
    for _ in range(ENDS):
        host = await opened(folder / "task.toml", stores)

        async def reached(host: UnitsHost = host, enough: int = recorded + 20) -> bool:
            return len(await host.history.assimilations()) >= enough

        await run_until(host, Client(), reached)
        restored = await opened(folder / "task.toml", stores)
        model, rows = restored.state.model, await restored.history.assimilations()
        recorded = len(rows)
        assert recorded == model.number == rows[-1].number
        assert model.lost == rows[-1].lost
        held = model.weights - np.arange(SIZE)
        assert held.tolist() == [recorded - model.lost] * SIZE == [model.contained] * SIZE
    assert model.lost > 0
    assert len({row.unit for row in rows}) == recorded


async def test_volunteers_hear_of_each_result_that_was_overwritten(tmp_path: Path, folder: Path) -> None:
    client = Client()
    host = await opened(folder / "task.toml", open_stores(tmp_path / "data"))

    async def reached() -> bool:
        return host.state.run.finished is not None

    await run_until(host, client, reached)
    lost, accepted = host.state.model.lost, host.state.model.number
    assert len(client.counted) == accepted
    assert len(set(client.overwritten)) == len(client.overwritten) == lost > 0
    assert set(client.overwritten) < set(client.counted)
