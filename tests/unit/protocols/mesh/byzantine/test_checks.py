"""Wrong means and numbers are found, rounding is not."""

from __future__ import annotations

import math

import pytest

from backend.protocols.mesh.byzantine.checks import (
    doubted_parts,
    is_complete,
    measured_radius,
    part_radius,
    wrong_checks,
)
from backend.wire.byzantine_bodies import CheckBody

FINE = [
    CheckBody([0.5, 1e-7], [1.0, 1.0]),
    CheckBody([-0.5, 0.0], [1.0, 5.0]),
    CheckBody([0.0, 0.0], [1.0, 1.0]),
]
RADII = [1.0, 1.0]


def test_products_that_cancel_and_a_minority_far_away_are_not_doubted() -> None:
    assert doubted_parts(FINE, RADII, 4.0) == []


@pytest.mark.parametrize("product", [0.1, -0.1, math.inf, math.nan])
def test_products_that_do_not_cancel_are(product: float) -> None:
    assert doubted_parts([CheckBody([product, 0.0], [1.0, 1.0]), *FINE], RADII, 4.0) == [0]


def test_a_mean_far_from_most_pieces_is_doubted() -> None:
    far = CheckBody([0.0, 0.0], [1.0, 5.0])
    assert doubted_parts([far, far, FINE[2]], RADII, 4.0) == [1]


def test_numbers_are_finite_and_one_for_each_part() -> None:
    assert is_complete(FINE[0], 2)
    assert not is_complete(FINE[0], 3)
    assert not is_complete(CheckBody([0.0], [1.0, 1.0]), 2)
    assert not is_complete(CheckBody([0.0, math.nan], [1.0, 1.0]), 2)


def test_the_radius_is_the_median_length_per_root_of_size() -> None:
    checks = [CheckBody([0.0, 0.0], [2.0, 6.0]), CheckBody([0.0, 0.0], [4.0, 300.0])]
    assert measured_radius(checks, [4, 9]) == 2.0
    assert part_radius(2.0, 9) == 6.0


def test_who_says_another_number_than_its_piece_has_is_named() -> None:
    said = dict(zip("abc", FINE, strict=True))
    products = {client: check.products[0] for client, check in said.items()}
    lengths = {client: check.lengths[0] for client, check in said.items()}
    assert wrong_checks(said, 0, products, lengths) == []
    assert wrong_checks(said, 0, products | {"b": -0.5000001}, lengths) == ["b"]
    assert wrong_checks(said, 0, products, lengths | {"c": 2.0}) == ["c"]
