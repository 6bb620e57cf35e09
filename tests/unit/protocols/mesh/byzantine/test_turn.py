"""What a member keeps and names of a turn is bounded, whatever others say."""

from __future__ import annotations

from backend.crypto.statements import NOTHING_BEFORE, Statement, TurnOfRound
from backend.protocols.mesh.byzantine.membership import MeshMembership, SeatedMember
from backend.protocols.mesh.byzantine.roles import roles_of
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.protocols.mesh.byzantine.turn import MOST_SEEN, Turn
from backend.protocols.mesh.byzantine.turn_log import TurnLog, TurnPhase
from backend.wire.byzantine_bodies import CommitBody, MadeBody, encode_body

NAMES = [f"{number:016x}" for number in range(3)]
NEWCOMERS = [f"{number:016x}" for number in range(100, 100 + 2 * MOST_SEEN)]
CLIENTS = {name: name.encode().ljust(32) for name in (*NAMES, *NEWCOMERS)}
SEATS = tuple(SeatedMember(name, CLIENTS[name]) for name in NAMES)
STATE = AgreedState(0, bytes(32), bytes(32), bytes([1] * 32), 1.0, MeshMembership(SEATS))


def begun() -> Turn:
    log = TurnLog(TurnOfRound("digits", "ab" * 32, 1, 1, bytes(32)), CLIENTS)
    return Turn(NAMES[0], roles_of(STATE, 1), log, 1.0, lambda parts: [0] * (parts + 1), b"", b"", 1.0)


def commit(client: str) -> Statement:
    return Statement(CLIENTS[client], "commit", NOTHING_BEFORE, encode_body(CommitBody([], bytes(32))))


def test_the_coin_draws_which_of_too_many_newcomers_a_member_names() -> None:
    turn = begun()
    for client in (NAMES[1], *NEWCOMERS):
        turn.log.add(commit(client))
    seen = [one.client for one in turn.seen_newcomers(STATE, CLIENTS)]
    assert (len(seen), seen) == (MOST_SEEN, sorted(seen))
    assert set(seen) < set(NEWCOMERS)
    assert seen != NEWCOMERS[:MOST_SEEN]


def test_two_words_of_a_client_and_phase_wait_for_the_end_of_an_exchange() -> None:
    turn = begun()
    for number in range(100):
        body = encode_body(MadeBody(bytes([number] * 32)))
        turn.early.add(Statement(CLIENTS[NAMES[1]], "made", NOTHING_BEFORE, body))
    turn.early.add(commit(NAMES[2]))
    assert turn.log.said(TurnPhase.COMMIT) == {}
    turn.hear_early()
    assert list(turn.log.said(TurnPhase.COMMIT)) == [NAMES[2]]
    assert turn.log.all_said(TurnPhase.MADE) == {
        NAMES[1]: [MadeBody(bytes(32)), MadeBody(bytes([1] * 32))],
    }
    assert list(turn.early.statements()) == []
