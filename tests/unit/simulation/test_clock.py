from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from backend.simulation.clock import DeadlockError, run


def test_hours_pass_at_once() -> None:
    async def main() -> float:
        await asyncio.sleep(3 * 3600.0)
        return asyncio.get_running_loop().time()

    # Were they slept through, the test would be cut off.
    assert run(main()) == 3 * 3600.0


def test_timers_go_off_in_order_and_exactly_when_they_are_due() -> None:
    heard: list[tuple[float, int]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def note(number: int) -> None:
            heard.append((loop.time(), number))

        for number, due in enumerate((2.5, 0.1, 1e4 + 0.1, 0.3)):
            loop.call_at(due, note, number)
        await asyncio.sleep(2e4)

    run(main())
    assert [number for _, number in heard] == [1, 3, 0, 2]
    assert [at for at, _ in heard] == pytest.approx([0.1, 0.3, 2.5, 1e4 + 0.1], abs=1e-9)


def test_nobody_is_woken_before_the_time() -> None:
    early: list[float] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def wake(due: float) -> None:
            if loop.time() < due:
                early.append(due)

        for number in range(1, 1000):
            due = number // 7 + 1e-10 * (number % 7)
            loop.call_at(due, wake, due)
        await asyncio.sleep(1000.0)

    run(main())
    assert not early


def test_those_who_wait_for_each_other_are_told() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(DeadlockError, match="forever"):
        run(main())


def test_a_callback_that_fails_ends_the_run() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(1.0)

    with pytest.raises(ZeroDivisionError):
        run(main())


def test_work_of_one_thread_is_done_in_its_order_and_takes_its_time() -> None:
    done: list[tuple[str, float]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        worker = ThreadPoolExecutor(1)
        note = lambda name: done.append((name, loop.time()))  # noqa: E731
        jobs = [loop.run_in_executor(worker, note, name) for name in "abc"]
        jobs[1].cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
        await asyncio.to_thread(note, "d")
        with pytest.raises(ZeroDivisionError):
            await loop.run_in_executor(worker, lambda: 1 / 0)

    run(main(), lambda: 2.0)
    assert done == [("a", 2.0), ("c", 6.0), ("d", 8.0)]
