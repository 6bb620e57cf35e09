"""The clients whose lies explain why a sum stayed masked, and nobody else where that can be told."""

from __future__ import annotations

from backend.protocols.secagg.false_shares import false_sharers


def test_who_committed_to_another_secret_is_found_whatever_others_say() -> None:
    assert false_sharers([3], {}) == {3}
    assert false_sharers([3], {3: {1, 2}}) == {3}


def test_an_owner_whose_shares_several_cannot_open_is_found() -> None:
    assert false_sharers([], {2: {0, 1, 3}}) == {2}


def test_holders_who_open_nobodys_shares_are_found_and_no_owner() -> None:
    unopened = {owner: {1, 4, 5} - {owner} for owner in range(7)}
    assert false_sharers([], unopened) == {1, 4, 5}


def test_a_falsified_own_share_counts_once() -> None:
    assert false_sharers([], {2: {2, 5}, 0: {5}}) == {2, 5}


def test_of_one_owner_and_one_holder_nobody_can_tell_who_lied() -> None:
    assert false_sharers([], {2: {6}}) == {2, 6}


def test_two_lies_apart_have_two_liars() -> None:
    assert false_sharers([0], {2: {0, 1, 3, 4}, 5: {6}}) == {0, 2, 5, 6}


def test_where_nothing_went_wrong_nobody_is_found() -> None:
    assert false_sharers([], {2: set()}) == frozenset()
