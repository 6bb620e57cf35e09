"""Wrong means and numbers are found, rounding is not."""

from __future__ import annotations

import math

import pytest

from backend.protocols.mesh.byzantine.checks import (
    doubted_parts,
    far_lengths,
    is_complete,
    measured_radius,
    next_radius,
    part_radius,
    wrong_checks,
)
from backend.wire.byzantine_bodies import CheckBody
from backend.wire.byzantine_messages import ByzantineTerms

FINE = [
    CheckBody([0.5, 1e-7], [1.0, 1.0]),
    CheckBody([-0.5, 0.0], [1.0, 5.0]),
    CheckBody([0.0, 0.0], [1.0, 1.0]),
]
RADII, FARTHEST = [1.0, 1.0], [4.0, 4.0]


def test_products_that_cancel_and_a_minority_far_away_are_not_doubted() -> None:
    assert doubted_parts(FINE, RADII, FARTHEST) == []


@pytest.mark.parametrize("product", [0.1, -0.1, math.inf, math.nan])
def test_products_that_do_not_cancel_are(product: float) -> None:
    assert doubted_parts([CheckBody([product, 0.0], [1.0, 1.0]), *FINE], RADII, FARTHEST) == [0]


def test_a_mean_far_from_most_pieces_is_doubted() -> None:
    far = CheckBody([0.0, 0.0], [1.0, 5.0])
    assert doubted_parts([far, far, FINE[2]], RADII, FARTHEST) == [1]


def test_numbers_are_finite_and_one_for_each_part() -> None:
    assert is_complete(FINE[0], 2)
    assert not is_complete(FINE[0], 3)
    assert not is_complete(CheckBody([0.0], [1.0, 1.0]), 2)
    assert not is_complete(CheckBody([0.0, math.nan], [1.0, 1.0]), 2)


def test_the_radius_is_the_median_of_the_parts_median_lengths_per_root_of_size() -> None:
    lengths = [[2.0, 6.0, 9.0], [4.0, 300.0, 9.0], [5.0, 9.0, 9.0]]
    checks = [CheckBody([0.0] * 3, one) for one in lengths]
    assert measured_radius(checks, [4, 9, 1]) == 3.0
    assert part_radius(2.0, 9) == 6.0


@pytest.mark.parametrize("told", [0.0, 1e9])
def test_owners_and_workers_that_lie_together_move_no_radius_beyond_honest_lengths(told: float) -> None:
    """Seven of fifteen move the means of their parts, of which all lengths are long, and hide it."""
    honest = [[1.0 + 0.01 * worker] * 8 + [1e9] * 7 for worker in range(8)]
    checks = [CheckBody([0.0] * 15, lengths) for lengths in [*honest, *[[1.0] * 8 + [told] * 7] * 7]]
    assert 1.0 <= measured_radius(checks, [1] * 15) <= 1.07


@pytest.mark.parametrize(
    ("radius", "measured", "following"),
    [(1.0, 1.01, 1.01), (1.0, 50.0, 1.02), (1.0, 0.02, 1 / 1.02), (0.0, 50.0, 50.0), (2.0, 0.0, 2.0)],
)
def test_the_radius_follows_what_is_measured_slowly(radius: float, measured: float, following: float) -> None:
    assert next_radius(radius, measured) == following


def test_a_measured_radius_grows_within_the_round_and_a_given_one_does_not() -> None:
    checks = [CheckBody([0.0] * 2, [20.0, 60.0])] * 3
    measured, given = ByzantineTerms(far=4.0), ByzantineTerms(far=4.0, radius=1.0)
    assert far_lengths(checks, [4, 9], measured, 1.0) == [4 * 2 * 15.0, 4 * 3 * 15.0]
    assert far_lengths(checks, [4, 9], measured, 16.0) == [4 * 2 * 16.0, 4 * 3 * 16.0]
    assert far_lengths(checks, [4, 9], given, 1.0) == [8.0, 12.0]


def test_who_says_another_number_than_its_piece_has_is_named() -> None:
    said = dict(zip("abc", FINE, strict=True))
    products = {client: check.products[0] for client, check in said.items()}
    lengths = {client: check.lengths[0] for client, check in said.items()}
    assert wrong_checks(said, 0, products, lengths) == []
    assert wrong_checks(said, 0, products | {"b": -0.5000001}, lengths) == ["b"]
    assert wrong_checks(said, 0, products, lengths | {"c": 2.0}) == ["c"]
