"""Results wait in a queue, and as many parameter servers as are needed take them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from threading import Event

import numpy as np
import pytest

from backend.errors import StoreError
from backend.numerics.aggregation.asynchronous import (
    Assimilate,
    ClientResult,
    Memory,
    downpour,
    no_memory,
    vc_asgd,
)
from backend.numerics.vectors import Vector
from backend.protocols.units.server_pool import USUAL, PoolRules
from backend.server.units.parameters.parameter_server import Recipe
from backend.server.units.parameters.server_pool import ParameterServers
from backend.stores.parameters.contract import Receipt
from backend.stores.parameters.memory import MemoryParameters
from backend.stores.parameters.place import MEMORY, ParameterAddress
from tests.support.timeouts import PATIENCE

PLACE = ParameterAddress(MEMORY, "digits", "run")
ZEROS = np.zeros(1000, np.float32)
ONE = ClientResult(np.ones(1000, np.float32), ZEROS)


@asynccontextmanager
async def serving(recipe: Recipe, rules: PoolRules = USUAL) -> AsyncIterator[ParameterServers]:
    """Servers that began with zeros at base 0."""
    servers = ParameterServers(PLACE, recipe, rules)
    await servers.begin(ZEROS, no_memory(), 0)
    try:
        yield servers
    finally:
        await servers.stop()


async def until(true: Callable[[], bool]) -> None:
    """Waits for what has to come."""
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110 - threads do not tell events of the loop.
            await asyncio.sleep(0.01)


def held(admission: Event) -> Assimilate:
    """Adds changes once `admission` is open."""
    add = downpour()

    def assimilate(params: Vector, result: ClientResult, memory: Memory) -> tuple[Vector, Memory]:
        assert admission.wait(PATIENCE)
        return add(params, result, memory)

    return assimilate


async def test_each_result_is_assimilated_once_by_any_of_three_servers() -> None:
    async with serving(downpour, PoolRules(least=3, most=3)) as servers:
        assert servers.count == 3
        receipts = await asyncio.gather(*(servers.assimilate(ONE, 0, str(turn)) for turn in range(50)))
        assert {receipt.base for receipt in receipts} == set(range(1, 51))
        assert (servers.backlog, servers.lost) == (0, 0)
        np.testing.assert_array_equal((await servers.read()).weights, np.full(1000, 50, np.float32))


async def test_a_shift_is_one_more_version() -> None:
    async with serving(partial(vc_asgd, 0.5)) as servers:
        before = await servers.assimilate(ONE, 0, "a")
        receipts = [await servers.shift(-before.weights, "shift") for _ in range(2)]
        assert [(receipt.base, receipt.lost) for receipt in receipts] == [(2, 0), (2, 0)]
        assert receipts[0].staleness == 0
        assert receipts[0].memory is before.memory
        np.testing.assert_array_equal((await servers.read()).weights, ZEROS)
        assert (await servers.assimilate(ONE, 1, "b")).base == 3


async def test_a_shift_runs_alone() -> None:
    admission = Event()
    async with serving(partial(held, admission), PoolRules(least=3, most=3)) as servers:
        before = [asyncio.create_task(servers.assimilate(ONE, 0, f"before {turn}")) for turn in range(2)]
        shift = asyncio.create_task(servers.shift(10 * ONE.weights, "shift"))
        after = [asyncio.create_task(servers.assimilate(ONE, 0, f"after {turn}")) for turn in range(4)]
        await asyncio.wait([shift], timeout=0.1)
        assert not shift.done()
        admission.set()
        assert {(await task).base for task in before} == {1, 2}
        receipt = await shift
        assert (receipt.base, receipt.staleness) == (3, 2)
        np.testing.assert_array_equal(receipt.weights, 12 * ONE.weights)
        assert {(await task).base for task in after} == {4, 5, 6, 7}


async def test_a_shift_of_another_model_is_refused_and_the_servers_go_on() -> None:
    async with serving(downpour) as servers:
        with pytest.raises(ValueError, match="different models"):
            await servers.shift(np.zeros(3, np.float32), "a")
        assert (await servers.assimilate(ONE, 0, "b")).base == 1


async def test_staleness_counts_what_was_assimilated_while_a_result_waited() -> None:
    async with serving(partial(vc_asgd, 0.5)) as servers:
        receipts = await asyncio.gather(*(servers.assimilate(ONE, 0, str(turn)) for turn in range(4)))
        assert [receipt.staleness for receipt in receipts] == [0, 1, 2, 3]


async def test_servers_come_while_results_wait_and_go_when_none_do() -> None:
    admission = Event()
    rules = PoolRules(least=1, most=3, window=0.05, gain=1.0)
    async with serving(partial(held, admission), rules) as servers:
        asked = [asyncio.create_task(servers.assimilate(ONE, 0, str(turn))) for turn in range(20)]
        await until(lambda: servers.count == 3)
        assert servers.backlog > 0
        admission.set()
        receipts = await asyncio.gather(*asked)
        assert {receipt.base for receipt in receipts} == set(range(1, 21))
        await until(lambda: servers.count == 1)
        assert (await servers.assimilate(ONE, 20, "later")).base == 21


async def test_a_host_goes_on_from_its_checkpoint() -> None:
    async with serving(downpour) as servers:
        await servers.assimilate(ONE, 0, "a")
        await servers.begin(ONE.weights, no_memory(), 30)
        receipt = await servers.assimilate(ONE, 30, "a")
        assert receipt.base == 31
        np.testing.assert_array_equal(receipt.weights, np.full(1000, 2, np.float32))


async def test_a_host_goes_on_with_the_results_that_were_lost_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Losing(MemoryParameters):
        """Loses the result before each one, as servers of Redis may."""

        def assimilate(self, recipe: Assimilate, result: ClientResult, base: int, turn: str) -> Receipt:
            receipt = super().assimilate(recipe, result, base, turn)
            return replace(receipt, lost=receipt.base - 31.0)

    monkeypatch.setattr(ParameterAddress, "open", lambda _: Losing())
    async with serving(downpour) as servers:
        await servers.begin(ONE.weights, no_memory(), 30, lost=4.0)
        assert servers.lost == 4
        receipts = [await servers.assimilate(ONE, 30, turn) for turn in "abc"]
        assert [receipt.lost for receipt in receipts] == [4, 5, 6]
        assert servers.lost == 6


async def test_a_store_that_was_emptied_goes_on_from_the_newest_weights_whoever_told_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    admission = Event()

    class Slow(MemoryParameters):
        """Tells only once the gate is open what came of the first result."""

        def assimilate(self, recipe: Assimilate, result: ClientResult, base: int, turn: str) -> Receipt:
            receipt = super().assimilate(recipe, result, base, turn)
            assert turn != "first" or admission.wait(PATIENCE)
            return receipt

    store = Slow()
    monkeypatch.setattr(ParameterAddress, "open", lambda _: store)
    async with serving(downpour, PoolRules(least=2, most=2)) as servers:
        first = asyncio.create_task(servers.assimilate(ONE, 0, "first"))
        await until(lambda: store.read().base == 1)
        second = asyncio.create_task(servers.assimilate(ONE, 1, "second"))
        await until(lambda: store.read().base == 2)
        # It is told after the first one, of which nothing is known yet.
        assert not (await asyncio.wait([second], timeout=0.1))[0]
        admission.set()
        await asyncio.gather(first, second)
        store.clear()
        assert (await servers.assimilate(ONE, 2, "third")).base == 3
        np.testing.assert_array_equal(store.read().weights, np.full(1000, 3, np.float32))


async def test_a_result_of_another_model_is_refused_and_the_servers_go_on() -> None:
    wrong = np.zeros(3, np.float32)
    async with serving(downpour) as servers:
        with pytest.raises(ValueError, match="different models"):
            await servers.assimilate(ClientResult(wrong, wrong), 0, "a")
        assert (await servers.assimilate(ONE, 0, "b")).base == 1


async def test_servers_that_stop_finish_what_they_have_and_let_go_of_the_rest() -> None:
    admission = Event()
    servers = ParameterServers(PLACE, partial(held, admission))
    await servers.begin(ZEROS, no_memory(), 0)
    first, second = (asyncio.create_task(servers.assimilate(ONE, 0, turn)) for turn in "ab")
    await until(lambda: servers.backlog == 1)
    stopping = asyncio.create_task(servers.stop())
    await until(lambda: servers.count == 0)
    admission.set()
    await stopping
    assert (await first).base == 1
    with pytest.raises(asyncio.CancelledError):
        await second


async def test_nothing_can_be_read_before_somebody_began() -> None:
    servers = ParameterServers(PLACE, downpour)
    with pytest.raises(StoreError, match="began"):
        await servers.read()
    await servers.stop()
