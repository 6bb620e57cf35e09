"""An asyncio event loop on virtual time: if no task can run, its clock jumps to the next timer.

Waiting takes no wall time. There are no sockets and no threads, so a program with the same seeds runs the
same steps in the same order.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar

T = TypeVar("T")


class DeadlockError(RuntimeError):
    """All tasks wait and no timer is set: a deadlock."""


def no_work_time() -> float:
    """Returns 0: work in threads takes no time."""
    return 0.0


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop whose `time()` starts at 0 and which runs jobs of executors on its own thread.

    A job takes `work_seconds()` of virtual time. The jobs of one executor run in sequence, as on one thread,
    each at the end of its time; a job whose future was cancelled by then does not run.
    """

    def __init__(self, work_seconds: Callable[[], float] = no_work_time) -> None:
        super().__init__()
        self._now = 0.0
        self._work_seconds = work_seconds
        self._busy: dict[Executor, float] = {}
        self._failure: BaseException | None = None
        self.set_exception_handler(_remember)
        # BaseEventLoop waits for events in `_selector`; here waiting advances the clock.
        self._selector = self

    def time(self) -> float:
        """Returns the seconds of virtual time."""
        return self._now

    def select(self, timeout: float | None) -> list[Any]:
        """Advances the clock by `timeout`. Raises DeadlockError if no timer is set."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        if timeout is None:
            raise DeadlockError("All simulated clients wait for each other forever.")
        self._now += timeout
        # A timer must not fire early, not even by a nanosecond: its callback could reschedule itself with
        # zero delay forever.
        self._clock_resolution = math.ulp(self._now)
        return []

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Returns a future of `func(*args)`, which the loop itself runs; the executor stays idle."""
        future: asyncio.Future[T] = self.create_future()
        seconds = self._work_seconds()
        start = self._now if executor is None else max(self._now, self._busy.get(executor, 0.0))
        if start + seconds <= self._now:
            _fulfil(future, func, *args)
            return future
        if executor is not None:
            self._busy[executor] = start + seconds
        self.call_at(start + seconds, _fulfil, future, func, *args)
        return future

    def fail(self, failure: BaseException) -> None:
        """Stops the loop in its next iteration by raising `failure`."""
        self._failure = self._failure or failure

    def _process_events(self, event_list: list[Any]) -> None:
        """Does nothing: the loop has no events except timers."""

    def _write_to_self(self) -> None:
        """Does nothing: no other thread waits in `select`."""


def _remember(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Stops the simulation with the first failure of a callback or of a task that is never awaited."""
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


def run(main: Coroutine[Any, Any, T], work_seconds: Callable[[], float] = no_work_time) -> T:
    """Runs `main` on a new virtual loop and returns its result.

    Raises DeadlockError for a deadlock, and any exception of a callback.
    """
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(work_seconds)) as runner:
        return runner.run(main)
