"""What the server records of recent units, and how long it keeps the weights that they began with."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from backend.errors import NotFoundError
from backend.protocols.units.scheduler_effects import GrantLease
from backend.server.observers import task_events
from backend.server.units import unit_records
from backend.server.units.parameters.snapshots import SnapshotStore
from backend.server.units.state import LeasedUnit, UnitsState
from backend.server.units.unit_records import UnitRecords

SIZE = 10
UPDATE = np.arange(SIZE, dtype=np.float32)


class Background:
    """Runs jobs as tasks of the loop."""

    def __init__(self) -> None:
        self.jobs: list[asyncio.Task[None]] = []

    def spawn(self, job: Coroutine[Any, Any, None]) -> None:
        self.jobs.append(asyncio.create_task(job))

    async def stored(self, store: Callable[[], Awaitable[Any]]) -> Any:
        return await store()

    async def done(self) -> None:
        await asyncio.gather(*self.jobs)


class Host:
    """The part of a host's state that records are made of; each unit begins at a base of its own."""

    def __init__(self, scratch: Path, kept_bytes: int) -> None:
        shard = SimpleNamespace(sha256="5" * 64)
        training = SimpleNamespace(steps=None, proximal_mu=0.0)
        task = SimpleNamespace(
            bundle=SimpleNamespace(
                address="b" * 64, manifest=SimpleNamespace(optimizer=SimpleNamespace(schedule=None))
            ),
            shards=SimpleNamespace(train=[shard]),
            file=SimpleNamespace(training=training),
            epochs=2,
            batch_size=4,
            learning_rate=0.5,
        )
        self.snapshots = SnapshotStore(scratch)
        self.background = Background()
        self.leases: dict[int, LeasedUnit] = {}
        self.state = SimpleNamespace(
            task=task,
            leases=self.leases,
            snapshots=self.snapshots,
            background=self.background,
            model=SimpleNamespace(weights=UPDATE),
            size=SIZE,
        )
        self.records = UnitRecords(cast(UnitsState, self.state), kept_bytes)

    async def lease(
        self, lease: int, unit: int, base: int, first: int = 0, first_step: int = 0
    ) -> LeasedUnit:
        grant = GrantLease("ann", lease, unit, 0, first, 6, base, 7, 1, 0, 60.0, 10.0, False, first_step)
        work = self.leases[lease] = LeasedUnit(grant, 1, 0.0, "browser", "exact")
        self.state.model.weights = UPDATE + base
        self.records.notice("tiny", task_events.UnitLeased("ann", lease, unit, 1, 0))
        await self.background.done()
        return work


async def test_a_unit_is_told_with_its_results(tmp_path: Path) -> None:
    host = Host(tmp_path, 1000)
    work = await host.lease(3, 17, 5)
    await host.lease(4, 17, 5)
    work.result = cast(Any, SimpleNamespace(steps=4, checkpoints=[]))
    work.update = UPDATE
    host.records.notice("tiny", task_events.UnitReturned("ann", 3, False))
    await host.background.done()
    host.records.notice("tiny", task_events.UnitCounted("ann", 3, 6, True))
    host.records.notice("tiny", task_events.UnitRejected("ann", 4, "invalid", "It is unlike."))
    facts = await host.records.facts(17)
    address = hashlib.sha256((UPDATE + 5).tobytes()).hexdigest()
    assert facts["work"] == {
        "bundle": "b" * 64,
        "weights": address,
        "shard": "5" * 64,
        "first": 0,
        "examples": 6,
        "seed": 7,
        "steps": 4,
        "batch_size": 4,
        "learning_rate": 0.5,
        "past_steps": 0,
        "first_step": 0,
        "proximal_mu": 0.0,
    }
    assert facts["kept"]
    assert host.snapshots.path(address) is not None
    assert [(one["steps"], one["sha256"], one["verdict"]) for one in facts["results"]] == [
        (4, hashlib.sha256(UPDATE.tobytes()).hexdigest(), "valid"),
        (None, None, "invalid"),
    ]


async def test_the_rest_of_a_unit_is_told_with_the_step_at_which_it_begins(tmp_path: Path) -> None:
    host = Host(tmp_path, 1000)
    await host.lease(3, 17, 5, first_step=1)
    work = (await host.records.facts(17))["work"]
    assert (work["first"], work["examples"], work["first_step"], work["steps"]) == (0, 6, 1, 3)


async def test_a_wrong_result_is_told_with_the_step_at_which_it_went_wrong(tmp_path: Path) -> None:
    host = Host(tmp_path, 1000)
    right = [f"{step:064x}" for step in range(1, 5)]
    for lease, told in ((3, right), (4, [*right[:2], *("f" * 64,) * 2]), (5, right)):
        work = await host.lease(lease, 17, 5)
        work.result = cast(Any, SimpleNamespace(steps=4, checkpoints=told))
        work.update = UPDATE
        host.records.notice("tiny", task_events.UnitReturned("ann", lease, False))
    await host.background.done()
    host.records.notice("tiny", task_events.UnitCounted("ann", 3, 6, True))
    for lease in (4, 5):
        host.records.notice("tiny", task_events.UnitRejected("ann", lease, "invalid", "It is unlike."))
    facts = await host.records.facts(17)
    assert facts["results"][0]["checkpoints"] == right
    assert [one["parts"] for one in facts["results"]] == [
        None,
        {"after": 2, "by": 3},
        {"after": 4, "by": None},
    ]


async def test_a_result_that_was_taken_out_of_the_model_is_told_as_such(tmp_path: Path) -> None:
    host = Host(tmp_path, 1000)
    for number in range(4):
        work = await host.lease(number, number, base=number)
        # The first was the server's to keep, the second was confirmed by a trusted peer.
        work.provisional = number != 1
        host.records.notice("tiny", task_events.UnitCounted("ann", number, 6, True))
    host.records.notice("tiny", task_events.ResultsTakenOut("ann", 1, 2))
    host.records.notice("tiny", task_events.ResultsTakenOut("bob", 1, 2))
    verdicts = [(await host.records.facts(number))["results"][0]["verdict"] for number in range(4)]
    assert verdicts == ["valid", "valid", "taken_out", "taken_out"]


async def test_weights_are_kept_for_the_newest_units_and_then_released(tmp_path: Path) -> None:
    host = Host(tmp_path, 3 * 4 * SIZE)
    for number in range(6):
        await host.lease(number, number, base=number)
    kept = [(await host.records.facts(number))["kept"] for number in range(6)]
    assert kept == [False] * 3 + [True] * 3
    assert len(host.snapshots) == 3


async def test_the_newest_weights_are_kept_however_large_they_are(tmp_path: Path) -> None:
    host = Host(tmp_path, 1)
    for number in range(3):
        await host.lease(number, number, base=number)
    assert [(await host.records.facts(number))["kept"] for number in range(3)] == [False, False, True]


async def test_units_of_the_same_base_share_its_weights(tmp_path: Path) -> None:
    host = Host(tmp_path, 4 * SIZE)
    for number in range(5):
        await host.lease(number, number, base=0)
    assert all([(await host.records.facts(number))["kept"] for number in range(5)])


async def test_a_unit_that_is_leased_with_other_rows_is_recorded_again(tmp_path: Path) -> None:
    host = Host(tmp_path, 1000)
    await host.lease(1, 0, base=0)
    await host.lease(2, 0, base=1, first=2)
    facts = await host.records.facts(0)
    assert facts["work"]["first"] == 2
    assert len(facts["results"]) == 1
    assert len(host.snapshots) == 1


async def test_the_oldest_records_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_records, "KEPT_UNITS", 2)
    host = Host(tmp_path, 1000)
    for number in range(3):
        await host.lease(number, number, base=number)
    with pytest.raises(NotFoundError, match=r"no record of unit 0: this server has those of the last 2"):
        await host.records.facts(0)
    assert len(host.snapshots) == 2
    # An event of a unit that is forgotten changes nothing.
    host.records.notice("tiny", task_events.UnitCounted("ann", 0, 6, True))
