"""Retries work that fails while another machine is away: the one loop, and the pauses that it keeps."""

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
    """`pauses` are the seconds after each failure; after the last one the last `repeated` come round again.

    Of each pass through `pauses` the first `silent` failures are not reported. `retried` is what is tried
    again; one that is no UnreachableError is reported at once, and the last pause follows.
    """

    pauses: tuple[float, ...]
    repeated: int = 1
    silent: int = 0
    retried: type[PeerError] = UnreachableError

    def pause(self, failures: int) -> float:
        """Seconds after the failure number `failures`, from 0 on."""
        first = len(self.pauses) - self.repeated
        return self.pauses[min(failures, first + (failures - first) % self.repeated)]

    def is_reported(self, failures: int) -> bool:
        """Whether the failure number `failures` is reported to a person."""
        return failures % len(self.pauses) >= self.silent

    def last_of_pass(self, failures: int) -> int:
        """The number of the failure that would end the present pass through `pauses`."""
        return failures - failures % len(self.pauses) + len(self.pauses) - 1


# Before a session: another machine answers, or a person has to check the address.
START = RetryPolicy((1.0, 2.0, 4.0, 8.0, 16.0, 30.0))
# A session's loading, fetching, training and measuring, most of which is downloads.
JOB = RetryPolicy((0.5, 1.0, 2.0, 2.0), repeated=4, silent=3)
# Weights that neither a peer nor the server had; another peer may have them by then.
WEIGHTS = RetryPolicy((0.5, 1.0, 2.0, 1.0), repeated=4, silent=3, retried=PeerError)
# A deposit of weights at the server.
DEPOSIT = RetryPolicy((2.0,))


async def retry(
    work: Callable[[], Awaitable[T]],
    policy: RetryPolicy,
    report: Callable[[PeerError, float], None],
    is_canceled: Callable[[], bool] = lambda: False,
    give_up_after: float = math.inf,
) -> T | None:
    """The result of `work`, tried again by `policy`; None once it is canceled.

    `report` takes the error and the seconds until the next attempt. Raises UnreachableError after
    `give_up_after` seconds, and what `work` raises that is not tried again, unless it is canceled.
    """
    clock = asyncio.get_running_loop().time
    end, failures = clock() + give_up_after, 0
    while not is_canceled():
        try:
            return await work()
        except PeerError as error:
            if is_canceled():
                break  # The server may have let go what nobody needs any more.
            if not isinstance(error, policy.retried):
                raise
            remaining = end - clock()
            if remaining <= 0.0:
                raise UnreachableError(
                    f"{error} This peer waits no longer than {give_up_after:.0f} s. Check the address, or "
                    "ask whoever runs the server, and join again when it answers."
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
    """The result of what has to be known before a session begins; reports that the server is away."""

    def report(error: PeerError, pause: float) -> None:
        advice = f"Trying again in {pause:.2g} s; check the address if this goes on."
        reporter.tell("offline", f"{error} {advice}", seconds=round(pause, 3))

    return await retry(work, START, report, is_canceled, give_up_after)


async def retry_job(
    work: Callable[[], Awaitable[T]],
    reporter: Teller,
    is_canceled: Callable[[], bool] = lambda: False,
    policy: RetryPolicy = JOB,
) -> T | None:
    """The result of a session's job, however long the server is away; reports the trouble."""

    def report(error: PeerError, pause: float) -> None:
        reporter.tell("trouble", f"{error} Trying again in {pause:.0f} s.")

    return await retry(work, policy, report, is_canceled)
