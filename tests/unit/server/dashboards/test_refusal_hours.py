"""Refusals by hour: summed, bounded, the oldest first."""

from __future__ import annotations

from backend.server.dashboards.refusal_hours import HOUR_SECONDS, MAX_HOURS, RefusalHours

NOON = 500_000 * HOUR_SECONDS


def test_rounds_of_one_hour_are_summed() -> None:
    hours = RefusalHours()
    hours.add(NOON + 5.0, {"stale-round": 2})
    hours.add(NOON + 3599.0, {"stale-round": 1, "not-finite": 1})
    hours.add(NOON + 3600.0, {"not-finite": 4})
    assert hours.rows() == [
        {"at": NOON, "refusals": {"not-finite": 1, "stale-round": 3}},
        {"at": NOON + HOUR_SECONDS, "refusals": {"not-finite": 4}},
    ]


def test_hours_without_refusals_are_left_out() -> None:
    hours = RefusalHours()
    hours.add(NOON, {})
    assert hours.rows() == []


def test_only_the_newest_hours_are_kept() -> None:
    hours = RefusalHours()
    for hour in range(3 * MAX_HOURS):
        hours.add(NOON + hour * HOUR_SECONDS, {"over": 1})
    rows = hours.rows()
    assert len(rows) == MAX_HOURS
    assert rows[-1]["at"] == NOON + (3 * MAX_HOURS - 1) * HOUR_SECONDS


def test_a_round_from_long_ago_does_not_come_back() -> None:
    hours = RefusalHours()
    hours.add(NOON, {"over": 1})
    hours.add(NOON - 2 * MAX_HOURS * HOUR_SECONDS, {"over": 1})
    assert [row["at"] for row in hours.rows()] == [NOON]
