from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.protocols.assignment import assign, assign_parts, training_seed

CLIENTS = st.sets(st.text("0123456789abcdef", min_size=16, max_size=16), min_size=1, max_size=12)
SHARDS, PER_CLIENT = st.integers(1, 40), st.integers(1, 8)


@given(CLIENTS, SHARDS, PER_CLIENT, st.integers(0, 1000), st.integers(0, 2**31))
def test_everybody_gets_something_and_nobody_too_much(
    clients: set[str], shards: int, most: int, number: int, seed: int
) -> None:
    parts = assign(clients, shards, most, number, seed)
    assert parts.keys() == clients
    for part in parts.values():
        assert 1 <= len(part) <= most
        assert len(set(part)) == len(part)
        assert all(0 <= shard < shards for shard in part)


@given(CLIENTS, SHARDS, PER_CLIENT, st.integers(0, 1000))
def test_parts_are_disjoint_while_there_are_enough_shards(
    clients: set[str], shards: int, most: int, number: int
) -> None:
    handed_out = [shard for part in assign(clients, shards, most, number, 0).values() for shard in part]
    if len(clients) <= shards:
        assert len(set(handed_out)) == len(handed_out)
    else:
        assert set(handed_out) == set(range(shards))


@given(CLIENTS, SHARDS, PER_CLIENT)
def test_a_lasting_cohort_uses_every_shard(clients: set[str], shards: int, most: int) -> None:
    used = {
        shard
        for number in range(1, shards + 2)
        for part in assign(clients, shards, most, number, 7).values()
        for shard in part
    }
    assert used == set(range(shards))


@given(CLIENTS, SHARDS, PER_CLIENT, st.integers(0, 100), st.randoms(use_true_random=False))
def test_the_order_of_clients_does_not_matter(
    clients: set[str], shards: int, most: int, number: int, random: object
) -> None:
    shuffled = sorted(clients)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert assign(shuffled, shards, most, number, 1) == assign(clients, shards, most, number, 1)


def test_a_client_keeps_most_of_its_part_when_another_joins() -> None:
    clients = [f"{number:016x}" for number in range(4)]
    before = assign(clients, 40, 10, 1, 0)
    after = assign([*clients, f"{99:016x}"], 40, 8, 1, 0)
    kept = [len(set(before[client]) & set(after[client])) / len(after[client]) for client in clients]
    assert min(kept) >= 0.5


@pytest.mark.parametrize(("shards", "most"), [(0, 1), (1, 0)])
def test_no_shards_is_an_error(shards: int, most: int) -> None:
    with pytest.raises(ValueError, match="at least one shard"):
        assign(["a"], shards, most, 0, 0)


def test_seeds_differ_between_clients_and_rounds() -> None:
    seeds = {training_seed(client, number, 5) for client in "abcdef" for number in range(50)}
    assert len(seeds) == 300
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_a_client_keeps_one_part_of_data_that_were_dealt_out() -> None:
    parts = (0, 0, 0, 1, 1, 2, 2, 2)
    rounds = [assign_parts(["anna", "berta", "carl"], parts, 2, number, 7) for number in range(1, 7)]
    for client in ("anna", "berta", "carl"):
        seen = {shard for one in rounds for shard in one[client]}
        assert len({parts[shard] for shard in seen}) == 1
        assert seen == {shard for shard, part in enumerate(parts) if part == parts[min(seen)]}
    assert {parts[shards[0]] for shards in rounds[0].values()} == {0, 1, 2}


def test_more_clients_than_parts_share_them() -> None:
    given = assign_parts([f"client-{number}" for number in range(9)], (0, 1), 1, 1, 7)
    assert set(given.values()) == {(0,), (1,)}
