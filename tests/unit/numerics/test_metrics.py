"""Metrics from numerators and denominators."""

from __future__ import annotations

import pytest

from backend.numerics.metrics import METRICS

CASES = [
    ("ratio", [(3.0, 4.0)], 0.75),
    ("ratio", [(0.0, 0.0)], 0.0),
    ("root", [(18.0, 2.0)], 3.0),
    ("root", [(-1e-9, 2.0)], 0.0),
    ("sum", [(7.0, 0.0)], 7.0),
    ("mean", [(1.0, 2.0), (0.0, 0.0), (3.0, 3.0)], 0.75),
    ("mean", [(0.0, 0.0), (0.0, 0.0)], 0.0),
    # By trapezoids: (2 - 1) * (4 + 3) + (1 - 0) * (3 + 0) over twice 4 * 2.
    ("auc", [(4.0, 2.0), (3.0, 1.0), (0.0, 0.0)], 10.0 / 16.0),
    ("auc", [(4.0, 0.0), (0.0, 0.0)], 0.0),
]


@pytest.mark.parametrize(("kind", "pairs", "value"), CASES)
def test_a_kind_makes_its_value_of_the_pairs(
    kind: str, pairs: list[tuple[float, float]], value: float
) -> None:
    assert METRICS[kind](pairs) == pytest.approx(value, abs=1e-12)


def test_every_kind_has_a_case() -> None:
    assert {kind for kind, _, _ in CASES} == set(METRICS)


def test_a_perfect_ranking_has_the_area_one_and_a_reversed_one_zero() -> None:
    assert METRICS["auc"]([(5.0, 5.0), (5.0, 0.0), (0.0, 0.0)]) == 1.0
    assert METRICS["auc"]([(5.0, 5.0), (0.0, 5.0), (0.0, 0.0)]) == 0.0
