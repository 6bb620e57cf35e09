"""Retries work that fails while another machine is unreachable, with pauses set by a policy."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from backend.errors import PeerError, UnreachableError
from backend.peer.session.progress import Teller

T = TypeVar("T")


@dataclass(frozen=True)
class RetryPolicy:
    """The pauses between attempts, which failures are reported, and which errors are retried.

    `pauses` are the seconds after each failure; after the last one, the last `repeated` pauses repeat. The
    first `silent` failures of each pass through `pauses` are not reported. Errors of type `retried` are
    retried; one that is not an UnreachableError is reported immediately, and the last pause follows.
    """

    pauses: tuple[float, ...]
    repeated: int = 1
    silent: int = 0
    retried: type[PeerError] = UnreachableError

    def pause(self, failures: int) -> float:
        """Returns the seconds to wait after failure number `failures`, counted from 0."""
        first = len(self.pauses) - self.repeated
        return self.pauses[min(failures, first + (failures - first) % self.repeated)]

    def is_reported(self, failures: int) -> bool:
        """Whether failure number `failures` is reported to a person."""
        return failures % len(self.pauses) >= self.silent

    def last_of_pass(self, failures: int) -> int:
        """Returns the number of the failure that would end the current pass through `pauses`."""
        return failures - failures % len(self.pauses) + len(self.pauses) - 1


# Before a session: the other machine answers in the end, or a person has to check the address.
START = RetryPolicy((1.0, 2.0, 4.0, 8.0, 16.0, 30.0))
# The jobs of a session: loading, fetching, training and measuring, which are mostly downloads.
JOB = RetryPolicy((0.5, 1.0, 2.0, 2.0), repeated=4, silent=3)
# Weights that neither a peer nor the server had; another peer may have them by the next attempt.
WEIGHTS = RetryPolicy((0.5, 1.0, 2.0, 1.0), repeated=4, silent=3, retried=PeerError)
# An upload of weights to the server.
DEPOSIT = RetryPolicy((2.0,))


async def retry(
    work: Callable[[], Awaitable[T]],
    policy: RetryPolicy,
    report: Callable[[PeerError, float], None],
    is_canceled: Callable[[], bool] = lambda: False,
    give_up_after: float = math.inf,
) -> T | None:
    """Returns the result of `work`, retried by `policy`; None once it is canceled.

    `report` receives the error and the seconds until the next attempt. Raises UnreachableError after
    `give_up_after` seconds, and any error of `work` that is not retried, unless the work is canceled.
    """
    clock = asyncio.get_running_loop().time
    end, failures = clock() + give_up_after, 0
    while not is_canceled():
        try:
            return await work()
        except PeerError as error:
            if is_canceled():
                break  # The server may have deleted data that are no longer needed.
            if not isinstance(error, policy.retried):
                raise
            remaining = end - clock()
            if remaining <= 0.0:
                raise UnreachableError(
                    f"{error} This peer gives up after {give_up_after:.0f} s. Check the address, or ask the "
                    f"server's operator, and join again when it answers."
                ) from error
            if not isinstance(error, UnreachableError):
                failures = policy.last_of_pass(failures)
            pause = min(policy.pause(failures), remaining)
            if policy.is_reported(failures):
                report(error, pause)
            failures += 1
            await asyncio.sleep(pause)
    return None


async def retry_start(
    work: Callable[[], Awaitable[T]],
    reporter: Teller,
    is_canceled: Callable[[], bool] = lambda: False,
    give_up_after: float = math.inf,
) -> T | None:
    """Returns the result of work that a session needs before it begins; reports an unreachable server."""

    def report(error: PeerError, pause: float) -> None:
        advice = f"Trying again in {pause:.2g} s; check the address if this continues."
        reporter.tell("offline", f"{error} {advice}", seconds=round(pause, 3))

    return await retry(work, START, report, is_canceled, give_up_after)


async def retry_job(
    work: Callable[[], Awaitable[T]],
    reporter: Teller,
    is_canceled: Callable[[], bool] = lambda: False,
    policy: RetryPolicy = JOB,
    give_up_after: float = math.inf,
) -> T | None:
    """Returns the result of a session's job; reports failures. As `retry` otherwise."""

    def report(error: PeerError, pause: float) -> None:
        reporter.tell("trouble", f"{error} Trying again in {pause:.0f} s.")

    return await retry(work, policy, report, is_canceled, give_up_after)
