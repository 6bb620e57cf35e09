from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.protocols.client.task_shares import FIRST_PAUSE, LONGEST_PAUSE, TaskShares

NAMES = ("audio", "text", "vision")


def work(shares: TaskShares, tasks: tuple[str, ...], turns: int, seconds: float = 1.0) -> Counter[str]:
    """Works so many turns; returns the seconds of each task."""
    worked: Counter[str] = Counter()
    for turn in range(turns):
        task = shares.choose(tasks, float(turn))
        assert task is not None
        shares.worked(task, seconds)
        worked[task] += int(seconds)
    return worked


@given(st.dictionaries(st.sampled_from(NAMES), st.integers(1, 9)))
def test_time_is_divided_by_shares_that_are_equal_where_none_is_given(given_shares: dict[str, int]) -> None:
    worked = work(TaskShares(given_shares), NAMES, 900)
    total = sum(given_shares.get(name, 1) for name in NAMES)
    for name in NAMES:
        assert worked[name] == pytest.approx(900 * given_shares.get(name, 1) / total, abs=len(NAMES))


def test_a_task_with_share_zero_is_never_chosen() -> None:
    shares = TaskShares({"text": 0.0})
    assert shares.choose(["text"], 0.0) is None
    assert work(shares, NAMES, 10)["text"] == 0


def test_a_task_that_comes_later_is_not_owed_the_time_before() -> None:
    shares = TaskShares()
    work(shares, ("text",), 1000)
    worked = work(shares, ("text", "vision"), 10)
    assert worked == {"text": 5, "vision": 5}


def test_a_task_that_went_and_came_back_is_not_owed_the_time_between() -> None:
    shares = TaskShares()
    work(shares, ("text", "vision"), 10)
    work(shares, ("text",), 1000)
    assert work(shares, ("text", "vision"), 10) == {"text": 5, "vision": 5}


def test_a_task_without_work_waits_longer_each_time_until_it_has_some() -> None:
    shares, now = TaskShares(), 0.0
    for pause in (FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE):
        shares.without_work("text", now)
        assert shares.choose(["text"], now + pause - 1.0) is None
        now += pause
        assert shares.choose(["text"], now) == "text"
    shares.worked("text", 1.0)
    shares.without_work("text", now)
    assert shares.choose(["text"], now + FIRST_PAUSE) == "text"


def test_the_longest_wait_is_bounded() -> None:
    shares = TaskShares()
    for _ in range(100):
        shares.without_work("text", 0.0)
    assert shares.choose(["text"], LONGEST_PAUSE) == "text"


def test_while_one_task_waits_another_is_chosen() -> None:
    shares = TaskShares({"text": 9.0})
    shares.without_work("text", 0.0)
    assert shares.choose(["text", "vision"], 1.0) == "vision"
