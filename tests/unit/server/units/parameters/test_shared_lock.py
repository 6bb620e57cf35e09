"""Holders share the lock, or one has it alone."""

from __future__ import annotations

import asyncio

from backend.server.units.parameters.shared_lock import SharedLock


class Holders:
    """Tasks that hold one lock until they are released; `events` says who got it and who let it go."""

    def __init__(self) -> None:
        self.lock = SharedLock()
        self.events: list[str] = []
        self._release: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, name: str, *, exclusive: bool = False) -> None:
        """Starts a task that asks for the lock."""
        self._release[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._hold(name, exclusive))
        await self._settle()

    async def release(self, name: str) -> None:
        """Lets a task end."""
        self._release[name].set()
        await self._settle()

    async def cancel(self, name: str) -> None:
        """Cancels a task."""
        self._tasks[name].cancel()
        await self._settle()

    async def _settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    async def _hold(self, name: str, exclusive: bool) -> None:
        async with self.lock.held(exclusive=exclusive):
            self.events.append(f"{name} got it")
            await self._release[name].wait()
            self.events.append(f"{name} let go")


async def test_one_that_is_exclusive_waits_for_holders_and_comes_before_who_asks_later() -> None:
    holders = Holders()
    await holders.start("a")
    await holders.start("b")
    await holders.start("alone", exclusive=True)
    await holders.start("c")
    assert holders.events == ["a got it", "b got it"]
    await holders.release("a")
    await holders.release("b")
    assert holders.events[2:] == ["a let go", "b let go", "alone got it"]
    await holders.release("alone")
    assert holders.events[5:] == ["alone let go", "c got it"]
    await holders.release("c")


async def test_two_that_are_exclusive_have_it_one_after_the_other() -> None:
    holders = Holders()
    await holders.start("first", exclusive=True)
    await holders.start("second", exclusive=True)
    await holders.start("shared")
    for name in ("first", "second", "shared"):
        assert holders.events[-1] == f"{name} got it"
        await holders.release(name)
    assert len(holders.events) == 6


async def test_one_that_is_cancelled_keeps_nobody_waiting() -> None:
    holders = Holders()
    await holders.start("shared")
    await holders.start("waiting", exclusive=True)
    await holders.start("behind")
    await holders.cancel("waiting")
    assert holders.events == ["shared got it", "behind got it"]
    await holders.start("alone", exclusive=True)
    await holders.cancel("shared")
    await holders.cancel("behind")
    await holders.cancel("alone")
    await holders.start("last")
    assert holders.events[2:] == ["alone got it", "last got it"]
    await holders.release("last")
