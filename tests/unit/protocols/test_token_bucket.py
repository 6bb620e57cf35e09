from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.protocols.token_bucket import NEVER, Rate, TokenBuckets

PAUSES = st.lists(st.floats(0, 3), min_size=1, max_size=60)


def granted(rate: Rate, times: list[float]) -> list[float]:
    full, allowed = NEVER, []
    for now in times:
        after = rate.spend(full, now)
        if after is not None:
            full = after
            allowed.append(now)
    return allowed


@given(st.floats(0.1, 10), st.integers(1, 8), PAUSES)
def test_no_span_of_time_holds_more_than_the_burst_and_what_was_gained(
    per_second: float, burst: int, pauses: list[float]
) -> None:
    times = granted(Rate(per_second, burst), list(accumulate(pauses)))
    for first, start in enumerate(times):
        for last in range(first, len(times)):
            assert last - first + 1 <= burst + (times[last] - start) * per_second + 1e-3


@given(st.floats(0.1, 10), st.integers(1, 8), PAUSES)
def test_who_keeps_to_the_rate_is_never_refused(per_second: float, burst: int, pauses: list[float]) -> None:
    times = list(accumulate(pause + 1 / per_second for pause in pauses))
    assert granted(Rate(per_second, burst), times) == times


def test_the_whole_burst_may_come_at_once_and_again_when_it_is_gained_back() -> None:
    rate = Rate(2.0, 5)
    assert len(granted(rate, [1e6] * 9)) == 5
    assert len(granted(rate, [1e6] * 9 + [1e6 + 2.5] * 9)) == 10


def test_one_key_does_not_spend_for_another() -> None:
    rates = TokenBuckets(Rate(1.0, 1), max_keys=10)
    assert rates.spend("a", 0.0)
    assert not rates.spend("a", 0.5)
    assert rates.spend("b", 0.5)
    assert rates.spend("a", 1.0)


@pytest.mark.parametrize("step", [0.0, 0.01, 10.0])
def test_only_so_many_keys_are_kept_and_full_ones_not_at_all(step: float) -> None:
    rates = TokenBuckets(Rate(1.0, 3), max_keys=100)
    for number in range(1000):
        assert rates.spend(str(number), number * step)
        assert len(rates) <= min(100, 1 / step + 1 if step else 100)
