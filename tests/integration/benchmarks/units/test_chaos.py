"""Volunteers who die, come late and cheat do a task of work units no harm; and the benchmark would see it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from benchmarks.units.chaos import Plan, measure
from benchmarks.units.clients.chaos_clients import (
    Coverage,
    Shares,
    characters,
    coverage,
    expected_units,
    kinds,
    means,
)
from benchmarks.units.clients.false_results import LIES
from tests.support.timeouts import LONG

pytestmark = pytest.mark.long


def result(
    epoch: int,
    shard: int,
    first: int,
    examples: int,
    accuracy: float | None = None,
    first_step: int = 0,
) -> dict[str, Any]:
    what = {"epoch": epoch, "shard": shard, "first": first, "examples": examples}
    return {**what, "first step": first_step, "accuracy": accuracy}


def test_the_parts_of_the_crowd_are_as_asked() -> None:
    cast = characters(200, Shares(), sleepers=2, checked=10, seed=1)
    assert len(cast) == 200
    assert sum(one.dies_at > 0 for one in cast) == 100
    assert sum(one.late for one in cast) == 20
    cheats = [one for one in cast if one.lie]
    assert Counter(one.lie for one in cheats) == {"random": 3, "copied": 3, "unfinished": 2, "scaled": 2}
    assert Counter(one.from_held for one in cheats) == {0: 8, 10: 2}
    assert not any(one.dies_at and (one.late or one.lie) for one in cast)
    assert cast != characters(200, Shares(), sleepers=2, checked=10, seed=2)


def test_rows_that_are_missing_or_twice_are_seen() -> None:
    whole = [result(1, 0, 0, 3), result(1, 0, 3, 3), result(1, 1, 0, 4), result(2, 0, 0, 6)]
    assert coverage(whole, [6, 4], closed=1) == Coverage(1, 3, missing=0, twice=0)
    assert coverage(whole[1:], [6, 4], closed=1) == Coverage(1, 2, missing=3, twice=0)
    assert coverage([*whole, result(1, 1, 2, 1)], [6, 4], closed=1) == Coverage(1, 4, missing=0, twice=1)
    assert coverage(whole, [6, 4], closed=2) == Coverage(2, 4, missing=4, twice=0)


def test_the_parts_of_a_unit_make_up_its_rows() -> None:
    parts = [result(1, 0, 3, 1, first_step=3), result(1, 0, 3, 2), result(1, 0, 0, 3)]
    assert coverage(parts, [6], closed=1) == Coverage(1, 3, missing=0, twice=0)
    assert coverage(parts[1:], [6], closed=1) == Coverage(1, 2, missing=1, twice=0)


def test_means_are_of_what_was_measured_in_closed_epochs() -> None:
    rows = [result(1, 0, 0, 1, 0.5), result(1, 0, 0, 1, 0.75), result(1, 0, 0, 1), result(2, 0, 0, 1, 1.0)]
    assert means(rows, closed=1) == {1: 0.625}
    assert means(rows, closed=2) == {1: 0.625, 2: 1.0}


def test_a_cheat_is_caught_by_the_first_of_its_lies_that_is_looked_at() -> None:
    def diary(
        lie: str, sleeps: int, lies: list[int], counted: list[int], rejected: list[int]
    ) -> dict[str, Any]:
        found: dict[str, Any] = {
            "lies": lies,
            "counted": counted,
            "rejected": rejected,
            "blended": counted[:1],
        }
        return {**found, "character": {"lie": lie, "from_held": sleeps}}

    found = kinds(
        [
            diary("random", 0, [4, 5, 6], [], [5, 6]),
            diary("random", 0, [7], [], []),
            diary("scaled", 10, [20, 21, 22, 30], [19, 20, 21], [22]),
        ],
        expected_of_sleepers=8.5,
    )
    first, second = found
    assert (first.lie, first.clients, first.caught, first.until_caught) == ("random", 2, 1, [1])
    assert (first.lies, first.rejected, first.counted, first.expected) == (4, 2, 0, 1.0)
    assert (second.lie, second.sleeps, second.caught, second.until_caught) == ("scaled", True, 1, [3])
    assert (second.rejected, second.counted, second.expected) == (1, 2, 8.5)


def test_a_trusted_client_is_expected_to_lie_as_often_as_the_rules_allow() -> None:
    assert expected_units(10, 0.0) == 10.0
    assert expected_units(10, 0.025) == pytest.approx(8.0)
    assert expected_units(1, 0.5) == 1.0


@pytest.mark.tensorflow
def test_a_crowd_of_strangers_reaches_the_target_and_every_cheat_is_caught() -> None:
    plan = Plan(
        clients=24,
        shares=Shares(killed=0.5, late=0.125, cheats=len(LIES) / 24),
        sleepers=0,
        epochs=3,
        lease=4.0,
        seconds=LONG,
    )
    report = measure(plan)
    assert (report.killed, report.late, report.cheats) == (12, 3, len(LIES))
    assert report.coverage.epochs >= 3
    assert report.coverage.results > 0
    assert (report.coverage.missing, report.coverage.twice) == (0, 0)
    assert report.honest_results > 0
    assert (report.honest_rejected, report.banned) == (0, 0)
    assert [(one.lie, one.caught, one.counted, one.blended) for one in report.cheating] == [
        (lie, 1, 0, 0) for lie in LIES
    ]
    assert [one.until_caught for one in report.cheating] == [[1]] * len(LIES)
    assert report.came_late > 0
    assert report.accuracies
