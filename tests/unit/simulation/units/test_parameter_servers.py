"""Simulated parameter servers repeat what was measured with real ones."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import count

import numpy as np
import pytest

from backend.numerics.aggregation.asynchronous import ClientResult, no_memory, vc_asgd
from backend.protocols.units.server_pool import PoolRules
from backend.simulation import clock
from backend.simulation.units.parameter_servers import SimulatedDeployment
from backend.simulation.units.store_costs import MEASURED_PARAMETERS, STORE_COSTS, StoreName

SECONDS = 10.0


def saturated(
    store: StoreName, servers: int, cores: int | None = None, evaluation: float = 0.0
) -> tuple[float, float]:
    """Results a second of so many servers with results always waiting, and the share that is lost."""

    async def run() -> tuple[float, float]:
        rules, cost = PoolRules(least=servers, most=servers), STORE_COSTS[store]
        deployment = SimulatedDeployment(
            rules=rules, cost=cost, scale=MEASURED_PARAMETERS / 4, cores=cores, evaluation=evaluation
        )
        pool = deployment.servers(deployment.place("task"), partial(vc_asgd, 0.95))
        await pool.begin(np.zeros(4, np.float32), no_memory(), 0)
        result, numbers = ClientResult(np.ones(4, np.float32), np.zeros(4, np.float32)), count()

        async def submit(number: int) -> None:
            # Servers do not begin at the same moment.
            await asyncio.sleep(number * 1e-3)
            while asyncio.get_running_loop().time() < SECONDS:
                await pool.assimilate(result, 0, str(next(numbers)))

        await asyncio.gather(*(submit(number) for number in range(4 * servers)))
        results, seconds = (await pool.read()).base, asyncio.get_running_loop().time()
        lost = pool.lost / results
        await pool.stop()
        return results / seconds, lost

    return clock.run(run())


@pytest.mark.parametrize("store", ["memory", "postgresql"])
def test_servers_that_wait_for_one_lock_are_no_faster_together_and_lose_nothing(store: StoreName) -> None:
    for servers in (1, 4):
        rate, lost = saturated(store, servers)
        assert rate == pytest.approx(STORE_COSTS[store].results_per_second, rel=0.1)
        assert lost == 0.0


@pytest.mark.parametrize(("servers", "lost"), [(1, 0.0), (2, 0.50), (4, 0.73)])
def test_servers_overwrite_one_another_in_redis_as_often_as_measured(servers: int, lost: float) -> None:
    """docs/how-to/parameters-in-a-database.md: none, 50 % and 73 % with 1, 2 and 4 servers."""
    rate, found = saturated("redis", servers)
    assert found == pytest.approx(lost, abs=0.05)
    # Simulated servers have a core each; the measured ones shared two, and made 27 results a second.
    assert rate == pytest.approx(servers * STORE_COSTS["redis"].results_per_second, rel=0.1)


@pytest.mark.parametrize(("servers", "measured"), [(1, 16.0), (2, 27.0), (4, 27.0)])
def test_servers_on_two_cores_make_about_as_many_results_as_measured(servers: int, measured: float) -> None:
    rate, _ = saturated("redis", servers, cores=2)
    assert rate == pytest.approx(min(servers, 2) * STORE_COSTS["redis"].results_per_second, rel=0.1)
    # Caches and switches between processes cost a sixth, which is not simulated.
    assert rate == pytest.approx(measured, rel=0.25)


@pytest.mark.parametrize(("servers", "cores", "rate"), [(1, 1, 5.0), (3, 1, 5.0), (3, 4, 15.0), (8, 4, 20.0)])
def test_servers_that_evaluate_after_each_result_are_limited_by_cores(
    servers: int, cores: int, rate: float
) -> None:
    evaluation = 0.2 - 1 / STORE_COSTS["redis"].results_per_second
    assert saturated("redis", servers, cores, evaluation)[0] == pytest.approx(rate, rel=0.1)


def test_one_server_on_one_core_serves_results_one_after_another() -> None:
    async def run() -> tuple[list[float], list[int], float]:
        loop, cost = asyncio.get_running_loop(), STORE_COSTS["memory"]
        deployment = SimulatedDeployment(
            rules=PoolRules(1, 1), cost=cost, scale=MEASURED_PARAMETERS / 4, cores=1, evaluation=10.0
        )
        pool = deployment.servers(deployment.place("task"), partial(vc_asgd, 0.95))
        await pool.begin(np.zeros(4, np.float32), no_memory(), 0)
        result = ClientResult(np.ones(4, np.float32), np.zeros(4, np.float32))

        async def submit(number: int) -> float:
            await asyncio.sleep(number)
            await pool.assimilate(result, 0, str(number))
            return loop.time()

        ends = list(await asyncio.gather(*(submit(number) for number in range(4))))
        await pool.stop()
        return ends, deployment.usage.queues, deployment.usage.busy

    ends, queues, busy = clock.run(run())
    # A result is in the model before its evaluation, and the next one has to wait for that.
    assert ends == pytest.approx([0.0, 10.0, 20.0, 30.0], abs=0.1)
    assert queues == [0, 0, 1, 2]
    assert busy == pytest.approx(40.0, abs=0.1)


def test_the_time_of_a_result_is_in_proportion_to_the_models_bytes() -> None:
    cost = STORE_COSTS["postgresql"]
    assert cost.seconds(4 * MEASURED_PARAMETERS) == pytest.approx(1 / 13)
    assert cost.seconds(MEASURED_PARAMETERS) == pytest.approx(1 / 52)
