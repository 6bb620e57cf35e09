"""Signed statements: nobody can say two things unseen, or put words into another one's mouth."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backend.crypto.statements import (
    NOTHING_BEFORE,
    TurnOfRound,
    are_two_words,
    coin_commitment,
    heard_digest,
    is_relayed,
    is_said,
    relay,
    say,
    tossed_coin,
)

TURN = TurnOfRound("digits", "ab" * 32, 7, 1, bytes(32))
ALICE, BOB = bytes([1] * 32), bytes([2] * 32)
WORD = say(ALICE, TURN, "commit", NOTHING_BEFORE, b"pieces")


def test_a_statement_is_its_senders_and_of_its_turn() -> None:
    assert is_said(TURN, WORD)
    for other in (
        replace(TURN, task="other"),
        replace(TURN, run="cd" * 32),
        replace(TURN, round=8),
        replace(TURN, basis=bytes([4] * 32)),
        replace(TURN, turn=2),
    ):
        assert not is_said(other, WORD)
    for changed in (
        replace(WORD, phase="made"),
        replace(WORD, body=b"piece"),
        replace(WORD, before=bytes([1] * 32)),
        replace(WORD, identity=say(BOB, TURN, "commit", NOTHING_BEFORE, b"pieces").identity),
    ):
        assert not is_said(TURN, changed)


def test_two_words_of_one_member_about_one_phase_are_evidence() -> None:
    assert are_two_words(TURN, WORD, say(ALICE, TURN, "commit", NOTHING_BEFORE, b"other pieces"))
    assert are_two_words(TURN, WORD, say(ALICE, TURN, "commit", bytes([1] * 32), b"pieces"))


def test_nobody_is_convicted_by_words_of_others_of_other_phases_or_turns() -> None:
    again = say(ALICE, TURN, "commit", NOTHING_BEFORE, b"pieces")
    assert not are_two_words(TURN, WORD, again)
    assert not are_two_words(TURN, WORD, say(BOB, TURN, "commit", NOTHING_BEFORE, b"other"))
    assert not are_two_words(TURN, WORD, say(ALICE, TURN, "made", WORD.digest(TURN), b"other"))
    assert not are_two_words(TURN, WORD, say(ALICE, replace(TURN, turn=2), "commit", NOTHING_BEFORE, b"x"))
    forged = replace(WORD, body=b"other pieces")
    assert not are_two_words(TURN, WORD, forged)


def test_a_signature_for_what_is_passed_on_is_of_one_member_and_one_statement() -> None:
    bob = say(BOB, TURN, "commit", NOTHING_BEFORE, b"pieces").identity
    passed_on = relay(BOB, TURN, WORD)
    assert is_relayed(TURN, WORD, bob, passed_on)
    assert is_relayed(TURN, WORD.unsigned(), bob, passed_on)
    assert not is_relayed(TURN, WORD, WORD.identity, passed_on)
    assert not is_relayed(TURN, replace(WORD, body=b"piece"), bob, passed_on)
    assert not is_relayed(replace(TURN, turn=2), WORD, bob, passed_on)
    assert not is_relayed(TURN, WORD, WORD.identity, WORD.signature)


def test_a_commitment_to_a_coin_is_of_one_client_and_hides_it_by_its_salt() -> None:
    coin, salt = bytes([3] * 32), bytes([4] * 32)
    commitments = {
        coin_commitment(*parts)
        for parts in (
            ("a" * 16, coin, salt),
            ("b" * 16, coin, salt),
            ("a" * 16, salt, salt),
            ("a" * 16, coin, coin),
        )
    }
    assert len(commitments) == 4
    for lengths in ((31, 32), (32, 33)):
        with pytest.raises(ValueError, match="have 32 bytes"):
            coin_commitment("a" * 16, bytes(lengths[0]), bytes(lengths[1]))


def test_every_part_of_a_toss_counts_and_their_order_does_not() -> None:
    coins = {"a" * 16: bytes([1] * 32), "b" * 16: bytes([2] * 32)}
    tossed = tossed_coin(coins)
    assert tossed == tossed_coin(dict(reversed(coins.items())))
    assert tossed != tossed_coin(coins | {"a" * 16: bytes([3] * 32)})
    assert tossed != tossed_coin({"a" * 16: coins["a" * 16]})
    assert tossed != tossed_coin({"a" * 16: coins["b" * 16], "b" * 16: coins["a" * 16]})


def test_what_was_heard_is_the_statements_in_their_order() -> None:
    one, other = bytes([1] * 32), bytes([2] * 32)
    heard = {heard_digest(said) for said in ([one, other], [other, one], [one], [one, one], [])}
    assert len(heard) == 5
