"""Work on a simulated server shares its cores."""

from __future__ import annotations

import asyncio

import pytest

from backend.errors import SettingsError
from backend.simulation import clock
from backend.simulation.units.machines import RentedMachine, clients_of
from backend.simulation.units.server_cores import ServerCores


def ends(cores: int, *works: float) -> list[float]:
    """When works that begin together end on a machine of so many cores."""

    async def run() -> list[float]:
        machine, loop = ServerCores(cores), asyncio.get_running_loop()

        async def work(seconds: float) -> float:
            await machine.compute(seconds)
            return loop.time()

        return list(await asyncio.gather(*(work(seconds) for seconds in works)))

    return clock.run(run())


@pytest.mark.parametrize(
    ("cores", "expected"), [(1, [3.0, 5.0, 6.0]), (2, [1.5, 2.5, 3.5]), (3, [1.0, 2.0, 3.0])]
)
def test_more_work_than_cores_shares_them_evenly(cores: int, expected: list[float]) -> None:
    assert ends(cores, 1.0, 2.0, 3.0) == pytest.approx(expected)


def test_work_that_is_cancelled_frees_its_core() -> None:
    async def run() -> float:
        machine, loop = ServerCores(1), asyncio.get_running_loop()
        given_up = asyncio.create_task(machine.compute(100.0))
        kept = asyncio.create_task(machine.compute(10.0))
        await asyncio.sleep(4.0)
        given_up.cancel()
        await kept
        return loop.time()

    # Two seconds of ten were done in the first four.
    assert clock.run(run()) == pytest.approx(12.0)


def test_a_machine_has_a_core() -> None:
    with pytest.raises(ValueError, match="at least one core"):
        ends(0, 1.0)


def test_given_machines_are_clients_with_their_lines_and_cores() -> None:
    machines = (RentedMachine(0.5, 8, 100.0, 200.0, 0.01), RentedMachine(0.25, 4, 50.0, 50.0, 0.02))
    traits = [one for one, _, _ in clients_of(machines, 0.0, 1)]
    assert [(one.step_seconds, one.cores, one.line.latency) for one in traits] == [
        (0.5, 8, 0.01),
        (0.25, 4, 0.02),
    ]
    assert (traits[0].line.up.rate, traits[0].line.down.rate) == (12_500_000, 25_000_000)
    assert len({one.token for one in traits}) == 2


@pytest.mark.parametrize(
    "machine",
    [RentedMachine(0.5, 0, 1, 1, 0), RentedMachine(0.0, 1, 1, 1, 0), RentedMachine(0.5, 1, 0, 1, 0)],
)
def test_a_machine_that_cannot_compute_or_transfer_is_refused(machine: RentedMachine) -> None:
    with pytest.raises(SettingsError, match="at least one core"):
        clients_of([machine], 0.0, 1)
