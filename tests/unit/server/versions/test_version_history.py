from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio
from msgspec import structs

from backend.errors import NotFiniteError, StoreError
from backend.numerics.aggregation.weighted_mean import WeightedMean
from backend.protocols.rounds.stop_rules import StopRules
from backend.server.tasks.task import Task, load_task
from backend.server.versions.version_history import VersionHistory
from backend.stores.contracts import EvaluationRecord, RoundResult
from backend.stores.embedded import Stores, open_stores
from tests.support.store_contracts.records import ANN, ROUND
from tests.support.tasks.tiny_task import OPS, SIZE, TRAINABLE, write_task

MOMENTUM = '{ name = "fedavgm", momentum = 0.5 }'


@pytest_asyncio.fixture
async def stores(tmp_path: Path) -> AsyncIterator[Stores]:
    opened = open_stores(tmp_path / "data")
    yield opened
    await opened.close()


@pytest_asyncio.fixture
async def task(tmp_path: Path, stores: Stores) -> Task:
    folder = write_task(tmp_path / "tiny", server_optimizer=MOMENTUM)
    return await load_task(folder / "task.toml", [], frozenset(OPS), stores.blobs)


async def open_ledger(task: Task, stores: Stores) -> VersionHistory:
    run = await stores.records.open_run("tiny", task.bundle.address)
    history = VersionHistory(task, stores.records, stores.blobs, run)
    await history.open(100.0)
    return history


async def advance(history: VersionHistory, by: float) -> None:
    mean = WeightedMean(SIZE)
    mean.add(np.full(SIZE, by, np.float32), 20)
    weights, state = history.next_version(mean.mean())
    number = history.round + 1
    await history.add_version(weights, state, 4, 0.5, {}, replace(ROUND, round=number, accepted=1), [ANN])


async def test_a_ledger_opened_again_goes_on_as_if_it_had_never_been_closed(
    task: Task, stores: Stores
) -> None:
    history = await open_ledger(task, stores)
    await advance(history, 1.0)
    again = await open_ledger(task, stores)
    assert (again.current, again.round, again.accepted) == (history.current, 1, {ANN.client: 1})
    for one in (history, again):
        mean = WeightedMean(SIZE)
        mean.add(np.full(SIZE, 2.0, np.float32), 1)
        weights, state = one.next_version(mean.mean())
        assert np.allclose(weights[:8], np.arange(8) + 1.0 + 2.5)
        assert np.allclose(state, 2.5)


async def test_versions_that_equal_the_one_before_are_counted_where_updates_are_masked(
    task: Task, stores: Stores
) -> None:
    security = structs.replace(task.file.security, aggregation=["masked"])
    file = structs.replace(task.file, security=security)
    masked = replace(task, file=file)
    history = await open_ledger(masked, stores)
    await advance(history, 1.0)
    current = history.current_version()
    for number, earlier in ((2, current), (3, await history.read_version(0)), (4, current), (5, current)):
        record = replace(ROUND, round=number, cohort=0, accepted=0)
        await history.add_version(earlier.weights, earlier.state, 0, None, {}, record, [])
    assert (history.repeats, history.current.version) == (2, 5)
    assert (await open_ledger(masked, stores)).repeats == 2
    assert (await open_ledger(task, stores)).repeats == 0


async def test_how_long_rounds_lasted_still_counts_in_a_ledger_opened_again(
    task: Task, stores: Stores
) -> None:
    history = await open_ledger(task, stores)
    await advance(history, 1.0)
    await advance(history, 1.0)
    again = await open_ledger(task, stores)
    assert again.progress(StopRules()).spent == 2 * ROUND.seconds
    assert again.progress(StopRules(seconds=7.0)).reason() == "The rounds lasted 7 of 7 seconds."


async def test_a_version_that_overflows_is_not_made(task: Task, stores: Stores) -> None:
    history = await open_ledger(task, stores)
    mean = WeightedMean(SIZE)
    mean.add(np.full(SIZE, 3.4e38, np.float32), 1)
    await advance(history, 3e38)
    with pytest.raises(NotFiniteError, match="Lower the server's learning rate"):
        history.next_version(mean.mean())
    assert history.current.version == 1


async def test_a_version_that_cannot_be_recorded_is_not_current(task: Task, stores: Stores) -> None:
    history = await open_ledger(task, stores)
    mean = WeightedMean(SIZE)
    mean.add(np.ones(SIZE, np.float32), 1)
    weights, state = history.next_version(mean.mean())
    await stores.records.record(1, RoundResult(ROUND))
    with pytest.raises(StoreError):
        await history.add_version(weights, state, 4, 0.5, {}, ROUND, [ANN])
    assert (history.current.version, history.accepted) == (0, {})
    assert np.allclose(history.next_version(mean.mean())[0][:8], np.arange(8) + 1.0)


async def test_weights_that_were_damaged_on_disk_are_told(task: Task, stores: Stores) -> None:
    history = await open_ledger(task, stores)
    await advance(history, 1.0)
    path = await stores.blobs.path(history.current.weights)
    path.write_bytes(bytes(4 * SIZE))
    with pytest.raises(StoreError, match="is damaged"):
        await open_ledger(task, stores)


async def test_control_variates_can_be_turned_on_in_the_middle_and_go_on_after_a_restart(
    task: Task, stores: Stores, tmp_path: Path
) -> None:
    before = await open_ledger(task, stores)
    await advance(before, 1.0)
    assert (before.control_at, before.control_changes()) == (None, None)

    toml = tmp_path / "tiny" / "task.toml"
    on = await load_task(toml, ["training.control_variates=true"], frozenset(OPS), stores.blobs)
    history = await open_ledger(on, stores)
    assert history.control_at is not None
    assert await stores.blobs.read(history.control_at) == bytes(4 * TRAINABLE)
    changes = history.control_changes()
    assert changes is not None
    changes.add(np.full(SIZE, -2.0, np.float32), 4)
    # Of the clients one took part before; its variate is zero, that of the other 2 / (4 * 0.5).
    control = history.next_control(changes, ["b" * 16])
    assert control is not None
    assert np.array_equal(control, np.full(TRAINABLE, 0.5, np.float32))
    mean = WeightedMean(SIZE)
    mean.add(np.ones(SIZE, np.float32), 20)
    weights, state = history.next_version(mean.mean())
    await history.add_version(weights, state, 4, 0.5, {}, replace(ROUND, round=2, accepted=1), [ANN], control)

    again = await open_ledger(on, stores)
    assert again.control_at == again.current.control == history.control_at
    assert await stores.blobs.read(again.current.control or "") == control.tobytes()


async def test_another_bundle_begins_another_history(task: Task, stores: Stores, tmp_path: Path) -> None:
    history = await open_ledger(task, stores)
    await advance(history, 1.0)
    await history.add_evaluation(EvaluationRecord(1, 0.25, {"accuracy": 0.5}))
    other = replace(task, bundle=replace(task.bundle, address="f" * 64))
    fresh = await open_ledger(other, stores)
    assert (fresh.current.version, fresh.round, fresh.evaluations) == (0, 0, {})
    assert (await open_ledger(task, stores)).evaluations[1].metrics == {"accuracy": 0.5}
