"""The server takes masks off a sum from what was revealed, or learns nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.crypto import client_keys, shamir
from backend.crypto.keystream import Words, add_keystreams
from backend.crypto.masking import mask_keys
from backend.crypto.round_context import ring
from backend.crypto.unmasking import Job, masks_left, parts, unmask
from backend.errors import ShareMismatchError
from backend.protocols.secagg.terms import Degree, neighbours
from backend.wire.masked_messages import Member
from tests.contract.vectors.secagg.make_masked import made

CONTEXT = made("a context")
LENGTH = 35_003


@dataclass(frozen=True)
class Revealed:
    context: bytes
    members: Sequence[Member]
    threshold: int
    pairs: Sequence[Sequence[int]]
    alive: Sequence[int]
    seeds: Mapping[int, Mapping[int, bytes]]
    mask_keys: Mapping[int, Mapping[int, bytes]]


def one_by_one(jobs: Sequence[Job]) -> None:
    for job in jobs:
        job()


def side_by_side(jobs: Sequence[Job]) -> None:
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(job) for job in jobs]:
            done.result()


def play(
    count: int, graph: Degree, dealt: Iterable[int], alive: Iterable[int], length: int = 50
) -> tuple[Words, Words, Revealed]:
    """A round of `count` members: the masked sum, the plain one, and what all who are alive reveal."""
    shared, staying = sorted(dealt), sorted(alive)
    members = [_member(n) for n in range(count)]
    around = neighbours(ring(CONTEXT, [member.client for member in members]), graph.neighbours)
    pairs = [[other for other in around[n] if other in shared] if n in shared else [] for n in range(count)]
    masked, plain = np.zeros(length, np.uint32), np.zeros(length, np.uint32)
    for n in staying:
        values = np.frombuffer(made(f"values {n}", 4 * length), np.uint32)
        words = values.copy()
        others = {other: members[other].mask_key for other in pairs[n]}
        add_keystreams(words, mask_keys(CONTEXT, n, made(f"seed {n}"), made(f"mask {n}"), others))
        plain += values
        masked += words
    seeds = {n: _shares(f"seed {n}", [*pairs[n], n], graph.threshold, staying) for n in staying}
    gone = [n for n in shared if n not in staying]
    dead = {n: _shares(f"mask {n}", [*pairs[n], n], graph.threshold, staying) for n in gone}
    return masked, plain, Revealed(CONTEXT, members, graph.threshold, pairs, staying, seeds, dead)


def _member(n: int) -> Member:
    return Member(
        client=f"client {n}",
        mask_key=client_keys.agreement_key(made(f"mask {n}")),
        share_key=bytes(32),
        seed_hash=hashlib.sha256(made(f"seed {n}")).digest(),
        identity=bytes(32),
        signature=bytes(64),
    )


def _shares(name: str, holders: list[int], threshold: int, staying: Sequence[int]) -> dict[int, bytes]:
    randomness = made(f"coefficients of {name}", shamir.randomness_bytes(threshold))
    shares = shamir.split(made(name), holders, threshold, randomness)
    return {holder: share for holder, share in zip(holders, shares, strict=True) if holder in staying}


def bent(shares: Mapping[int, bytes], holders: Iterable[int]) -> dict[int, bytes]:
    """The shares, those of some holders replaced by others of the field."""
    return {**shares, **{holder: made(f"false {holder}") for holder in holders}}


@settings(max_examples=30)
@given(data=st.data(), count=st.integers(3, 9), complete=st.booleans())
def test_the_sum_of_survivors_is_left_whoever_drops_out(
    data: st.DataObject, count: int, complete: bool
) -> None:
    graph = Degree(count - 1, count // 2) if complete else Degree(2, 2)
    dealt = data.draw(st.sets(st.integers(0, count - 1), min_size=max(count - 1, 3)))
    alive = data.draw(st.sets(st.sampled_from(sorted(dealt)), min_size=len(dealt) - 1))
    masked, plain, revealed = play(count, graph, dealt, alive)
    held = [*revealed.seeds.values(), *revealed.mask_keys.values()]
    if min(map(len, held)) < graph.threshold:
        with pytest.raises(ShareMismatchError):
            unmask(masked, revealed, 2, one_by_one)
    else:
        unmask(masked, revealed, 2, one_by_one)
        assert np.array_equal(masked, plain)


@pytest.mark.parametrize("ways", [1, 2, 3, 64])
def test_parts_side_by_side_give_the_same_sum(ways: int) -> None:
    masked, plain, revealed = play(5, Degree(4, 3), range(5), [0, 1, 3, 4], LENGTH)
    unmask(masked, revealed, ways, side_by_side)
    assert np.array_equal(masked, plain)


def test_there_are_no_more_parts_than_asked_for_and_no_tiny_ones() -> None:
    assert len(parts(np.zeros(1_000_003, np.uint32), [], 4)) == 4
    assert len(parts(np.zeros(LENGTH, np.uint32), [], 64)) == 3
    assert len(parts(np.zeros(3, np.uint32), [], 2)) == 1
    assert parts(np.zeros(0, np.uint32), [], 2) == []


def test_members_who_left_before_their_shares_came_cost_nothing() -> None:
    masked, plain, revealed = play(6, Degree(5, 4), [0, 2, 3, 4, 5], [0, 2, 3, 4, 5])
    assert len(masks_left(revealed)) == 5
    unmask(masked, revealed, 1, one_by_one)
    assert np.array_equal(masked, plain)


def test_false_shares_are_passed_over_while_enough_true_ones_are_there() -> None:
    masked, plain, revealed = play(8, Degree(7, 4), range(8), range(7))
    liars = [0, 5]
    false = replace(
        revealed,
        seeds={owner: bent(shares, liars) for owner, shares in revealed.seeds.items()},
        mask_keys={owner: bent(shares, liars) for owner, shares in revealed.mask_keys.items()},
    )
    unmask(masked, false, 1, one_by_one)
    assert np.array_equal(masked, plain)


def test_shares_outside_the_field_are_passed_over() -> None:
    masked, plain, revealed = play(5, Degree(4, 3), range(5), range(4))
    none = {owner: {**shares, 0: b"\xff" * 32} for owner, shares in revealed.seeds.items()}
    unmask(masked, replace(revealed, seeds=none), 1, one_by_one)
    assert np.array_equal(masked, plain)


@pytest.mark.parametrize("owner", [2, 4])
@pytest.mark.parametrize("holders", [[0, 1], [0, 1, 2, 3]])
def test_with_too_few_true_shares_the_sum_stays_masked(owner: int, holders: list[int]) -> None:
    masked, _, revealed = play(5, Degree(4, 3), range(5), range(4))
    shares = {**revealed.seeds, **revealed.mask_keys}[owner]
    false = bent(shares, holders)
    if owner in revealed.seeds:
        bad = replace(revealed, seeds={**revealed.seeds, owner: false})
    else:
        bad = replace(revealed, mask_keys={**revealed.mask_keys, owner: false})
    before = masked.copy()
    with pytest.raises(ShareMismatchError, match=f"places {owner}") as caught:
        unmask(masked, bad, 1, one_by_one)
    assert np.array_equal(masked, before)
    assert not any(share.hex() in str(caught.value) for share in shares.values())


def test_a_secret_of_somebody_else_is_no_secret() -> None:
    masked, _, revealed = play(5, Degree(4, 3), range(5), range(5))
    with pytest.raises(ShareMismatchError):
        unmask(masked, replace(revealed, seeds={**revealed.seeds, 0: revealed.seeds[1]}), 1, one_by_one)
