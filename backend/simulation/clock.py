"""An asyncio event loop on virtual time: when nothing can run, its clock jumps to the next timer.

No wall time passes while everybody waits, there are no sockets and no threads, and the same program with the
same seeds does the same things in the same order.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar

T = TypeVar("T")


class NothingHappensError(RuntimeError):
    """Everybody waits, and no timer will ever wake anybody: a deadlock."""


def no_time() -> float:
    """Work in threads that is done at once."""
    return 0.0


class VirtualLoop(asyncio.BaseEventLoop):
    """`time()` begins at 0. What goes to an executor is done here, on the loop's own thread.

    A job takes `work_seconds()` of virtual time. Jobs of one executor are done one after the other, as by one
    thread, at the end of their time; one whose future was cancelled by then is not done at all.
    """

    def __init__(self, work_seconds: Callable[[], float] = no_time) -> None:
        super().__init__()
        self._now = 0.0
        self._work_seconds = work_seconds
        self._busy: dict[Executor, float] = {}
        self._failure: BaseException | None = None
        self.set_exception_handler(_remember)
        # BaseEventLoop waits for events in `_selector`; here the waiting is what moves the clock.
        self._selector = self

    def time(self) -> float:
        """Seconds of virtual time."""
        return self._now

    def select(self, timeout: float | None) -> list[Any]:
        """Lets the time pass in which nothing happens."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if timeout is None:
            raise NothingHappensError("Everybody waits for somebody else, for ever.")
        self._now += timeout
        # A timer goes off at its time and not a nanosecond before: who is woken early would wait for no time
        # at all, for ever.
        self._clock_resolution = math.ulp(self._now)
        return []

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """A future of `func(*args)`; the executor itself is left idle."""
        future: asyncio.Future[T] = self.create_future()
        seconds = self._work_seconds()
        begin = self._now if executor is None else max(self._now, self._busy.get(executor, 0.0))
        if begin + seconds <= self._now:
            _fulfil(future, func, *args)
            return future
        if executor is not None:
            self._busy[executor] = begin + seconds
        self.call_at(begin + seconds, _fulfil, future, func, *args)
        return future

    def fail(self, failure: BaseException) -> None:
        """Ends what runs at the next turn, by raising `failure` there."""
        self._failure = self._failure or failure

    def _process_events(self, event_list: list[Any]) -> None:
        """There are no events but timers."""

    def _write_to_self(self) -> None:
        """There is no other thread that could wait in `select`."""


def _remember(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Keeps the first failure of a callback or of a task that nobody waits for, and ends the simulation."""
    assert isinstance(loop, VirtualLoop)  # noqa: S101 - it is the handler of no other loop.
    failure = context.get("exception") or RuntimeError(context["message"])
    loop.fail(failure)


def _fulfil(future: asyncio.Future[T], func: Callable[..., T], *args: Any) -> None:
    if future.cancelled():
        return
    try:
        future.set_result(func(*args))
    except Exception as error:
        future.set_exception(error)


def run(main: Coroutine[Any, Any, T], work_seconds: Callable[[], float] = no_time) -> T:
    """Result of `main` on a virtual loop of its own.

    Raises NothingHappensError for a deadlock, and whatever a callback raised.
    """
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(work_seconds)) as runner:
        return runner.run(main)
