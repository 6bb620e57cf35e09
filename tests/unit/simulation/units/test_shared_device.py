"""A device whose units share its speed."""

from __future__ import annotations

import asyncio

import pytest

from backend.simulation import clock
from backend.simulation.units.shared_device import SharedDevice


def test_two_units_take_as_long_together_as_one_after_the_other() -> None:
    ends: dict[int, float] = {}

    async def work() -> float:
        loop, device = asyncio.get_running_loop(), SharedDevice()

        def done(lease: int) -> None:
            ends[lease] = loop.time()

        device.start(1, 10, 10.0, lambda: done(1))
        await asyncio.sleep(4.0)
        device.start(2, 3, 3.0, lambda: done(2))
        await asyncio.sleep(20.0)
        return device.busy

    # From second 4 each has half the device: unit 2 ends after 6 more, and unit 1 has it for itself then.
    assert clock.run(work()) == pytest.approx(13.0)
    assert ends == {2: pytest.approx(10.0), 1: pytest.approx(13.0)}


def test_as_many_units_as_cores_train_at_full_speed() -> None:
    ends: dict[int, float] = {}

    async def work() -> None:
        loop, device = asyncio.get_running_loop(), SharedDevice(2)

        def start(lease: int, seconds: float) -> None:
            device.start(lease, 1, seconds, lambda: ends.update({lease: loop.time()}))

        start(1, 4.0)
        start(2, 4.0)
        await asyncio.sleep(2.0)
        start(3, 4.0)
        await asyncio.sleep(20.0)

    clock.run(work())
    # From second 2 three units have two cores: two end at 5, and the third has a core for its last 2 seconds.
    assert ends == {1: pytest.approx(5.0), 2: pytest.approx(5.0), 3: pytest.approx(7.0)}


def test_a_unit_that_is_stopped_did_the_whole_steps_before() -> None:
    async def work() -> tuple[int, int, int]:
        device = SharedDevice()
        device.start(1, 4, 8.0, lambda: None)
        await asyncio.sleep(5.0)
        return device.steps(1), device.stop(1), device.stop(1)

    assert clock.run(work()) == (2, 2, 0)
