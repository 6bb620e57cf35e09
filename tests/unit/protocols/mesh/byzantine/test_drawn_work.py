"""What the coin draws: the same for everybody, even, and nothing that a member can choose."""

from __future__ import annotations

from collections import Counter

import pytest

from backend.protocols.mesh.byzantine.drawn_work import coin_seed, drawn_number, plan_of, validations
from backend.wire.messages import Shard, Train

SEATS = [f"{number:016x}" for number in range(16)]
SHARDS = [Shard(sha256=f"{number:064x}", examples=100) for number in range(10)]
AGREED = Train(
    round=4,
    version=3,
    weights="00" * 32,
    epochs=0,
    steps=10,
    batch_size=8,
    learning_rate=0.01,
    past_steps=30,
    seed=0,
    proximal_mu=0.0,
    control=None,
    masking=None,
    privacy=None,
    shards=[],
    seconds=60.0,
)


def coin(number: int) -> bytes:
    return number.to_bytes(32, "little")


@pytest.mark.parametrize("validators", [0, 1, 2, 8, 20])
def test_validators_and_targets_are_different_members(validators: int) -> None:
    for number in range(50):
        drawn = validations(coin(number), SEATS, SEATS, validators)
        assert len(drawn) == min(validators, 8)
        assert len({*drawn, *drawn.values()}) == 2 * len(drawn)
        assert drawn == validations(coin(number), set(SEATS), set(SEATS), validators)


def test_every_member_is_a_target_as_often_as_any_other() -> None:
    rounds = 4000
    targets = Counter(
        target for number in range(rounds) for target in validations(coin(number), SEATS, SEATS, 1).values()
    )
    assert len(targets) == 16
    # 250 each on average, of a deviation of 15.
    assert max(targets.values()) < 330
    assert min(targets.values()) > 180


def test_work_is_of_one_public_shard_and_everything_else_as_agreed() -> None:
    plan = plan_of(AGREED, SHARDS, coin(1), SEATS[0])
    assert plan == plan_of(AGREED, SHARDS, coin(1), SEATS[0])
    assert len(plan.shards) == 1
    assert plan.shards[0] in SHARDS
    assert (plan.round, plan.steps, plan.weights) == (4, 10, AGREED.weights)
    plans = [plan_of(AGREED, SHARDS, coin(number), client) for number in range(40) for client in SEATS]
    assert len({plan.seed for plan in plans}) == len(plans)
    shares = Counter(plan.shards[0].sha256 for plan in plans)
    assert len(shares) == 10
    assert all(0 <= plan.seed < 2**31 for plan in plans)


def test_numbers_fit_both_languages_and_differ_by_purpose() -> None:
    seeds = {coin_seed(coin(number)) for number in range(100)}
    assert len(seeds) == 100
    assert max(seeds) < 2**52
    assert drawn_number(coin(1), "shard", SEATS[0], 2**31) != drawn_number(coin(1), "seed", SEATS[0], 2**31)
