"""The table of what may lie between backends is what was measured, with its margin."""

from __future__ import annotations

import itertools
import json
from typing import Any

import msgspec
import pytest

from backend.server.units.validation.tolerances import BLAME, ToleranceTable
from backend.server.units.validation.tolerances import table as tolerance_table
from benchmarks.units.tolerance import (
    BACKENDS,
    FEW_STEPS,
    MARGIN,
    MAX_DISTANCE,
    MIN_DISTANCE,
    NATIVE,
    Gap,
    table,
)

SIDES = sorted((*BACKENDS, NATIVE))


def gap(first: str, second: str, distance: float) -> Gap:
    return Gap("digits", 0, 16, first, second, distance, distance**2)


def test_pairs_have_their_own_gap_and_one_backend_that_to_the_farthest_other() -> None:
    made = table([gap("a", "b", 0.003), gap("a", "b", 0.004), gap("b", "c", 0.005), gap("a", "c", 1e-7)])
    read = msgspec.convert(made, ToleranceTable)
    found: dict[Any, float] = {pair.backends: pair.distance for pair in read.pairs}
    assert found == pytest.approx(
        {
            ("a", "a"): MARGIN * 0.004,
            ("a", "b"): MARGIN * 0.004,
            ("a", "c"): MIN_DISTANCE,
            ("b", "b"): MARGIN * 0.005,
            ("b", "c"): MARGIN * 0.005,
            ("c", "c"): MARGIN * 0.005,
        }
    )
    assert read.other.distance == pytest.approx(MARGIN * 0.005)
    assert all(pair.turn == pytest.approx(pair.distance**2, rel=0.01) for pair in read.pairs)


def test_no_table_allows_what_cheats_reach() -> None:
    read = msgspec.convert(table([gap("a", "b", 0.3)]), ToleranceTable)
    assert [pair.distance for pair in read.pairs] == [MAX_DISTANCE] * 3
    assert MAX_DISTANCE < BLAME


def test_long_plans_have_a_measure_of_their_own() -> None:
    far = Gap("cifar10", 0, FEW_STEPS + 1, "a", "b", 0.02, 0.0004)
    read = msgspec.convert(table([gap("a", "b", 0.003), far]), ToleranceTable)
    assert read.steps == FEW_STEPS
    assert read.other.distance == pytest.approx(MARGIN * 0.003)
    assert read.longer.distance == pytest.approx(MARGIN * 0.02)


def test_every_two_backends_were_measured() -> None:
    pairs = {pair.backends for pair in tolerance_table().pairs}
    assert pairs == set(itertools.combinations_with_replacement(SIDES, 2))
    assert json.loads(msgspec.json.encode(tolerance_table()))["other"]["backends"] == ["*", "*"]
