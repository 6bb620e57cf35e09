"""Each rule against its definition, written the slow way, on updates of many blocks and threads."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.numerics.aggregators.centre_rules import centered_clip, geometric_median
from backend.numerics.aggregators.column_blocks import JOB_COLUMNS
from backend.numerics.aggregators.composition import chain
from backend.numerics.aggregators.coordinate_rules import meamed, median, trimmed_mean
from backend.numerics.aggregators.mean_rules import mean, norm_clip
from backend.numerics.aggregators.pre_aggregators import arc, bucketing, nnm, static_clip
from backend.numerics.aggregators.selection_rules import bulyan, krum, multi_krum
from backend.numerics.aggregators.table import AGGREGATORS, PRE_AGGREGATORS, SPECS
from backend.numerics.vectors import Vector, Vector64

Many = NDArray[np.float64]


@pytest.fixture(scope="module")
def updates() -> Vector:
    """Eleven updates of two jobs, of which three are false."""
    rows = np.random.default_rng(5).standard_normal((11, JOB_COLUMNS + 12_345), np.float32)
    rows[2:5] += np.float32(3.0)
    return rows


def distances(rows: Many) -> Many:
    return np.array([[np.linalg.norm(x - y) for y in rows] for x in rows])


def near_median(rows: Many, keep: int) -> Vector64:
    order = np.argsort(np.abs(rows - np.median(rows, axis=0)), axis=0, kind="stable")[:keep]
    mean_of_near: Vector64 = np.take_along_axis(rows, order, axis=0).mean(axis=0)
    return mean_of_near


def mixed(rows: Many, f: int) -> Many:
    nearest = np.argsort(distances(rows), axis=1)[:, : len(rows) - f]
    return np.array([rows[numbers].mean(axis=0) for numbers in nearest])


def test_the_coordinate_rules(updates: Vector) -> None:
    wide = updates.astype(np.float64)
    ordered = np.sort(wide, axis=0)
    np.testing.assert_allclose(mean()(updates), wide.mean(axis=0), atol=1e-5)
    np.testing.assert_array_equal(median()(updates), np.median(updates, axis=0))
    np.testing.assert_allclose(median()(updates[:10]), np.median(wide[:10], axis=0), atol=1e-5)
    np.testing.assert_allclose(trimmed_mean(3)(updates), ordered[3:-3].mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(meamed(3)(updates), near_median(wide, 8), atol=1e-5)


def test_the_rules_on_distances(updates: Vector) -> None:
    part = updates[:, :2000]
    wide = part.astype(np.float64)
    scores = np.sort(distances(wide) ** 2, axis=1)[:, 1:7].sum(axis=1)  # f = 3: 6 neighbours
    np.testing.assert_array_equal(krum(3)(part), part[scores.argmin()])
    best = np.argsort(scores)
    np.testing.assert_allclose(multi_krum(3)(part), wide[best[:8]].mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(multi_krum(3, keep=2)(part), wide[best[:2]].mean(axis=0), atol=1e-6)
    left = list(range(11))
    chosen = []
    for _ in range(7):  # Bulyan with f = 2
        squares = distances(wide[left]) ** 2
        scores = np.sort(squares, axis=1)[:, 1 : len(left) - 3].sum(axis=1)
        # Two updates that are each other's only neighbour score the same: the one nearer to all wins.
        chosen.append(left.pop(int(np.lexsort((squares.sum(axis=1), np.round(scores, 9)))[0])))
    np.testing.assert_allclose(bulyan(2)(part), near_median(wide[sorted(chosen)], 3), atol=1e-6)


def test_the_geometric_median_has_no_descent(updates: Vector) -> None:
    part = updates[:, :300].astype(np.float64)
    weights = np.arange(1.0, 12.0)
    found = geometric_median()(part, weights.tolist())
    away = part - found
    pull = (weights / np.linalg.norm(away, axis=1)) @ away
    assert np.linalg.norm(pull) < 1e-4 * weights.sum()


def test_centered_clip_from_a_start_and_with_a_radius(updates: Vector) -> None:
    part = updates[:, :400].astype(np.float64)
    start = np.full(400, 0.1)
    centre = start
    for _ in range(3):
        away = part - centre
        norms = np.linalg.norm(away, axis=1)[:, None]
        centre = centre + (away * np.minimum(1.0, 4.0 / norms)).mean(axis=0)
    found = centered_clip(radius=4.0, iterations=3, start=start)(part)
    np.testing.assert_allclose(found, centre, atol=1e-12)
    found = chain(nnm(3), centered_clip(radius=4.0, iterations=3, start=start))(part)
    other = centered_clip(radius=4.0, iterations=3, start=start)(mixed(part, 3))
    np.testing.assert_allclose(found, other, atol=1e-12)


def test_norms_are_clipped_to_their_median(updates: Vector) -> None:
    part = updates[:, :400].astype(np.float64)
    norms = np.linalg.norm(part, axis=1)
    factors = np.minimum(1.0, np.median(norms) / norms)
    np.testing.assert_allclose(norm_clip()(part), (factors[:, None] * part).mean(axis=0), atol=1e-12)


def test_the_pre_aggregators(updates: Vector) -> None:
    part = updates[:, :400].astype(np.float64)
    norms = np.linalg.norm(part, axis=1)
    np.testing.assert_allclose(
        chain(nnm(3), trimmed_mean(3))(part), np.sort(mixed(part, 3), axis=0)[3:-3].mean(axis=0), atol=1e-12
    )
    limit = np.sort(norms)[11 - 2 * 3 * 8 // 11 - 1]
    cut = part * np.minimum(1.0, limit / norms)[:, None]
    np.testing.assert_allclose(chain(arc(3), median())(part), np.median(cut, axis=0), atol=1e-12)
    expected = np.sort(mixed(cut, 3), axis=0)[3:-3].mean(axis=0)
    np.testing.assert_allclose(chain(arc(3), nnm(3), trimmed_mean(3))(part), expected, atol=1e-12)
    clipped = part * np.minimum(1.0, 5.0 / norms)[:, None]
    np.testing.assert_allclose(chain(static_clip(5.0), mean())(part), clipped.mean(axis=0), atol=1e-12)
    order = np.random.default_rng(9).permutation(11)
    buckets = np.array([part[order[first : first + 2]].mean(axis=0) for first in range(0, 11, 2)])
    np.testing.assert_allclose(
        chain(bucketing(2, seed=9), median())(part), np.median(buckets, axis=0), atol=1e-12
    )


def test_weights_count_where_a_rule_says_so(updates: Vector) -> None:
    part, weights = updates[:, :200].astype(np.float64), [1.0, 2.0, 5.0, *[1.0] * 8]
    expected = np.average(part, axis=0, weights=weights)
    np.testing.assert_allclose(mean()(part, weights), expected, atol=1e-12)
    np.testing.assert_allclose(chain(bucketing(3, seed=1), mean())(part, weights), expected, atol=1e-12)
    for bad in ([1.0] * 10, [0.0] + [1.0] * 10, [float("nan")] * 11):
        with pytest.raises(ValueError, match="positive and finite"):
            mean()(part, bad)


def test_what_is_no_cohort_is_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        mean()([np.zeros(3, np.float32), np.zeros(4, np.float32)])
    with pytest.raises(ValueError, match="one length"):
        mean()(np.zeros((2, 2, 2), np.float32))
    with pytest.raises(ValueError, match="float32 or float64"):
        mean()(np.zeros((2, 2), np.int32))
    with pytest.raises(ValueError, match="ends it"):
        chain(nnm(1))
    with pytest.raises(ValueError, match="ends it"):
        chain(mean(), mean())
    for f in (-1, 1.5, True):
        with pytest.raises(ValueError, match="whole number"):
            krum(f)  # type: ignore[arg-type]
    for make in (
        lambda: geometric_median(smoothing=0.0),
        lambda: centered_clip(radius=-1.0),
        lambda: centered_clip(iterations=0),
        lambda: static_clip(0.0),
        lambda: bucketing(0, 1),
        lambda: multi_krum(1, keep=0),
        lambda: krum(1, neighbours=0),
        lambda: centered_clip(start=np.zeros(3))(np.zeros((2, 4))),
        lambda: multi_krum(1, keep=5)(np.zeros((5, 4))),
    ):
        with pytest.raises(ValueError, match=r"positive|least one|at most 4|shape"):
            make()


def test_the_table_has_a_spec_for_each_rule_and_its_numbers_fit() -> None:
    assert SPECS.keys() == {*AGGREGATORS, *PRE_AGGREGATORS}
    for name, factory in AGGREGATORS.items():
        spec = SPECS[name]
        for count in range(1, 40):
            f = spec.tolerance(count)
            rule = factory(*[{"f": f, "seed": 1}[taken] for taken in spec.takes])
            assert rule.tolerance(count) == f
            rule.check(count)
            assert not spec.takes_f or (rule.least == spec.least(f) and rule.f == f)
        assert factory.__doc__ is not None
    assert SPECS["krum"].least(3) == 9
    assert SPECS["bulyan"].least(2) == 11
    assert SPECS["mean"].least(1) is None


def test_a_chain_bears_what_reaches_each_step() -> None:
    assert chain(bucketing(2, seed=0), median()).tolerance(10) == 2
    assert chain(nnm(2), krum(2)).tolerance(10) == 3
    assert chain(arc(2), mean()).tolerance(10) == 0
    assert chain(nnm(3), trimmed_mean(2)).least == 7
    with pytest.raises(ValueError, match=r"nnm \+ mean bears f = 1 at no number"):
        chain(nnm(1), mean())(np.zeros((5, 2)))
