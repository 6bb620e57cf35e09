"""The rule that leaves out the updates farthest out along their first principal component."""

from __future__ import annotations

import numpy as np
import pytest

from backend.numerics.aggregators.selection_rules import dnc
from backend.numerics.vectors import Vector64

SIZE, LIARS, HONEST = 400, 3, 7


def honest() -> Vector64:
    random = np.random.default_rng(3)
    rows: Vector64 = random.standard_normal(SIZE) + random.standard_normal((HONEST, SIZE))
    return rows


def pulling(share: float) -> Vector64:
    """As long as honest updates and as near to their mean, of which a share lies in one common direction."""
    random = np.random.default_rng(4)
    rows, common = honest(), random.standard_normal(SIZE)
    own = random.standard_normal((LIARS, SIZE))
    lies: Vector64 = rows.mean(axis=0) + np.sqrt(share) * common + np.sqrt(1.0 - share) * own
    return lies


def test_it_is_the_mean_without_the_largest_projections_on_the_first_singular_vector() -> None:
    rows = np.random.default_rng(5).standard_normal((11, SIZE))
    rows[:4] += np.linspace(0.5, 2.0, SIZE)
    weights = np.arange(1.0, 12.0)
    centred = rows - rows.mean(axis=0)
    projections = centred @ np.linalg.svd(centred)[2][0]
    kept = np.argsort(np.abs(projections))[:7]
    expected = np.average(rows[kept], axis=0, weights=weights[kept])
    np.testing.assert_allclose(dnc(4)(rows, weights.tolist()), expected, atol=1e-12)


@pytest.mark.parametrize("share", [1.0, 0.8, 0.6])
def test_liars_that_pull_together_are_left_out_however_inconspicuous_each_is(share: float) -> None:
    rows = honest()
    updates = np.concatenate([pulling(share), rows])
    np.testing.assert_allclose(dnc(LIARS)(updates), rows.mean(axis=0), atol=1e-12)


def test_huge_updates_do_not_choose_the_direction_for_the_others() -> None:
    """Each alone would be the first component, on which the other two are nowhere."""
    rows = honest()
    liars = np.zeros((LIARS, SIZE))
    liars[0, 0], liars[1, 1], liars[2, 2] = 1e12, -1e8, 1e4
    np.testing.assert_allclose(dnc(LIARS)(np.concatenate([liars, rows])), rows.mean(axis=0), atol=1e-9)


def test_no_more_than_f_are_left_out_however_many_are_far() -> None:
    rows = honest()
    updates = np.concatenate([rows, 1e6 * np.eye(SIZE)[:LIARS]])
    found = dnc(2)(updates)
    np.testing.assert_allclose(found, np.concatenate([rows, updates[HONEST : HONEST + 1]]).mean(axis=0))
