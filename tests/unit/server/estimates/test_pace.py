"""The estimate of when a task is done."""

from __future__ import annotations

import pytest

from backend.server.estimates.pace import STALLED, seconds_to_finish
from backend.stores.contracts import RoundRecord


def ended(*moments: float, outcome: str = "version") -> list[RoundRecord]:
    return [RoundRecord(n, n, 2, 2, 0, outcome, "", 1.0, at) for n, at in enumerate(moments, 1)]


def test_what_is_left_takes_as_long_as_the_newest_rounds_with_their_waits() -> None:
    rounds = [*ended(100.0, 110.0), *ended(115.0, outcome="abandoned"), *ended(140.0)]
    assert seconds_to_finish(rounds, 10, 140.0) == 200.0
    assert seconds_to_finish(rounds, 10, 145.0) == 195.0


@pytest.mark.parametrize(
    ("rounds", "left", "now"),
    [
        ([], 10, 0.0),
        (ended(100.0), 10, 100.0),
        (ended(100.0, 110.0, outcome="abandoned"), 10, 110.0),
        (ended(100.0, 110.0), 0, 110.0),
        (ended(100.0, 110.0), 10, 110.0 + 10 * STALLED + 1),
        (ended(100.0, 100.0), 10, 100.0),
    ],
)
def test_without_a_pace_nothing_is_said(rounds: list[RoundRecord], left: int, now: float) -> None:
    assert seconds_to_finish(rounds, left, now) is None
