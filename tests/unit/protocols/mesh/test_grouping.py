from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.protocols.mesh.grouping import ALIGNED, MIXING, Links, choose_exchange, form_groups, part_bounds

KINDS = ("random", "grid", "near")
each_kind = pytest.mark.parametrize("kind", KINDS)


def named(count: int) -> list[str]:
    return [f"{number:016x}" for number in range(count)]


def two_towns(peers: list[str]) -> Links:
    """Peers with even numbers are near one another, and so are those with odd ones."""
    return {
        (one, other): (0.01 if (int(one, 16) - int(other, 16)) % 2 == 0 else 0.3, 0.0)
        for one, other in combinations(peers, 2)
    }


def slowest(groups: list[list[str]], links: Links) -> float:
    return max(links[pair][0] for group in groups for pair in combinations(sorted(group), 2))


@each_kind
@given(
    count=st.integers(2, 70), most=st.integers(2, 12), seed=st.integers(0, 2**40), number=st.integers(1, 50)
)
def test_everybody_is_in_one_group_and_nobody_is_alone(
    kind: str, count: int, most: int, seed: int, number: int
) -> None:
    peers = named(count)
    groups = form_groups(kind, peers, most, seed, number, two_towns(peers), 0)
    assert sorted(peer for group in groups for peer in group) == peers
    assert min(map(len, groups)) >= 2
    assert max(map(len, groups)) <= (most if most > 2 else 3)
    if kind != "grid":
        assert max(map(len, groups)) - min(map(len, groups)) <= 1


@each_kind
@given(count=st.integers(3, 70), most=st.integers(3, 12), seed=st.integers(0, 2**40))
def test_where_three_are_needed_no_group_has_fewer(kind: str, count: int, most: int, seed: int) -> None:
    peers = named(count)
    for number in range(1, 4):
        groups = form_groups(kind, peers, most, seed, number, two_towns(peers), 0, 3)
        assert sorted(peer for group in groups for peer in group) == peers
        assert min(map(len, groups)) >= 3
        assert max(map(len, groups)) <= max(most, 5)


@each_kind
def test_two_make_no_group_where_three_are_needed(kind: str) -> None:
    assert form_groups(kind, ["a", "b"], 8, 1, 1, {}, 0, 3) == []


@each_kind
def test_one_peer_makes_no_group(kind: str) -> None:
    assert form_groups(kind, ["a"], 8, 1, 1, {}, 0) == []
    assert form_groups(kind, [], 8, 1, 1, {}, 0) == []


@each_kind
def test_groups_depend_on_who_is_here_and_not_on_their_order(kind: str) -> None:
    peers = named(30)
    groups = form_groups(kind, peers, 8, 5, 3, two_towns(peers), 10)
    assert groups == form_groups(kind, peers[::-1], 8, 5, 3, two_towns(peers), 10)


def test_random_groups_are_others_each_round() -> None:
    peers = named(30)
    assert form_groups("random", peers, 8, 5, 3, {}, 0) != form_groups("random", peers, 8, 5, 4, {}, 0)


@pytest.mark.parametrize(("most", "axes"), [(8, 2), (4, 3), (2, 6), (64, 1)])
def test_a_full_grid_has_the_mean_of_all_after_as_many_rounds_as_axes(most: int, axes: int) -> None:
    peers = named(64)
    numbers = {peer: float(place) for place, peer in enumerate(peers)}
    for number in range(3, 3 + axes):
        for group in form_groups("grid", peers, most, 9, number, {}, 0):
            numbers.update(dict.fromkeys(group, sum(numbers[peer] for peer in group) / len(group)))
    assert set(numbers.values()) == {31.5}


def test_near_groups_are_of_one_town_but_for_every_fourth_round() -> None:
    peers = named(32)
    links = two_towns(peers)
    for number in range(1, 13):
        groups = form_groups("near", peers, 8, 2, number, links, 0)
        assert slowest(groups, links) == (0.3 if number % MIXING == 0 else 0.01)


def test_near_groups_of_the_same_town_are_others_each_round() -> None:
    peers = named(32)
    met = {
        frozenset(group)
        for number in (1, 2, 3)
        for group in form_groups("near", peers, 8, 2, number, two_towns(peers), 0)
    }
    assert len(met) == 12


def test_slow_lines_are_put_together_where_much_is_sent() -> None:
    peers = named(16)
    slow = set(peers[:8])
    links = {
        (one, other): (0.02, 1e5 if {one, other} & slow else 1e7) for one, other in combinations(peers, 2)
    }
    together = form_groups("near", peers, 8, 1, 1, links, 1_000_000)
    assert {frozenset(group) for group in together} == {frozenset(slow), frozenset(peers[8:])}


def test_without_any_measures_near_groups_are_random() -> None:
    peers = named(20)
    assert form_groups("near", peers, 5, 1, 1, {}, 9) == form_groups("random", peers, 5, 1, 1, {}, 9)


def seconds_of(bounds: list[int], rates: list[float]) -> list[float]:
    """What each member sends, in values, by its rate: its pieces, and its means to all others."""
    members, values = len(rates), bounds[-1]
    parts = [end - start for start, end in pairwise(bounds)]
    return [(values + (members - 2) * part) / rate for part, rate in zip(parts, rates, strict=True)]


RATES = st.lists(st.floats(1e4, 1e9), min_size=2, max_size=12)


@given(values=st.integers(1, 5_000_000), rates=RATES)
def test_parts_follow_one_another_and_cover_all(values: int, rates: list[float]) -> None:
    bounds = part_bounds(values, rates)
    assert len(bounds) == len(rates) + 1
    assert (bounds[0], bounds[-1]) == (0, values)
    parts = [end - start for start, end in pairwise(bounds)]
    assert min(parts) >= (1 if values >= len(rates) else 0)
    if values >= 2 * ALIGNED * len(rates):
        assert all(bound % ALIGNED == 0 for bound in bounds[:-1])


@given(rates=RATES)
def test_no_shift_between_two_parts_makes_the_slowest_faster(rates: list[float]) -> None:
    values = 10_000_000
    bounds = part_bounds(values, rates)
    took = seconds_of(bounds, rates)
    owners = [n for n in range(len(rates)) if bounds[n + 1] - bounds[n] > 2 * ALIGNED]
    bound = max(values / min(rates), max(took[n] for n in owners))
    assert max(took) <= bound * 1.01 + 2 * ALIGNED * len(rates) ** 2 / min(rates)
    if len(rates) > 2:
        shared = [took[n] for n in owners]
        assert max(shared) - min(shared) <= 4 * ALIGNED * len(rates) ** 2 / min(rates)


def test_the_same_rates_get_the_same_parts() -> None:
    assert part_bounds(4_096_000, [5e6] * 4) == [0, 1_024_000, 2_048_000, 3_072_000, 4_096_000]


def test_an_unknown_rate_is_taken_for_the_median() -> None:
    assert part_bounds(10_000_000, [1e6, 0.0, 1e6]) == part_bounds(10_000_000, [1e6] * 3)
    assert part_bounds(1_000, [0.0, 0.0]) == [0, 500, 1_000]


def test_who_is_much_slower_reduces_next_to_nothing() -> None:
    bounds = part_bounds(10_000 * ALIGNED, [1e7, 1e7, 1e7, 1e5])
    assert bounds[4] - bounds[3] == ALIGNED


def test_small_groups_with_little_to_say_send_everything_to_everybody() -> None:
    assert choose_exchange("auto", 4, 1 << 20, "mean") == "full"
    assert choose_exchange("auto", 4, (1 << 20) + 1, "mean") == "butterfly"
    assert choose_exchange("auto", 5, 1000, "mean") == "butterfly"
    assert choose_exchange("auto", 3, 1000, "trimmed_mean") == "butterfly"
    assert choose_exchange("ring", 3, 1000, "mean") == "ring"
