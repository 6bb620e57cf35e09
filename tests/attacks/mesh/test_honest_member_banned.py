"""Liars present evidence against an honest member, to have it banned from the task for ever.

Fewer than half of the members lie; they have each other's keys, and all that anybody ever said.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import msgspec
import pytest
from msgspec.structs import replace

from backend.crypto.statements import coin_commitment
from backend.errors import EvidenceError
from backend.protocols.mesh.byzantine.evidence.conviction import check_evidence, convict
from backend.protocols.mesh.byzantine.membership import MeshMembership, SeatedMember
from backend.protocols.mesh.byzantine.state import WorkCase
from backend.wire.ban_evidence import BanEvidence, TurnSaid, encode_evidence
from backend.wire.byzantine_bodies import Body, MadeBody, VerdictBody, WorkFinding
from backend.wire.byzantine_messages import Said
from tests.support.protocols.byzantine.played_turn import RUN, TASK, PlayedTurn, members, state_of

KEYS = members(5)
LIAR, FELLOW, HONEST, OTHER, LAST = KEYS
STATE = state_of(KEYS)
CASE = WorkCase(HONEST, 5, LIAR)


@pytest.fixture(scope="module")
def turn() -> PlayedTurn:
    return PlayedTurn(KEYS, STATE)


def refused(evidence: BanEvidence, reason: str) -> None:
    with pytest.raises(EvidenceError, match=reason):
        convict(encode_evidence(evidence))


def with_said(evidence: BanEvidence, said: Sequence[Said]) -> BanEvidence:
    return replace(evidence, turns=[replace(evidence.turns[0], said=list(said))])


def test_of_statements_that_it_never_signed(turn: PlayedTurn) -> None:
    true = turn.said["made", HONEST]
    liars = turn.say(LIAR, "made", MadeBody(bytes([1] * 32)), true.before)
    forged = replace(true, body=liars.body)
    refused(turn.evidence("two-words", HONEST, [true, forged]), "did not sign")
    refused(
        turn.evidence("two-words", HONEST, [true, replace(forged, signature=liars.signature)]), "did not sign"
    )
    refused(
        turn.evidence("two-words", HONEST, [true, replace(liars, identity=true.identity)]), "did not sign"
    )


def test_of_one_statement_told_twice(turn: PlayedTurn) -> None:
    true = turn.said["made", HONEST]
    refused(turn.evidence("two-words", HONEST, [true, true]), "there twice")


def test_of_statements_of_two_phases_turns_attempts_and_rounds(turn: PlayedTurn) -> None:
    true = turn.said["commit", HONEST]
    refused(turn.evidence("two-words", HONEST, [true, turn.said["made", HONEST]]), "did not say two")
    later = replace(STATE, round=STATE.round + 1)
    for another in (
        PlayedTurn(KEYS, STATE, turn=2),
        PlayedTurn(KEYS, later),
        PlayedTurn(KEYS, STATE, [LIAR]),
    ):
        said = another.said["commit", HONEST]
        if another.turn != turn.turn:
            refused(turn.evidence("two-words", HONEST, [true, said]), "did not sign")
    # Who takes part in the turn, and how often a round was tried, are in what is signed.
    evidence = turn.evidence("two-words", HONEST, [true, turn.said["made", HONEST]])
    for changed in (
        replace(evidence.turns[0], attempt=(STATE.round + 1, 2)),
        replace(evidence.turns[0], turn=2),
        replace(evidence.turns[0], active=[LIAR, HONEST, OTHER, LAST]),
        replace(evidence.turns[0], state=msgspec.msgpack.encode(later)),
    ):
        refused(replace(evidence, turns=[changed]), "did not sign")


def test_of_another_task_or_run(turn: PlayedTurn) -> None:
    evidence = turn.evidence("two-words", HONEST, [turn.said["made", HONEST], turn.said["made", HONEST]])
    refused(replace(evidence, task="other"), "did not sign")
    refused(replace(evidence, run="cd" * 32), "did not sign")
    liar = turn.evidence(
        "two-words",
        LIAR,
        [turn.said["made", LIAR], turn.again(turn.said["made", LIAR], MadeBody(bytes([1] * 32)))],
    )
    data = encode_evidence(liar)
    assert convict(data, TASK, RUN).client == LIAR
    with pytest.raises(EvidenceError, match="another task or run"):
        convict(data, "other")
    with pytest.raises(EvidenceError, match="another task or run"):
        convict(data, TASK, "cd" * 32)


def test_by_a_liars_guilt_under_another_name(turn: PlayedTurn) -> None:
    words = [turn.said["made", LIAR], turn.again(turn.said["made", LIAR], MadeBody(bytes([1] * 32)))]
    guilty = turn.evidence("two-words", LIAR, words)
    assert check_evidence(guilty).identity == turn.identity(LIAR)
    refused(replace(guilty, client=HONEST), "another key")
    refused(replace(guilty, identity=turn.identity(HONEST)), "another key")
    refused(replace(guilty, client=HONEST, identity=turn.identity(HONEST)), "did not say two")
    # In a state that liars made up their own keys stand for the honest member's name: its key is safe.
    seats = tuple(
        SeatedMember(seat.client, turn.identity(LIAR) if seat.client == HONEST else seat.identity)
        for seat in STATE.membership.seats
        if seat.client != LIAR
    )
    keys = {**KEYS, HONEST: KEYS[LIAR]}
    del keys[LIAR]
    made_up = PlayedTurn(keys, replace(STATE, membership=MeshMembership(seats)))
    true = made_up.said["made", HONEST]
    found = check_evidence(
        made_up.evidence("two-words", HONEST, [true, made_up.again(true, MadeBody(bytes(32)))])
    )
    assert found.identity == turn.identity(LIAR)


def test_by_a_piece_that_a_liar_committed_to_afterwards(turn: PlayedTurn) -> None:
    evidence, part = turn.wrong_mean(HONEST), turn.workers.index(HONEST)
    content = bytes(len(evidence.contents[0]))
    body = turn.body("commit", LIAR)
    pieces = list(body.pieces)
    replaced, pieces[part] = pieces[part], hashlib.sha256(content).digest()
    other = turn.again(turn.said["commit", LIAR], replace(body, pieces=pieces))
    said = [other if one == turn.said["commit", LIAR] else one for one in evidence.turns[0].said]
    contents = [one for one in evidence.contents if hashlib.sha256(one).digest() != replaced]
    refused(replace(with_said(evidence, said), contents=[*contents, content]), "had not heard")
    # Both commitments: the liar said two things, and the honest member nothing wrong.
    both = with_said(evidence, [*evidence.turns[0].said, other])
    refused(replace(both, contents=[*contents, content]), "two things")


def test_by_a_mean_or_coin_that_a_liar_told_afterwards(turn: PlayedTurn) -> None:
    part, phases = turn.workers.index(LIAR), ("commit", "made", "reveal")
    evidence = turn.wrong_check(HONEST, part)

    def instead(phase: str, body: Body) -> list[Said]:
        other = turn.again(turn.said[phase, LIAR], body)
        return [other if one == turn.said[phase, LIAR] else one for one in evidence.turns[0].said]

    content = bytes(32)
    own = turn.contents[turn.pieces(part)[turn.workers.index(HONEST)]]
    said = instead("made", MadeBody(hashlib.sha256(content).digest()))
    refused(replace(with_said(evidence, said), contents=[own, content]), "had not heard")
    coin, salt = bytes([1] * 32), bytes([2] * 32)
    commitment = replace(turn.body("commit", LIAR), coin=coin_commitment(LIAR, coin, salt))
    revealed = replace(turn.body("reveal", LIAR), coin=coin, salt=salt)
    said = [
        new if new not in turn.all(*phases) else old
        for new, old in zip(instead("commit", commitment), instead("reveal", revealed), strict=True)
    ]
    refused(with_said(evidence, said), "had not heard")
    # A coin that is not the one committed to counts as none.
    refused(with_said(evidence, instead("reveal", revealed)), "had not heard")


def test_by_leaving_out_what_it_had_heard(turn: PlayedTurn) -> None:
    evidence = turn.wrong_mean(HONEST)
    said = evidence.turns[0].said
    refused(with_said(evidence, said[1:]), "missing")
    fewer = replace(evidence.turns[0], active=[FELLOW, HONEST, OTHER, LAST], said=said[1:])
    refused(replace(evidence, turns=[fewer]), "did not sign")
    refused(replace(evidence, contents=evidence.contents[1:]), "missing")
    refused(replace(evidence, part=0), "not the accused's")
    numbers = turn.wrong_check(HONEST, 0)
    refused(replace(numbers, part=1), "missing")
    refused(
        with_said(numbers, numbers.turns[0].said[:-2] + numbers.turns[0].said[-1:]), "need all statements"
    )


def judging(state_turn: PlayedTurn, judges: Sequence[str]) -> list[Said]:
    return [state_turn.said["commit", one] for one in judges]


def test_by_a_court_of_strangers(turn: PlayedTurn) -> None:
    """Anybody can make up a state, give its own keys the seats, and let them judge."""
    strangers = members(9)
    for honest in (OTHER, LAST, FELLOW):
        strangers.pop(honest)
    strangers[HONEST] = KEYS[HONEST]
    made_up = replace(state_of(strangers), court=(CASE,))
    finding = [WorkFinding(HONEST, CASE.round, "other")]
    judges = [one for one in strangers if one != HONEST]
    court = PlayedTurn(strangers, made_up, judgements=dict.fromkeys(judges, finding), active=judges)
    refused(court.evidence("majority", HONEST, judging(court, judges)), "Nothing shows")
    # What the honest member truly said belongs to another state.
    anchored = [turn.of([turn.said["commit", HONEST]]), court.of(judging(court, judges))]
    evidence = replace(court.evidence("majority", HONEST, judging(court, judges)), turns=anchored)
    refused(evidence, "agreed on the state")
    verdict, before = VerdictBody(made_up.digest()), turn.heard("check")
    verdicts = [turn.say(one, "verdict", verdict, before) for one in (LIAR, FELLOW)]
    anchored = [turn.of([turn.said["commit", HONEST], *verdicts]), anchored[1]]
    refused(replace(evidence, turns=anchored), "agreed on the state")
    refused(
        replace(evidence, turns=[replace(anchored[0], state=anchored[1].state), anchored[1]]), "had no seat"
    )


def test_by_a_minority_of_the_court(turn: PlayedTurn) -> None:
    state = replace(STATE, court=(CASE,))
    liars = [LIAR, FELLOW]
    court = PlayedTurn(
        KEYS, state, judgements={one: [WorkFinding(HONEST, CASE.round, "other")] for one in liars}
    )
    own = court.said["commit", HONEST]
    refused(court.evidence("majority", HONEST, [own, *judging(court, liars)]), "No more than half")
    # Saying so twice, or in other words, makes no third voice.
    again = court.again(court.said["commit", LIAR], replace(court.body("commit", LIAR), coin=bytes([1] * 32)))
    refused(court.evidence("majority", HONEST, [own, *judging(court, liars), again]), "No more than half")
    # Nor does a judgement about another round, or that of an honest member who found the same.
    refused(court.evidence("majority", HONEST, [own, *judging(court, [*liars, OTHER])]), "No more than half")
    accused = replace(STATE, court=(replace(CASE, round=4),))
    refused(
        replace(
            court.evidence("majority", HONEST, [own, *judging(court, liars)]),
            turns=[replace(court.of([own, *judging(court, liars)]), state=msgspec.msgpack.encode(accused))],
        ),
        "did not sign",
    )


GUILTY: dict[str, Callable[[], BanEvidence]] = {}


def guilty(name: str) -> Callable[[Callable[[], BanEvidence]], Callable[[], BanEvidence]]:
    def keep(make: Callable[[], BanEvidence]) -> Callable[[], BanEvidence]:
        GUILTY[name] = make
        return make

    return keep


@guilty("two-words")
def two_words() -> BanEvidence:
    turn = PlayedTurn(KEYS, STATE)
    words = [turn.said["made", LIAR], turn.again(turn.said["made", LIAR], MadeBody(bytes([1] * 32)))]
    return turn.evidence("two-words", LIAR, words)


@guilty("wrong-mean")
def wrong_mean() -> BanEvidence:
    lie = {("made", LIAR): lambda body: replace(body, mean=bytes([1] * 32))}
    return PlayedTurn(KEYS, STATE, lies=lie).wrong_mean(LIAR)


@guilty("wrong-check")
def wrong_check() -> BanEvidence:
    lie = {("check", LIAR): lambda body: replace(body, products=[0.0] * 5)}
    return PlayedTurn(KEYS, STATE, lies=lie).wrong_check(LIAR, 1)


@guilty("majority")
def majority() -> BanEvidence:
    honest = [HONEST, OTHER, LAST]
    found = [WorkFinding(LIAR, 5, "other")]
    court = PlayedTurn(
        KEYS,
        replace(STATE, court=(WorkCase(LIAR, 5, OTHER),)),
        judgements=dict.fromkeys(honest, found),
    )
    return court.evidence("majority", LIAR, judging(court, [LIAR, *honest]))


@pytest.mark.parametrize("kind", GUILTY)
def test_by_evidence_of_which_a_byte_was_altered(kind: str) -> None:
    """True evidence against a liar, each byte of it altered, convicts nobody: least of all another one."""
    evidence = GUILTY[kind]()
    data = encode_evidence(evidence)
    assert convict(data).identity == evidence.identity
    for place in range(len(data)):
        altered = bytearray(data)
        altered[place] ^= 1 << place % 8
        with pytest.raises(EvidenceError):
            convict(bytes(altered))
    for end in (0, 1, len(data) // 2, len(data) - 1):
        with pytest.raises(EvidenceError):
            convict(data[:end])
    with pytest.raises(EvidenceError):
        convict(data + b"\0")


@pytest.mark.parametrize("kind", GUILTY)
def test_by_evidence_with_something_added(kind: str) -> None:
    """The same guilt has one hash: nothing can be added, so that nobody keeps it a thousand times."""
    evidence = GUILTY[kind]()
    first = evidence.turns[0]
    more = [*first.said, PlayedTurn(KEYS, STATE).said["reveal", LIAR]]
    for changed in (
        replace(evidence, contents=[*evidence.contents, b"more"]),
        replace(evidence, turns=[first, first]),
        replace(evidence, turns=[TurnSaid(first.state, first.attempt, first.turn, first.active, more)]),
    ):
        with pytest.raises(EvidenceError):
            check_evidence(changed)
