"""What every rule of the table must hold, alone and behind each pre-aggregator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from backend.numerics.aggregators.composition import Aggregator, chain
from backend.numerics.aggregators.table import AGGREGATORS, PRE_AGGREGATORS, SPECS, AggregatorSpec
from backend.numerics.vectors import Vector64

ARGUMENTS: dict[str, float] = {"size": 2, "seed": 7, "limit": 2.0}
# Rules that depend on the order of updates: lots are drawn for places; equal diameters go to earlier updates.
ORDERED = ("bucketing", "mda")


@dataclass(frozen=True)
class Case:
    """A rule, or a rule behind a pre-aggregator."""

    rule: str
    before: str | None = None

    def __str__(self) -> str:
        return f"{self.before}+{self.rule}" if self.before else self.rule

    @property
    def specs(self) -> list[AggregatorSpec]:
        return [SPECS[name] for name in (self.before, self.rule) if name]

    def made(self, f: int) -> Aggregator:
        rule = AGGREGATORS[self.rule](*arguments(self.rule, f))
        if self.before is None:
            return rule
        return chain(PRE_AGGREGATORS[self.before](*arguments(self.before, f)), rule)


def arguments(name: str, f: int) -> list[float]:
    """What a factory needs."""
    needed = [f if taken == "f" else ARGUMENTS[taken] for taken in SPECS[name].takes]
    return [*needed, 0.0] if name == "flame" else needed  # Without noise.


CASES = [Case(rule) for rule in AGGREGATORS] + [
    Case(rule, before) for before in PRE_AGGREGATORS for rule in ("trimmed-mean", "krum", "geometric-median")
]
every_rule = pytest.mark.parametrize("case", CASES, ids=str)
quick = settings(max_examples=25, deadline=None)


@st.composite
def cohorts(draw: st.DrawFn, least: int = 1, most: int = 17) -> tuple[Vector64, int]:
    """Updates [n, size] around a common direction, and an f."""
    count, size = draw(st.integers(least, most)), draw(st.integers(2, 40))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    updates = random.standard_normal((count, size)) + draw(st.sampled_from((0.0, 0.5, 3.0)))
    return updates, draw(st.integers(0, 4))


def borne(case: Case, count: int, f: int) -> Aggregator:
    """The rule with the largest f up to `f` that it bears of so many updates."""
    while case.made(f).tolerance(count) < f:
        f -= 1
        assume(f >= 0)
    return case.made(f)


@every_rule
@quick
@given(cohort=cohorts(), data=st.data())
def test_the_order_of_updates_does_not_matter(
    case: Case, cohort: tuple[Vector64, int], data: st.DataObject
) -> None:
    if case.rule in ORDERED or case.before in ORDERED:
        return
    updates, f = cohort
    order = data.draw(st.permutations(range(len(updates))))
    rule = borne(case, len(updates), f)
    first, second = rule(updates), rule(updates[order])
    if case.rule == "krum" and len(updates) < 3:  # Equal scores: the earlier update wins.
        return
    np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-9)


@every_rule
@quick
@given(cohort=cohorts(), seed=st.integers(0, 99))
def test_adding_a_vector_to_all_adds_it_to_the_result(
    case: Case, cohort: tuple[Vector64, int], seed: int
) -> None:
    if not all(spec.moves_with for spec in case.specs):
        return
    updates, f = cohort
    shift = 100.0 * np.random.default_rng(seed).standard_normal(updates.shape[1])
    rule = borne(case, len(updates), f)
    np.testing.assert_allclose(rule(updates + shift), rule(updates) + shift, rtol=1e-7, atol=1e-5)


@every_rule
@quick
@given(cohort=cohorts(), power=st.integers(-20, 20))
def test_scaling_all_scales_the_result(case: Case, cohort: tuple[Vector64, int], power: int) -> None:
    if case.before == "static-clip":
        return
    updates, f = cohort
    scale = 2.0**power
    rule = borne(case, len(updates), f)
    np.testing.assert_allclose(rule(scale * updates), scale * rule(updates), rtol=1e-9, atol=1e-9 * scale)


@every_rule
@quick
@given(
    cohort=cohorts(least=3),
    size=st.sampled_from((10.0, 1e3, 1e6, 1e9, 1e30)),
    lie=st.sampled_from(("far", "apart", "copies", "reversed")),
    single=st.booleans(),
)
def test_f_outliers_move_it_no_farther_than_the_honest_differ(
    case: Case, cohort: tuple[Vector64, int], size: float, lie: str, single: bool
) -> None:
    honest, f = cohort
    rule = borne(case, len(honest), f)
    f = rule.f if any(spec.takes_f for spec in case.specs) else min(rule.tolerance(len(honest)), 4)
    event(f"f = {f}")
    updates = lies(honest, f, size, lie)
    if single:
        updates = updates.astype(np.float32)
    honest = honest[f:]
    radius = np.linalg.norm(honest - honest.mean(0), axis=1).max() + np.linalg.norm(honest, axis=1).max()
    # n <= 17: the constant of coordinate-wise rules grows with the root of n.
    assert np.linalg.norm(rule(updates) - honest.mean(0)) <= 20.0 * radius + 1e-6


def lies(honest: Vector64, f: int, size: float, lie: str) -> Vector64:
    """The updates, the first f of them false."""
    updates = honest.copy()
    if lie == "far":
        updates[:f] = size
    elif lie == "apart":
        updates[:f] = size * np.where(np.arange(honest.shape[1]) % 2, 1.0, -1.0) * (1 + np.arange(f))[:, None]
    elif lie == "copies":
        updates[:f] = honest.mean(0) + size * np.eye(honest.shape[1])[0]
    else:
        updates[:f] = -size * honest.mean(0)
    return updates


@every_rule
@quick
@given(count=st.integers(1, 12), f=st.integers(0, 4), value=st.sampled_from((0.0, -2.5, 1e-20)))
def test_equal_and_constant_updates_are_their_own_aggregate(
    case: Case, count: int, f: int, value: float
) -> None:
    if case.before == "static-clip":
        return
    updates = np.full((count, 5), value, np.float32)
    np.testing.assert_allclose(borne(case, count, f)(updates), updates[0], rtol=1e-6)


@every_rule
@quick
@given(cohort=cohorts(least=4), data=st.data())
def test_many_equal_updates_among_others_are_no_exception(
    case: Case, cohort: tuple[Vector64, int], data: st.DataObject
) -> None:
    updates, f = cohort
    copies = data.draw(st.integers(2, len(updates)))
    updates[:copies] = updates[0]
    result = borne(case, len(updates), f)(updates)
    low, high = min(updates.min(), 0.0), max(updates.max(), 0.0)
    assert (result >= low - 1e-9).all()
    assert (result <= high + 1e-9).all()


@every_rule
def test_one_update_is_its_own_aggregate_and_none_is_refused(case: Case) -> None:
    rule, update = borne(case, 1, 0), np.array([[0.3, -0.4, 0.5]], np.float32)
    np.testing.assert_allclose(rule(update), update[0], rtol=1e-6)
    with pytest.raises(ValueError, match="no update"):
        rule(update[:0])


@every_rule
@quick
@given(f=st.integers(1, 6))
def test_f_plus_1_updates_are_refused_with_the_numbers(case: Case, f: int) -> None:
    if not any(spec.takes_f for spec in case.specs):
        return
    rule = case.made(f)
    with pytest.raises(ValueError, match=f"f = {f} needs at least {rule.least} updates and got {f + 1}"):
        rule(np.zeros((f + 1, 4), np.float32))
    rule(np.zeros((rule.least, 4), np.float32))


@every_rule
@quick
@given(cohort=cohorts(least=2), value=st.sampled_from((np.nan, np.inf, -np.inf)), data=st.data())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_value_that_is_not_finite_is_refused_with_its_update(
    case: Case, dtype: type, cohort: tuple[Vector64, int], value: float, data: st.DataObject
) -> None:
    updates, f = cohort
    updates = updates.astype(dtype)
    bad = data.draw(st.integers(0, len(updates) - 1))
    updates[bad, data.draw(st.integers(0, updates.shape[1] - 1))] = value
    with pytest.raises(ValueError, match=f"Update {bad} of {len(updates)} holds NaN or infinity"):
        borne(case, len(updates), f)(updates)


@every_rule
@quick
@given(cohort=cohorts())
def test_updates_are_only_read_and_may_be_a_list(case: Case, cohort: tuple[Vector64, int]) -> None:
    updates, f = cohort
    rule = borne(case, len(updates), f)
    updates.setflags(write=False)
    before = updates.copy()
    first = rule(updates)
    np.testing.assert_array_equal(updates, before)
    np.testing.assert_allclose(rule(list(updates)), first, rtol=1e-12, atol=1e-12)
    assert first.dtype == np.float64
    np.testing.assert_array_equal(first, rule(updates))  # It keeps no state.


@every_rule
@quick
@given(count=st.integers(1, 9))
def test_updates_without_values_have_an_aggregate_without_values(case: Case, count: int) -> None:
    assert borne(case, count, 2)(np.zeros((count, 0), np.float32)).shape == (0,)


@every_rule
@quick
@given(cohort=cohorts(least=3), seed=st.integers(0, 99))
def test_scaling_all_weights_changes_nothing(case: Case, cohort: tuple[Vector64, int], seed: int) -> None:
    updates, f = cohort
    rule = borne(case, len(updates), f)
    weights = np.random.default_rng(seed).uniform(1, 9, len(updates))
    np.testing.assert_allclose(
        rule(updates, weights.tolist()), rule(updates, (3 * weights).tolist()), rtol=1e-6, atol=1e-9
    )
    if not any(spec.weights for spec in case.specs):
        np.testing.assert_array_equal(rule(updates, weights.tolist()), rule(updates))
