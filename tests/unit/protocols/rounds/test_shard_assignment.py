from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.protocols.rounds.shard_assignment import ShardAssigner, training_seed

NAMES = st.text("0123456789abcdef", min_size=16, max_size=16)
CLIENTS = st.sets(NAMES, min_size=1, max_size=12)
COHORTS = st.lists(CLIENTS, min_size=1, max_size=8)
SHARDS, PER_CLIENT = st.integers(1, 40), st.integers(1, 8)


def downloads(
    clients: int, cohort: int, dealer: ShardAssigner, rounds: int = 200
) -> tuple[dict[str, set[int]], list[int]]:
    """The shards that each client ever gets in cohorts drawn by lot, and how often each shard is dealt."""
    lots = random.Random(1)
    everybody = [f"client-{number}" for number in range(clients)]
    had: dict[str, set[int]] = {client: set() for client in everybody}
    uses: dict[int, int] = {}
    for _ in range(rounds):
        for client, shards in dealer.assign(lots.sample(everybody, cohort), clients).items():
            had[client].update(shards)
            for shard in shards:
                uses[shard] = uses.get(shard, 0) + 1
    return had, list(uses.values())


@given(COHORTS, SHARDS, PER_CLIENT, st.integers(0, 2**31))
def test_everybody_gets_something_and_nobody_too_much(
    cohorts: list[set[str]], shards: int, most: int, seed: int
) -> None:
    dealer = ShardAssigner(shards, most, seed)
    for clients in cohorts:
        dealt = dealer.assign(clients, len(clients))
        assert dealt.keys() == clients
        for part in dealt.values():
            assert 1 <= len(part) <= most
            assert len(set(part)) == len(part)
            assert all(0 <= shard < shards for shard in part)


@given(COHORTS, SHARDS, PER_CLIENT, st.integers(0, 30))
def test_parts_are_disjoint_while_there_are_enough_shards(
    cohorts: list[set[str]], shards: int, most: int, others: int
) -> None:
    dealer = ShardAssigner(shards, most, 0)
    for clients in cohorts:
        handed_out = [s for part in dealer.assign(clients, len(clients) + others).values() for s in part]
        if len(clients) <= shards:
            assert len(set(handed_out)) == len(handed_out)
        else:
            assert set(handed_out) == set(range(shards))


@given(CLIENTS, SHARDS, PER_CLIENT)
def test_a_lasting_cohort_uses_every_shard(clients: set[str], shards: int, most: int) -> None:
    dealer = ShardAssigner(shards, most, 7)
    used = {
        shard
        for _ in range(shards + 1)
        for part in dealer.assign(clients, len(clients)).values()
        for shard in part
    }
    assert used == set(range(shards))


@given(COHORTS, SHARDS, PER_CLIENT, st.randoms(use_true_random=False))
def test_the_order_of_clients_does_not_matter(
    cohorts: list[set[str]], shards: int, most: int, lots: random.Random
) -> None:
    one, other = ShardAssigner(shards, most, 1), ShardAssigner(shards, most, 1)
    for clients in cohorts:
        shuffled = sorted(clients)
        lots.shuffle(shuffled)
        assert one.assign(shuffled, 9) == other.assign(clients, 9)


def test_clients_get_the_shards_again_that_they_have() -> None:
    had, uses = downloads(20, 10, ShardAssigner(40, 2, 0))
    assert [len(shards) for shards in had.values()] == [2] * 20
    assert set.union(*had.values()) == set(range(40))
    assert max(uses) < 2 * min(uses)


def test_many_clients_for_few_shards_download_few_of_them_and_all_are_used_alike() -> None:
    had, uses = downloads(100, 10, ShardAssigner(40, 2, 0), rounds=500)
    assert sum(len(shards) for shards in had.values()) / 100 < 6
    assert max(uses) - min(uses) <= 10


def test_few_clients_work_through_their_share_of_all_shards() -> None:
    had, uses = downloads(4, 4, ShardAssigner(40, 2, 0))
    assert [len(shards) for shards in had.values()] == [10] * 4
    assert set(uses) == {200 * 8 // 40}


def test_a_client_keeps_what_it_has_when_others_come_and_go() -> None:
    dealer = ShardAssigner(12, 2, 0)
    first = dealer.assign(["anna", "berta"], 6)
    dealer.assign(["carl", "dora", "emil", "fred"], 6)
    assert dealer.assign(["anna", "carl", "berta"], 6)["anna"] in (first["anna"], first["anna"][::-1])


def test_a_client_has_the_same_favourites_after_a_restart() -> None:
    assert ShardAssigner(40, 2, 3).assign(["anna"], 20) == ShardAssigner(40, 2, 3).assign(["anna"], 20)
    assert ShardAssigner(40, 2, 3).assign(["anna"], 20) != ShardAssigner(40, 2, 4).assign(["anna"], 20)


@pytest.mark.parametrize(("shards", "most"), [(0, 1), (1, 0)])
def test_no_shards_is_an_error(shards: int, most: int) -> None:
    with pytest.raises(ValueError, match="at least one shard"):
        ShardAssigner(shards, most, 0)


def test_seeds_differ_between_clients_and_rounds() -> None:
    seeds = {training_seed(client, number, 5) for client in "abcdef" for number in range(50)}
    assert len(seeds) == 300
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_a_client_keeps_one_part_of_data_that_were_dealt_out() -> None:
    parts = (0, 0, 0, 1, 1, 2, 2, 2)
    had, _ = downloads(3, 2, ShardAssigner(8, 2, 7, parts))
    assert sorted(map(sorted, had.values())) == [[0, 1, 2], [3, 4], [5, 6, 7]]


def test_more_clients_than_parts_share_them_alike_and_keep_them() -> None:
    had, _ = downloads(9, 4, ShardAssigner(3, 1, 7, (0, 1, 2)))
    taken = [part for (part,) in had.values()]
    assert sorted(taken) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


@given(COHORTS, CLIENTS, CLIENTS, SHARDS, PER_CLIENT)
def test_after_a_round_that_came_to_nothing_members_get_the_same_shards_again(
    past: list[set[str]], lost: set[str], others: set[str], shards: int, most: int
) -> None:
    dealer = ShardAssigner(shards, most, 7)
    for clients in past:
        dealer.assign(clients, len(clients))
    uses = list(dealer.uses)
    dealt = dealer.assign(lost, len(lost))
    dealer.take_back(dealt)
    assert dealer.uses == uses
    again = dealer.assign(lost | others, len(lost | others))
    assert {client: again[client] for client in lost} == dealt
    assert all(1 <= len(set(got)) == len(got) <= most for got in again.values())


def test_the_same_shards_come_again_only_once() -> None:
    dealer = ShardAssigner(12, 2, 7)
    dealt = dealer.assign(["a", "b"], 2)
    dealer.take_back(dealt)
    assert dealer.assign(["a", "b"], 2) == dealt
    assert dealer.assign(["a", "b"], 2) != dealt


def test_a_part_of_dealt_out_data_comes_again_as_it_was() -> None:
    dealer = ShardAssigner(6, 2, 7, parts=[0, 0, 0, 1, 1, 1])
    first = dealer.assign(["a", "b"], 2)
    dealer.take_back(first)
    assert dealer.assign(["a", "b"], 2) == first
    assert dealer.assign(["a", "b"], 2) != first
