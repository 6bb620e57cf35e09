"""The clipped mean of a part, and the products that prove it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.numerics.butterfly.clipped_mean import clip_factor, clipped_mean, distance, distances
from backend.numerics.butterfly.lane_sums import LANES, lane_sums
from backend.numerics.butterfly.projection import projection_product
from backend.numerics.vectors import Vector
from tests.contract.vectors.mesh.make_butterfly import drawn

GOLDEN = json.loads(
    (Path(__file__).parents[3] / "contract" / "vectors" / "butterfly.json").read_text("utf-8")
)
MEMBERS, LIARS, SIZE = 16, 7, 5615


def honest(size: int = SIZE) -> Vector:
    random = np.random.default_rng(3)
    rows: Vector = (random.standard_normal(size) + random.standard_normal((MEMBERS, size))).astype(np.float32)
    return rows


def usual(rows: Vector) -> float:
    return float(np.median(distances(rows, rows.mean(axis=0))))


def attacked(lie: float) -> Vector:
    rows = honest()
    rows[:LIARS] = np.float32(lie) * rows[LIARS:].mean(axis=0)
    return rows


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['members']}x{case['values']}")
def test_it_is_where_clipped_differences_add_up_to_zero(case: dict[str, Any]) -> None:
    pieces = drawn(case["seed"], case["members"], case["liars"], case["values"])
    made = clipped_mean(pieces, case["radius"])
    factors = np.array([clip_factor(length, case["radius"]) for length in made.lengths])
    rest = factors @ (pieces.astype(np.float64) - made.mean)
    assert np.linalg.norm(rest) < 1e-3 * case["radius"]
    np.testing.assert_allclose(made.lengths, np.linalg.norm(pieces - made.mean, axis=1), rtol=1e-5)


@pytest.mark.parametrize("lie", [-1000.0, -0.6, 0.0, 1e6])
def test_seven_liars_of_sixteen_move_it_less_than_two_radii(lie: float) -> None:
    rows, radius = attacked(lie), usual(honest())
    middle = rows[LIARS:].mean(axis=0)
    assert np.linalg.norm(clipped_mean(rows, radius).mean - middle) < 2.0 * radius
    if abs(lie) > 1.0:
        assert np.linalg.norm(rows.mean(axis=0) - middle) > 100.0 * radius


def test_without_anything_to_clip_it_is_the_mean() -> None:
    rows = honest()
    made = clipped_mean(rows, 1e3)
    assert made.turns <= 2
    np.testing.assert_allclose(made.mean, rows.astype(np.float64).mean(axis=0), atol=1e-6)


@pytest.mark.parametrize("lie", [1.0, -1000.0, -0.6])
@pytest.mark.parametrize("size", [1, LANES, SIZE])
def test_products_with_the_random_vector_add_up_to_zero(lie: float, size: int) -> None:
    rows = attacked(lie)[:, :size].copy()
    radius = usual(honest(size))
    made = clipped_mean(rows, radius)
    for coin in range(20):
        products = [projection_product(row, made.mean, radius, coin, 3) for row in rows]
        assert abs(sum(products)) < 1e-5 * radius


@pytest.mark.parametrize("places", [1, 2, SIZE])
def test_a_false_mean_is_exposed_however_few_values_are_wrong(places: int) -> None:
    """Moved by a hundredth of the radius, in one value, two equal ones, or all."""
    rows, radius = honest(), 3.0 * usual(honest())
    wrong = clipped_mean(rows, radius).mean.copy()
    chosen = np.random.default_rng(4).choice(SIZE, places, replace=False)
    wrong[chosen] += np.float32(0.01 * radius / np.sqrt(places))
    for coin in range(200):
        products = [projection_product(row, wrong, radius, coin, 0) for row in rows]
        assert abs(sum(products)) > 1e-5 * radius


def test_lane_sums_have_a_fixed_order() -> None:
    values = np.random.default_rng(1).standard_normal(3 * LANES + 17)
    padded = np.concatenate([values, np.zeros(LANES - 17)]).reshape(-1, LANES)
    expected = [0.0] * LANES
    for row in padded:
        expected = [total + float(value) for total, value in zip(expected, row, strict=True)]
    total = 0.0
    for lane in expected:
        total += lane
    assert lane_sums(values[None]) == [total]
    assert lane_sums(np.zeros((1, 0))) == [0.0]


@pytest.mark.parametrize("size", [0, 1, LANES, LANES + 1, SIZE, 70_000])
def test_distances_of_many_pieces_have_the_bits_of_single_ones(size: int) -> None:
    rows = honest(size) * np.float32(1e3)
    assert distances(rows, rows[0]) == [distance(row, rows[0]) for row in rows]


@pytest.mark.parametrize("radius", [0.0, -1.0, float("nan"), float("inf")])
def test_no_radius_and_no_pieces_are_refused(radius: float) -> None:
    with pytest.raises(ValueError, match="no clipped mean"):
        clipped_mean(honest(4), radius)
    with pytest.raises(ValueError, match="no clipped mean"):
        clipped_mean(np.zeros((0, 4), np.float32), 1.0)
