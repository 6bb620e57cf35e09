"""What clients contributed to a model is known at each version, and held no longer than it is needed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from backend.numerics.aggregation.contributions import Contributions
from backend.numerics.aggregation.mixing import Mix
from backend.numerics.vectors import BLOCK_VALUES, Vector

HALF = Mix(0.5, 0.5)
ADD = Mix(0.0, 1.0)
ONES = np.ones(3, np.float32)


def value(vector: Vector | None) -> float:
    """The value of a vector of equal ones; 0 for none."""
    if vector is None:
        return 0.0
    assert vector.dtype == np.float32
    assert len(set(vector.tolist())) == 1
    return float(vector[0])


def test_a_contribution_fades_and_comes_back_through_bases() -> None:
    kept = Contributions(3)
    kept.blended(1, 0, HALF, "a", ONES)
    kept.blended(2, 0, HALF, None, None)
    kept.blended(3, 1, HALF, None, None)
    kept.blended(4, 3, HALF, None, None)
    # By the factors 1 - pull alone it would be 0.5, 0.25, 0.125 and 0.0625.
    assert [value(kept.share("a", version)) for version in range(5)] == [0.0, 0.5, 0.25, 0.375, 0.375]


def test_what_is_added_stays_and_a_replaced_model_has_what_its_base_had() -> None:
    kept = Contributions(3)
    kept.blended(1, 0, ADD, "a", ONES)
    kept.blended(2, 0, ADD, "b", 2 * ONES)
    assert (value(kept.share("a", 2)), value(kept.share("b", 2))) == (1.0, 2.0)
    kept.blended(3, 1, Mix(1.0, 1.0), None, None)
    assert (value(kept.share("a", 3)), kept.share("b", 3)) == (1.0, None)


def test_shares_add_up_in_every_block() -> None:
    size = 2 * BLOCK_VALUES + 3
    dice = np.random.default_rng(1)
    first, second = (dice.standard_normal(size).astype(np.float32) for _ in range(2))
    kept = Contributions(size)
    kept.blended(1, 0, HALF, "a", first)
    kept.blended(2, 1, Mix(0.25, 0.25), "a", second)
    share = kept.share("a", 2)
    assert share is not None
    np.testing.assert_array_equal(share, 0.5 * first + np.float32(0.25) * second)


def test_a_constant_contribution_becomes_part_of_one_vector() -> None:
    kept = Contributions(3)
    for version in range(1, 9):
        kept.blended(version, version - 1, HALF, "ab"[version % 2], version * ONES)
    before = [value(kept.share(client, 8)) for client in "ab"]
    kept.bases_in_use(8)
    assert [value(kept.share(client, 8)) for client in "ab"] == before
    # A float32 vector for each client, and nothing for versions.
    assert (kept.clients, kept.held_bytes) == ({"a", "b"}, 2 * ONES.nbytes)
    kept.blended(9, 8, HALF, "a", ONES)
    kept.bases_in_use(9)
    assert value(kept.share("a", 9)) == before[0] + 0.5
    assert kept.held_bytes == 2 * ONES.nbytes


def test_a_contribution_that_all_versions_in_use_share_is_settled() -> None:
    kept = Contributions(3)
    kept.blended(1, 0, ADD, "a", ONES)
    kept.blended(2, 0, ADD, None, None)
    kept.bases_in_use(1)
    assert kept.held_bytes == ONES.nbytes
    kept.blended(3, 1, HALF, None, None)
    assert [value(kept.share("a", version)) for version in (1, 2, 3)] == [1.0, 1.0, 1.0]


def test_a_contribution_that_an_old_base_lacks_is_not_settled() -> None:
    kept = Contributions(3)
    kept.blended(1, 0, HALF, "a", ONES)
    kept.bases_in_use(0)
    kept.blended(2, 0, HALF, None, None)
    assert value(kept.share("a", 2)) == 0.25


def test_a_contribution_that_vanished_is_forgotten() -> None:
    kept = Contributions(3)
    kept.blended(1, 0, HALF, "a", ONES)
    kept.blended(2, 0, Mix(1.0, 1.0), None, None)
    kept.bases_in_use(2)
    assert (kept.clients, kept.share("a", 2), kept.held_bytes) == (set(), None, 0)


def test_bases_that_contain_what_was_taken_out_are_corrected_as_long_as_they_are_in_use() -> None:
    kept = Contributions(3)
    kept.blended(1, 0, HALF, "liar", ONES)
    kept.bases_in_use(1)
    kept.blended(2, 1, HALF, "liar", 4 * ONES)
    kept.blended(3, 1, HALF, "honest", ONES)
    assert value(kept.share("liar", 3)) == 1.5
    kept.taken_out(4, "liar")
    assert [value(kept.correction(version)) for version in range(1, 5)] == [0.5, 2.5, 1.5, 0.0]
    assert (kept.share("liar", 4), kept.share("liar", 2), kept.clients) == (None, None, {"honest"})

    # A corrected base does not bring it back.
    kept.blended(5, 2, HALF, None, None)
    assert (kept.share("liar", 5), kept.correction(5), value(kept.share("honest", 5))) == (None, None, 0.25)
    kept.bases_in_use(3)
    assert value(kept.correction(3)) == 1.5
    before = kept.held_bytes
    kept.bases_in_use(4)
    assert kept.correction(4) is None
    # The settled vector and the other update, at least.
    assert kept.held_bytes <= before - 2 * ONES.nbytes
    kept.proven("honest")
    kept.bases_in_use(5)
    assert kept.held_bytes == 0


def test_two_clients_are_taken_out_of_one_base() -> None:
    kept = Contributions(3)
    kept.blended(1, 0, ADD, "a", ONES)
    kept.blended(2, 0, ADD, "b", 2 * ONES)
    kept.taken_out(3, "a")
    kept.taken_out(4, "b")
    assert [value(kept.correction(version)) for version in range(5)] == [0.0, 1.0, 3.0, 2.0, 0.0]


def test_a_client_that_was_taken_out_may_contribute_again() -> None:
    kept = Contributions(3)
    kept.blended(1, 0, HALF, "a", ONES)
    kept.taken_out(2, "a")
    kept.blended(3, 1, HALF, "a", 2 * ONES)
    assert (value(kept.share("a", 3)), value(kept.correction(1))) == (1.0, 0.5)
    # Proof of the new contribution changes nothing about the old one.
    kept.proven("a")
    assert (kept.share("a", 3), value(kept.correction(1)), kept.clients) == (None, 0.5, set())


def test_a_client_without_contributions_can_be_taken_out_and_proven() -> None:
    kept = Contributions(3)
    kept.taken_out(1, "a")
    kept.proven("a")
    assert (kept.share("a", 1), kept.correction(0), kept.held_bytes) == (None, None, 0)


def test_what_is_proven_is_held_no_longer_and_leaves_the_others_as_they_are() -> None:
    kept = Contributions(3)
    kept.blended(1, 0, HALF, "a", ONES)
    kept.blended(2, 1, HALF, "b", ONES)
    kept.blended(3, 0, HALF, "a", ONES)
    kept.proven("a")
    assert (kept.clients, kept.share("a", 3), value(kept.share("b", 3))) == ({"b"}, None, 0.25)
    kept.bases_in_use(1)
    kept.blended(4, 2, HALF, None, None)
    assert value(kept.share("b", 4)) == 0.375
    kept.proven("b")
    kept.bases_in_use(4)
    assert (kept.clients, kept.held_bytes) == (set(), 0)


def test_illegal_events_are_refused_and_change_nothing() -> None:
    kept = Contributions(3, 10)
    kept.blended(11, 10, HALF, "a", ONES)
    kept.blended(12, 10, HALF, "b", ONES)
    kept.bases_in_use(11)
    illegal: list[Callable[[], object]] = [
        lambda: kept.blended(12, 11, HALF, None, None),
        lambda: kept.blended(14, 11, HALF, None, None),
        lambda: kept.blended(13, 10, HALF, None, None),
        lambda: kept.blended(13, 13, HALF, None, None),
        lambda: kept.blended(13, 11, HALF, "a", None),
        lambda: kept.blended(13, 11, HALF, None, ONES),
        lambda: kept.blended(13, 11, HALF, "a", ONES[:2]),
        lambda: kept.taken_out(12, "a"),
        lambda: kept.share("a", 10),
        lambda: kept.correction(13),
        lambda: kept.bases_in_use(10),
        lambda: kept.bases_in_use(13),
    ]
    for event in illegal:
        with pytest.raises(ValueError, match=r"does not follow|is not in use|its update of 3 values"):
            event()
    kept.blended(13, 11, HALF, None, None)
    assert (value(kept.share("a", 13)), value(kept.share("b", 13))) == (0.375, 0.25)
