"""No change of what honest members said, by liars who sign what they like, convicts an honest member."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import get_args

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from backend.errors import EvidenceError
from backend.protocols.mesh.byzantine.evidence.conviction import check_evidence
from backend.protocols.mesh.byzantine.state import WorkCase
from backend.wire.ban_evidence import BanEvidence, EvidenceKind
from backend.wire.byzantine_bodies import CheckBody, CommitBody, MadeBody, WorkFinding, decode_body
from backend.wire.byzantine_messages import Said
from tests.support.protocols.byzantine.played_turn import PlayedTurn, members, state_of

KEYS = members(5)
LIAR, FELLOW, *HONEST = KEYS
STATE = replace(state_of(KEYS), court=(WorkCase(HONEST[0], 5, LIAR), WorkCase(FELLOW, 5, HONEST[1])))
JUDGEMENTS = {
    LIAR: [WorkFinding(HONEST[0], 5, "other"), WorkFinding(FELLOW, 5, "same")],
    FELLOW: [WorkFinding(HONEST[0], 5, "other"), WorkFinding(FELLOW, 5, "same")],
    **{one: [WorkFinding(HONEST[0], 5, "same"), WorkFinding(FELLOW, 5, "other")] for one in HONEST},
}


@cache
def turns() -> list[PlayedTurn]:
    """Two turns of a round, and one of the next."""
    return [
        PlayedTurn(KEYS, STATE, judgements=JUDGEMENTS),
        PlayedTurn(KEYS, STATE, [LIAR], judgements=JUDGEMENTS, turn=2),
        PlayedTurn(KEYS, replace(STATE, round=STATE.round + 1, before=STATE.digest())),
    ]


def lie(turn: PlayedTurn, said: Said, data: st.DataObject) -> Said:
    """Returns another statement in place of one of a liar, truly signed."""
    body, other = decode_body(said.body), data.draw(st.binary(min_size=32, max_size=32))
    before = data.draw(st.sampled_from((said.before, other, turn.heard("commit"), turn.heard("made"))))
    match body:
        case CommitBody(pieces) if pieces:
            place = data.draw(st.integers(0, len(pieces) - 1))
            known = data.draw(st.sampled_from([other, *turn.contents]))
            body = replace(body, pieces=[*pieces[:place], known, *pieces[place + 1 :]])
        case MadeBody():
            body = replace(body, mean=data.draw(st.sampled_from([other, *turn.contents])))
        case CheckBody(products) if products:
            body = replace(body, products=[data.draw(st.floats(-1, 1)) for _ in products])
        case _:
            pass
    client = next(one for one in (LIAR, FELLOW) if turn.identity(one) == said.identity)
    assert body is not None
    return turn.say(client, said.phase, body, before)


def statements(data: st.DataObject, turn: PlayedTurn, client: str) -> list[Said]:
    """Returns statements that might convict a client, some of them changed."""
    phases: Sequence[str] = data.draw(
        st.sampled_from([("commit",), ("commit", "made"), ("commit", "made", "reveal"), ("check",)])
    )
    last = data.draw(st.sampled_from(("commit", "made", "reveal", "check")))
    said = [*turn.all(*phases), turn.said[last, client]]
    liars = {turn.identity(one) for one in (LIAR, FELLOW)}
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(said) - 1))
        old = said[place]
        change = data.draw(st.sampled_from(("lie", "drop", "repeat", "other turn", "body", "first")))
        if change == "lie" and old.identity in liars:
            said[place] = lie(turn, old, data)
        elif change == "drop" and len(said) > 1:
            del said[place]
        elif change == "repeat":
            said.append(old)
        elif change == "other turn":
            other = data.draw(st.sampled_from(turns()))
            said[place] = data.draw(st.sampled_from(list(other.said.values())))
        elif change == "body":
            said[place] = replace(old, body=data.draw(st.sampled_from(said)).body)
        else:
            said.insert(0, said.pop(place))
    return said


@given(st.data())
def test_no_change_of_what_was_said_convicts_an_honest_member(data: st.DataObject) -> None:
    turn = data.draw(st.sampled_from(turns()))
    client = data.draw(st.sampled_from(HONEST))
    part = data.draw(st.integers(0, len(turn.workers) - 1))
    kind: EvidenceKind = data.draw(st.sampled_from(get_args(EvidenceKind)))
    said = statements(data, turn, client)
    wanted: list[bytes] = data.draw(
        st.sampled_from(
            [
                [],
                turn.pieces(part),
                [*turn.pieces(part)[:1], turn.mean(part)],
                data.draw(st.lists(st.sampled_from(list(turn.contents)), max_size=6)),
            ]
        )
    )
    evidence = turn.evidence(kind, client, said, part if kind != "majority" else 0, wanted)
    if data.draw(st.booleans()):
        evidence = elsewhere(data, evidence)
    try:
        found = check_evidence(evidence)
    except EvidenceError:
        return
    raise AssertionError(f"{found.client} was convicted of {found.kind}.")


def elsewhere(data: st.DataObject, evidence: BanEvidence) -> BanEvidence:
    """Returns the evidence with other turns around its statements, or before them."""
    turn = data.draw(st.sampled_from(turns()))
    said = evidence.turns[0]
    change = data.draw(st.sampled_from(("state", "turn", "active", "before")))
    if change == "state":
        return replace(evidence, turns=[replace(said, state=msgspec.msgpack.encode(turn.state))])
    if change == "turn":
        return replace(evidence, turns=[replace(said, turn=turn.turn.turn)])
    if change == "active":
        active = data.draw(st.lists(st.sampled_from(said.active), min_size=1, unique=True))
        return replace(evidence, turns=[replace(said, active=sorted(active))])
    first = turn.of([turn.said["commit", evidence.client]])
    return replace(evidence, turns=[first, said])
