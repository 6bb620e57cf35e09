"""A log keeps what its clients said, and both of two words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backend.crypto.statements import NOTHING_BEFORE, Statement, TurnOfRound, coin_commitment
from backend.protocols.mesh.byzantine.relaying import signer_count, windows
from backend.protocols.mesh.byzantine.turn_log import TurnLog, TurnPhase
from backend.wire.byzantine_bodies import Body, CommitBody, MadeBody, RevealBody, VerdictBody, encode_body

IDENTITIES = {f"{number:016x}": bytes([number] * 32) for number in range(1, 6)}
ALICE, BOB = list(IDENTITIES)[:2]
STRANGER = bytes([9] * 32)
TURN = TurnOfRound("digits", "ab" * 32, 7, 1, bytes(32))
COIN, SALT = bytes([3] * 32), bytes([4] * 32)


def log() -> TurnLog:
    return TurnLog(TURN, IDENTITIES)


def said(client: str, phase: str, body: Body) -> Statement:
    return Statement(IDENTITIES[client], phase, NOTHING_BEFORE, encode_body(body))


def test_a_statement_is_kept_once() -> None:
    found, made = log(), said(ALICE, "made", MadeBody(b""))
    assert not found.knows(made)
    assert found.add(made) == ALICE
    assert found.add(made) is None
    assert found.knows(made)
    assert found.said(TurnPhase.MADE) == {ALICE: MadeBody(b"")}


@pytest.mark.parametrize(
    "statement",
    [
        said(ALICE, "made", VerdictBody(bytes(32))),
        said(ALICE, "made-1", MadeBody(b"")),
        said(ALICE, "call-64", MadeBody(b"")),
        said(ALICE, "song", MadeBody(b"")),
        replace(said(ALICE, "made", MadeBody(b"")), body=b"\xc1"),
        replace(said(ALICE, "made", MadeBody(b"")), identity=STRANGER),
    ],
    ids=["body", "number", "many", "phase", "bytes", "stranger"],
)
def test_anything_else_is_not(statement: Statement) -> None:
    found = log()
    assert found.add(statement) is None
    assert list(found.statements()) == []


def test_two_words_are_evidence_and_a_third_is_dropped() -> None:
    found = log()
    words = [said(ALICE, "made", MadeBody(bytes([number] * 32))) for number in range(3)]
    assert [found.add(word) for word in words] == [ALICE, ALICE, None]
    assert found.two_words() == {ALICE: (words[0], words[1])}
    assert found.said(TurnPhase.MADE) == {ALICE: MadeBody(bytes(32))}


def test_a_coin_that_was_not_committed_to_counts_as_not_revealed() -> None:
    found = log()
    for client, commitment in ((ALICE, coin_commitment(ALICE, COIN, SALT)), (BOB, bytes(32))):
        found.add(said(client, "commit", CommitBody([], commitment)))
        found.add(said(client, "reveal", RevealBody(COIN, SALT)))
    assert list(found.said(TurnPhase.REVEAL)) == [ALICE]


def test_each_member_counts_once_for_what_it_passes_on() -> None:
    members, statement = set(IDENTITIES.values()), said(ALICE, "made", MadeBody(b""))
    alice, bob = IDENTITIES[ALICE], IDENTITIES[BOB]
    assert signer_count(statement, (), members) == 1
    assert signer_count(statement, (alice, bob, bob), members) == 2
    assert signer_count(statement, (bob,), members - {bob}) == 1
    assert signer_count(statement, (STRANGER,), members) == 1


@pytest.mark.parametrize(("members", "liars"), [(3, 1), (4, 1), (5, 2), (16, 7), (32, 15)])
def test_there_is_a_window_more_than_liars(members: int, liars: int) -> None:
    assert windows(members) == liars + 1
