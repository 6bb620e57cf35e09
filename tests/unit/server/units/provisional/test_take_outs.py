"""Results are taken out of the model, while others are blended that were trained from weights with them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from backend.formats.task_file.units import VcAsgd
from backend.numerics.aggregation.asynchronous import ClientResult, no_memory, vc_asgd
from backend.numerics.vectors import Vector
from backend.protocols.units.records import UnitState
from backend.protocols.units.scheduler_effects import Assimilate, TakeOutResults
from backend.server.units.parameters.server_pool import ParameterServers
from backend.server.units.parameters.snapshots import SnapshotStore
from backend.server.units.provisional.room import PROVISIONAL_BYTES
from backend.server.units.provisional.take_outs import RESULTS_BETWEEN_SUMS, TakeOuts
from backend.server.units.state import LeasedUnit, ModelState, UnitsState
from backend.server.units.unit_host_events import TakeOutEnded, UnitHostEvent
from backend.stores.parameters.place import MEMORY, ParameterAddress

SIZE = 4
START = np.arange(SIZE, dtype=np.float32)
TRUTH, LIE = np.array([1, 1, 0, 0], np.float32), np.array([0, 0, 1, 1], np.float32)


def half() -> Callable[..., Any]:
    return vc_asgd(0.5)


class Jobs:
    """Runs jobs as tasks of the loop."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[None]] = []

    def spawn(self, job: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.create_task(job))

    async def stored(self, store: Callable[[], Awaitable[Any]]) -> Any:
        return await store()

    async def done(self) -> None:
        await asyncio.gather(*self.tasks)


class Training:
    """A model with real parameter servers; `slow` is the base of a unit that takes very long."""

    def __init__(self, scratch: Path, room: int, slow: int | None) -> None:
        self.model = ModelState(0, START, no_memory())
        self.servers = ParameterServers(ParameterAddress(MEMORY, "tiny", "1"), half)
        self.jobs, self.heard = Jobs(), list[UnitHostEvent]()
        self.snapshots = SnapshotStore(scratch)
        units = [SimpleNamespace(base=slow, state=UnitState.OPEN)] if slow is not None else []
        table = SimpleNamespace(assimilation=VcAsgd(alpha=0.5))
        state = SimpleNamespace(
            takes_out=True,
            size=SIZE,
            model=self.model,
            servers=self.servers,
            snapshots=self.snapshots,
            background=self.jobs,
            scheduler=SimpleNamespace(units=lambda: units),
            task=SimpleNamespace(
                file=SimpleNamespace(name="tiny", coordination=SimpleNamespace(units=table))
            ),
        )

        async def post(event: UnitHostEvent) -> None:
            self.heard.append(event)

        self.outs = TakeOuts(cast(UnitsState, state), post, room)

    async def blend(self, client: str, base: int, update: Vector) -> int:
        """Blends a provisional result; returns the version from which it was blended."""
        async with self.outs.blending():
            version, weights = await self.outs.base_of(base)
            result = ClientResult(weights + update, weights)
            receipt = await self.servers.assimilate(result, version, f"{client} {self.model.base}")
            blend = Assimilate(0, 0, client, base, provisional=True)
            self.outs.blended(
                blend, version, cast(LeasedUnit, SimpleNamespace(update=update, epoch=1)), receipt
            )
        self.model.apply(receipt)
        self.snapshots.hold(receipt.base, receipt.base, receipt.weights)
        await self.jobs.done()
        return version

    async def take_out(self, client: str, results: int) -> None:
        self.outs.start(TakeOutResults(client, results))
        await self.jobs.done()
        event = self.heard.pop()
        assert isinstance(event, TakeOutEnded)
        self.model.taken_out(event.receipt)


async def played(scratch: Path, room: int, slow: int | None) -> tuple[Training, int]:
    """Eve lies 150 times beside ann; then a result from the first version comes, and eve is refuted."""
    training = Training(scratch, room, slow)
    training.snapshots.hold("first", 0, START)
    await training.servers.begin(START, no_memory(), 0)
    for turn in range(150):
        await training.blend(
            ("ann", "eve")[turn % 2], max(0, training.model.base - turn % 3), (TRUTH, LIE)[turn % 2]
        )
    version = await training.blend("bob", 0 if slow == 0 else training.model.base, TRUTH)
    await training.take_out("eve", 75)
    # It was begun before eve was refuted.
    await training.blend("ann", training.model.base - 2, TRUTH)
    await training.servers.stop()
    return training, version


async def test_nothing_is_left_of_a_client_that_is_taken_out(tmp_path: Path) -> None:
    training, _ = await played(tmp_path, PROVISIONAL_BYTES, slow=0)
    np.testing.assert_allclose(training.model.weights[2:], START[2:], atol=1e-4)
    assert training.model.weights[:2].min() > 10.0
    assert training.model.steady
    assert not training.model.is_changing
    # Results are counted as such, and what was taken out is not one of them.
    assert (training.model.number, training.model.base) == (152, 153)


async def test_where_memory_is_short_a_version_that_somebody_still_trains_from_is_given_up(
    tmp_path: Path,
) -> None:
    assert RESULTS_BETWEEN_SUMS < 150
    training, version = await played(tmp_path, 1, slow=0)
    assert version == 150
    np.testing.assert_allclose(training.model.weights[2:], START[2:], atol=1e-2)


async def test_else_a_result_is_blended_from_the_version_that_it_was_trained_from(tmp_path: Path) -> None:
    _, version = await played(tmp_path, PROVISIONAL_BYTES, slow=0)
    assert version == 0


async def test_what_is_kept_is_not_taken_out(tmp_path: Path) -> None:
    training = Training(tmp_path, PROVISIONAL_BYTES, None)
    training.snapshots.hold("first", 0, START)
    await training.servers.begin(START, no_memory(), 0)
    await training.blend("ann", 0, TRUTH)
    training.outs.keep("ann")
    await training.jobs.done()
    await training.take_out("ann", 1)
    await training.servers.stop()
    np.testing.assert_array_equal(training.model.weights, START + TRUTH / 2)
    assert (training.model.number, training.model.base) == (1, 1)
