"""A log keeps what was truly said in its turn, and both of two words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backend.crypto.client_keys import identity_key
from backend.crypto.statements import NOTHING_BEFORE, SignedStatement, TurnOfRound, coin_commitment, say
from backend.protocols.mesh.byzantine.relaying import Relayed, signed_on, signers, windows
from backend.protocols.mesh.byzantine.turn_log import TurnLog, TurnPhase
from backend.wire.byzantine_bodies import Body, CommitBody, MadeBody, RevealBody, VerdictBody, encode_body

KEYS = {f"{number:016x}": bytes([number] * 32) for number in range(1, 6)}
ALICE, BOB = list(KEYS)[:2]
TURN = TurnOfRound("digits", "ab" * 32, 7, 1, bytes(32))
COIN, SALT = bytes([3] * 32), bytes([4] * 32)


def log() -> TurnLog:
    return TurnLog(TURN, {client: identity_key(private) for client, private in KEYS.items()})


def said(client: str, phase: str, body: Body, turn: TurnOfRound = TURN) -> SignedStatement:
    return say(KEYS[client], turn, phase, NOTHING_BEFORE, encode_body(body))


def test_a_true_statement_is_kept_once() -> None:
    found, made = log(), said(ALICE, "made", MadeBody(b""))
    assert not found.knows(made)
    assert found.add(made) == ALICE
    assert found.add(made) is None
    assert found.knows(made)
    assert found.said(TurnPhase.MADE) == {ALICE: MadeBody(b"")}


@pytest.mark.parametrize(
    "statement",
    [
        said(ALICE, "made", MadeBody(b""), replace(TURN, turn=2)),
        said(ALICE, "made", VerdictBody(bytes(32))),
        said(ALICE, "made-1", MadeBody(b"")),
        said(ALICE, "call-64", MadeBody(b"")),
        said(ALICE, "song", MadeBody(b"")),
        replace(said(ALICE, "made", MadeBody(b"")), body=encode_body(MadeBody(bytes(32)))),
        replace(said(ALICE, "made", MadeBody(b"")), body=b"\xc1"),
        say(bytes([9] * 32), TURN, "made", NOTHING_BEFORE, encode_body(MadeBody(b""))),
    ],
    ids=["turn", "body", "number", "many", "phase", "forged", "bytes", "stranger"],
)
def test_anything_else_is_not(statement: SignedStatement) -> None:
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


def test_each_member_signs_once_for_what_it_passes_on() -> None:
    members = frozenset(map(identity_key, KEYS.values()))
    relayed = Relayed(said(ALICE, "made", MadeBody(b"")))
    assert signers(TURN, relayed, members) == 1
    for client in (ALICE, BOB, BOB):
        relayed = signed_on(KEYS[client], TURN, relayed)
    assert signers(TURN, relayed, members) == 2
    assert signers(TURN, relayed, members - {identity_key(KEYS[BOB])}) == 1
    stranger = signed_on(bytes([9] * 32), TURN, relayed)
    assert signers(TURN, stranger, members) == 2
    other = replace(TURN, turn=2)
    assert signers(other, relayed, members) == 1


@pytest.mark.parametrize(("members", "liars"), [(3, 1), (4, 1), (5, 2), (16, 7), (32, 15)])
def test_there_is_a_window_more_than_liars(members: int, liars: int) -> None:
    assert windows(members) == liars + 1
