from __future__ import annotations

import asyncio

import pytest

from backend.errors import BundleError, PeerError, UnreachableError
from backend.peer.session.progress import Value
from backend.peer.session.retry import (
    DEPOSIT,
    JOB,
    START,
    WEIGHTS,
    RetryPolicy,
    retry,
    retry_job,
    retry_start,
)

AWAY = "The server does not answer."


class Reporter:
    """Collects what is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def tell(self, event: str, sentence: str, **values: Value) -> None:
        del values
        self.told.append((event, sentence))


class Work:
    """Raises `errors` one after the other, then gives "done"; `attempts` counts the calls."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.attempts = 0

    async def __call__(self) -> str:
        self.attempts += 1
        if self._errors:
            raise self._errors.pop(0)
        return "done"


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that are kept, which take no time."""
    kept: list[float] = []

    async def sleep(seconds: float) -> None:
        kept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return kept


def away(times: int) -> list[Exception]:
    return [UnreachableError(AWAY) for _ in range(times)]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (START, [1, 2, 4, 8, 16, 30, 30, 30, 30, 30]),
        (JOB, [0.5, 1, 2, 2, 0.5, 1, 2, 2, 0.5, 1]),
        (WEIGHTS, [0.5, 1, 2, 1, 0.5, 1, 2, 1, 0.5, 1]),
        (DEPOSIT, [2] * 10),
    ],
)
async def test_each_policy_keeps_its_pauses(
    policy: RetryPolicy, expected: list[float], pauses: list[float]
) -> None:
    work = Work(*away(10))
    assert await retry(work, policy, lambda *_: None) == "done"
    assert pauses == expected
    assert work.attempts == 11


async def test_a_job_reports_the_failures_that_its_long_pauses_follow(pauses: list[float]) -> None:
    reporter = Reporter()
    assert await retry_job(Work(*away(9)), reporter) == "done"
    assert reporter.told == [("trouble", f"{AWAY} Trying again in 2 s.")] * 2
    assert len(pauses) == 9


async def test_a_peer_that_starts_reports_each_failure(pauses: list[float]) -> None:
    reporter = Reporter()
    assert await retry_start(Work(*away(7)), reporter) == "done"
    advice = "s; check the address if this continues."
    assert reporter.told == [
        ("offline", f"{AWAY} Trying again in {pause} {advice}") for pause in (1, 2, 4, 8, 16, 30, 30)
    ]
    assert sum(pauses) == 91


@pytest.mark.parametrize("error", [PeerError("No such blob."), BundleError("Damaged.")])
async def test_what_another_attempt_does_not_mend_is_raised_at_once(
    error: Exception, pauses: list[float]
) -> None:
    with pytest.raises(type(error)):
        await retry_job(Work(error), Reporter())
    assert pauses == []


async def test_weights_that_nobody_has_are_asked_for_again_and_reported_each_time(
    pauses: list[float],
) -> None:
    reported: list[str] = []
    missing = PeerError("No such blob.")
    work = Work(*away(1), missing, missing, *away(4))
    assert await retry(work, WEIGHTS, lambda error, _: reported.append(str(error))) == "done"
    assert pauses == [0.5, 1, 1, 0.5, 1, 2, 1]
    assert reported == ["No such blob."] * 2 + [AWAY]


@pytest.mark.parametrize("error", [UnreachableError(AWAY), PeerError("The server let it go.")])
async def test_canceled_work_is_neither_tried_again_nor_reported(
    error: PeerError, pauses: list[float]
) -> None:
    reporter, work = Reporter(), Work(error)
    assert await retry_job(work, reporter, lambda: work.attempts > 0) is None
    assert work.attempts == 1
    assert (reporter.told, pauses) == ([], [])
    assert await retry_job(work, reporter, lambda: True) is None
    assert work.attempts == 1


async def test_it_gives_up_when_its_time_is_over_and_not_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    now = [0.0]
    monkeypatch.setattr(loop, "time", lambda: now[0])
    attempts: list[float] = []

    async def sleep(seconds: float) -> None:
        now[0] += seconds

    async def work() -> str:
        attempts.append(now[0])
        raise UnreachableError(AWAY)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    with pytest.raises(UnreachableError, match=r"gives up after 10 s\. Check the address"):
        await retry_start(work, Reporter(), give_up_after=10)
    assert attempts == [0, 1, 3, 7, 10]


async def test_a_job_that_is_canceled_in_a_pause_is_not_tried_again(pauses: list[float]) -> None:
    work = Work(*away(5))
    assert await retry_job(work, Reporter(), lambda: len(pauses) == 3) is None
    assert work.attempts == 3
