"""How many groups random attackers spoil: exact counts, certainties, and a simulation with real lots."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.numerics.aggregators.composition import minority
from backend.numerics.aggregators.group_tolerance import (
    chance_of_more,
    group_sizes,
    spoiled_groups,
    trade_off,
)
from backend.protocols.rounds.group_lots import draw_groups
from backend.protocols.rounds.lots import Lots

SPLITS = st.integers(1, 25).flatmap(
    lambda clients: st.tuples(st.just(clients), st.integers(1, clients), st.integers(0, clients))
)


@given(SPLITS)
def test_attackers_spoil_as_many_groups_as_they_are_at_most_and_as_few_as_hold_them(
    split: tuple[int, int, int],
) -> None:
    clients, groups, attackers = split
    chances = spoiled_groups(clients, groups, attackers)
    assert chances.shape == (groups + 1,)
    assert chances.sum() == pytest.approx(1.0)
    assert (chances >= 0.0).all()
    fewest, held = 0, 0
    for size in group_sizes(clients, groups):
        if held >= attackers:
            break
        fewest, held = fewest + 1, held + size
    assert not chances[:fewest].any()
    assert not chances[min(groups, attackers) + 1 :].any()
    assert chance_of_more(clients, groups, attackers, attackers) == 0.0


@given(SPLITS)
def test_more_attackers_never_spoil_fewer_groups(split: tuple[int, int, int]) -> None:
    clients, groups, attackers = split
    if attackers == clients:
        return
    for borne in range(groups):
        fewer = chance_of_more(clients, groups, attackers, borne)
        assert chance_of_more(clients, groups, attackers + 1, borne) >= fewer - 1e-9


@pytest.mark.parametrize(("clients", "groups"), [(7, 3), (9, 3), (8, 2), (10, 5), (6, 6)])
def test_the_probabilities_are_those_of_counting_all_splits(clients: int, groups: int) -> None:
    places = [group for group, size in enumerate(group_sizes(clients, groups)) for _ in range(size)]
    for attackers in range(clients + 1):
        counted = [0] * (groups + 1)
        for chosen in combinations(range(clients), attackers):
            counted[len({places[place] for place in chosen})] += 1
        exact = [float(Fraction(count, comb(clients, attackers))) for count in counted]
        assert spoiled_groups(clients, groups, attackers) == pytest.approx(exact, abs=1e-12)


def test_a_large_cohort_is_counted_without_overflow() -> None:
    chances = spoiled_groups(2000, 40, 30)
    assert np.isfinite(chances).all()
    assert chances.sum() == pytest.approx(1.0)
    # 30 of 2,000 are nearly independent draws: 40 (1 - (39 / 40)^30) groups in the mean.
    assert chances @ np.arange(41) == pytest.approx(40 * (1 - (39 / 40) ** 30), rel=0.01)


def test_drawn_lots_spoil_as_many_groups_as_stated() -> None:
    members, attackers = [f"client-{number}" for number in range(15)], {"client-3", "client-7", "client-9"}
    drawn, counts = 3000, np.zeros(6)
    for number in range(drawn):
        groups = draw_groups(members, 5, Lots(bytes(32)), f"groups/{number}")
        counts[sum(not attackers.isdisjoint(group) for group in groups)] += 1
    assert counts / drawn == pytest.approx(spoiled_groups(15, 5, 3), abs=0.03)


def test_the_trade_off_states_what_groups_give_and_cost() -> None:
    found = trade_off(16, 5, minority)
    assert (found.smallest, found.borne) == (3, 2)
    assert found.noise == pytest.approx(5**0.5)
    assert found.chance_of_twice == pytest.approx(chance_of_more(16, 5, 4, 2))
    assert trade_off(16, 1, minority).borne == 0
    assert trade_off(16, 16, minority).smallest == 1


@pytest.mark.parametrize(
    ("clients", "groups", "attackers", "sentence"),
    [(5, 6, 1, "5 clients cannot be split into 6"), (5, 0, 1, "into 0"), (5, 2, 6, "6 of 5 clients")],
)
def test_what_cannot_be_is_refused_with_the_numbers(
    clients: int, groups: int, attackers: int, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        spoiled_groups(clients, groups, attackers)
