"""The table of what may lie between honest results is what was measured, with its margin."""

from __future__ import annotations

import msgspec
import pytest

from backend.server.units.validation import tolerances
from backend.server.units.validation.tolerances import BLAME, LONG_BLAME, TELLING, ToleranceTable
from benchmarks.units.tolerance_table import (
    MARGIN,
    MAX_DISTANCE,
    MIN_DISTANCE,
    RUNGS,
    Cheat,
    Gap,
    summary,
    tolerance_table,
)


def gap(steps: int, distance: float) -> Gap:
    return Gap("digits", 0, 1, steps, "a", "b", distance, distance**2)


def table(*gaps: Gap) -> ToleranceTable:
    return msgspec.convert(tolerance_table(gaps), ToleranceTable)


def test_a_rung_allows_the_widest_gap_of_its_length_and_shorter_ones() -> None:
    first, second, third = RUNGS
    made = table(gap(first, 1e-7), gap(second, 0.02), gap(second, 0.015), gap(third, 0.01), gap(64, 0.04))
    assert [rung.steps for rung in made.rungs] == list(RUNGS)
    widest = [MIN_DISTANCE, MARGIN * 0.02, MARGIN * 0.02]
    assert [rung.distance for rung in made.rungs] == pytest.approx(widest)
    assert made.longer.distance == pytest.approx(MARGIN * 0.04)
    assert all(rung.turn == pytest.approx(rung.distance**2, rel=0.01) for rung in made.rungs)
    assert made.steps == third


def test_no_table_allows_what_cheats_reach_and_work_that_is_too_long_is_no_measure() -> None:
    made = table(gap(RUNGS[0], 0.0), gap(RUNGS[1], 0.3))
    assert [rung.distance for rung in made.rungs] == [MIN_DISTANCE, MAX_DISTANCE, MAX_DISTANCE]
    assert made.steps == RUNGS[0]
    assert MAX_DISTANCE < BLAME < LONG_BLAME


def test_a_run_of_short_work_adds_its_length_and_leaves_the_longer_ones() -> None:
    whole = tolerance_table([gap(16, 0.02), gap(24, 0.03), gap(32, 0.04), gap(64, 0.05)])
    short = tolerance_table([gap(1, 0.001), gap(10, 0.003)], whole)
    assert short["rungs"][0] == {"steps": 10, "distance": 0.07, "turn": 0.0049}
    assert (short["rungs"][1:], short["longer"]) == (whole["rungs"], whole["longer"])
    # A run of all lengths measures that one again.
    again = tolerance_table([gap(10, 0.02), gap(16, 0.03), gap(64, 0.05)], short)
    assert [rung["steps"] for rung in again["rungs"]] == [10, *RUNGS]
    assert again["rungs"][0]["distance"] == 0.08
    assert msgspec.convert(short, ToleranceTable).rungs[0].steps == 10


def test_the_summary_has_the_widest_gap_and_the_nearest_cheat_of_each_length() -> None:
    cheats = [Cheat("digits", 0, 1, 4, 0.6, 1.4), Cheat("digits", 0, 2, 4, 0.4, 1.5)]
    lines = list(summary([gap(4, 0.001), gap(4, 0.002)], cheats))
    assert ["2.0e-03" in lines[0], "0.40" in lines[1], len(lines)] == [True, True, 2]


def test_the_table_is_complete() -> None:
    assert [rung.steps for rung in tolerances.table().rungs if rung.steps >= RUNGS[0]] == list(RUNGS)
    assert tolerances.table().rungs[0].distance <= TELLING
