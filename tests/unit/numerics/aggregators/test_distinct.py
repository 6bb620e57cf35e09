"""Copies of an update count once, and the rule that follows is made for fewer false ones."""

from __future__ import annotations

import numpy as np
import pytest

from backend.numerics.aggregators.composition import chain
from backend.numerics.aggregators.coordinate_rules import meamed, trimmed_mean
from backend.numerics.aggregators.least_diameter import mda
from backend.numerics.aggregators.mean_rules import mean
from backend.numerics.aggregators.pre_aggregators import distinct, nnm
from backend.numerics.aggregators.selection_rules import krum, multi_krum
from backend.numerics.vectors import Vector64

SIZE, COPIES = 300, 3
RULE = chain(distinct(), mean())


def honest(common: float, count: int = 7) -> Vector64:
    random = np.random.default_rng(4)
    rows: Vector64 = common * random.standard_normal(SIZE) + random.standard_normal((count, SIZE))
    return rows


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.1])
def test_copies_count_once(noise: float) -> None:
    random, rows = np.random.default_rng(5), honest(0.5)
    lie = -2.0 * rows.mean(axis=0)
    spread = noise * np.linalg.norm(lie) / SIZE**0.5
    copies = lie + spread * random.standard_normal((COPIES, SIZE))
    expected = np.concatenate([rows, [copies.mean(axis=0)]]).mean(axis=0)
    np.testing.assert_allclose(RULE(np.concatenate([copies, rows])), expected, atol=1e-12)


def test_an_honest_update_that_others_copy_counts_once() -> None:
    rows = honest(0.5)
    copied = np.concatenate([np.tile(rows[2], (COPIES, 1)), rows])
    np.testing.assert_allclose(RULE(copied), rows.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("common", [0.0, 1.0, 100.0])
def test_honest_updates_are_no_copies_however_alike_they_are(common: float) -> None:
    rows = honest(common)
    np.testing.assert_allclose(RULE(rows), rows.mean(axis=0), atol=1e-10)


def test_free_riders_who_send_next_to_nothing_count_once() -> None:
    rows = honest(0.5)
    nothing = 0.01 * np.random.default_rng(6).standard_normal((COPIES, SIZE))
    expected = np.concatenate([rows, [nothing.mean(axis=0)]]).mean(axis=0)
    np.testing.assert_allclose(RULE(np.concatenate([nothing, rows])), expected, atol=1e-12)


def test_the_rule_that_follows_bears_the_false_updates_that_are_no_copies() -> None:
    """Three copies are two false ones that were found: one is to be borne of eight."""
    rows = honest(0.5)
    updates = np.concatenate([np.tile(50.0 * rows[0], (COPIES, 1)), rows])
    once = updates[COPIES - 1 :]
    found = chain(distinct(), nnm(COPIES), trimmed_mean(COPIES))(updates)
    np.testing.assert_allclose(found, chain(nnm(1), trimmed_mean(1))(once), atol=1e-12)
    for rule in (krum, multi_krum, meamed, mda):
        np.testing.assert_allclose(chain(distinct(), rule(COPIES))(updates), rule(1)(once), atol=1e-12)


def test_more_copies_than_false_updates_to_bear_leave_none() -> None:
    rows = honest(0.5)
    updates = np.concatenate([np.tile(rows[0], (COPIES, 1)), rows])
    np.testing.assert_allclose(chain(distinct(), trimmed_mean(1))(updates), rows.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("factor", [10.0, 1e6])
def test_updates_far_away_do_not_make_copies_of_the_others(factor: float) -> None:
    rows = honest(0.5, 10)
    rows[:COPIES] *= factor
    np.testing.assert_allclose(RULE(rows), rows.mean(axis=0), rtol=1e-9, atol=1e-9)


def test_updates_that_are_all_equal_keep_their_mean() -> None:
    same = np.tile(honest(0.5)[0], (5, 1))
    np.testing.assert_allclose(RULE(same), same[0], atol=1e-12)
    np.testing.assert_array_equal(RULE(np.zeros((4, 3))), np.zeros(3))


def test_copies_weigh_as_much_as_one_of_them_on_average() -> None:
    rows = honest(0.5, 3)
    given = np.concatenate([rows[:1], rows])
    expected = np.average(rows, axis=0, weights=[3.0, 1.0, 4.0])
    np.testing.assert_allclose(RULE(given, [2.0, 4.0, 1.0, 4.0]), expected, atol=1e-12)
