"""Evidence convicts who lied, of what it did, and can be checked by anybody."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from backend.errors import EvidenceError
from backend.protocols.mesh.byzantine.evidence.building import EvidenceBuilder
from backend.protocols.mesh.byzantine.evidence.conviction import Conviction, check_evidence, convict
from backend.protocols.mesh.byzantine.state import WorkCase
from backend.wire.ban_evidence import BanEvidence, encode_evidence
from backend.wire.byzantine_bodies import (
    Body,
    CheckBody,
    CommitBody,
    Judged,
    MadeBody,
    VerdictBody,
    WorkFinding,
)
from tests.support.protocols.byzantine.played_turn import RUN, TASK, PlayedTurn, members, state_of

KEYS = members(4)
ALICE, BOB, CAROL, DAVE = KEYS
STATE = state_of(KEYS)
SHORT = hashlib.sha256(b"\1").digest()
CASE = WorkCase(DAVE, 5, BOB)
ACCUSED = replace(STATE, court=(CASE,))


def other_mean(body: Body) -> Body:
    assert isinstance(body, MadeBody)
    return replace(body, mean=bytes([1] * 32))


def other_numbers(body: Body) -> Body:
    assert isinstance(body, CheckBody)
    return replace(body, lengths=[*body.lengths[:2], math.nextafter(body.lengths[2], 9.0), *body.lengths[3:]])


def judged(found: Mapping[str, Judged]) -> dict[str, list[WorkFinding]]:
    return {client: [WorkFinding(CASE.target, CASE.round, one)] for client, one in found.items()}


def again(evidence: BanEvidence) -> Conviction:
    return convict(encode_evidence(evidence), TASK, RUN)


def test_two_words_convict_who_said_them() -> None:
    turn = PlayedTurn(KEYS, STATE)
    one = turn.said["reveal", BOB]
    other = turn.say(BOB, "reveal", turn.body("reveal", BOB), bytes([1] * 32))
    found = again(turn.evidence("two-words", BOB, [one, other]))
    assert (found.client, found.identity, found.kind, found.phase) == (
        BOB,
        turn.identity(BOB),
        "two-words",
        "reveal",
    )
    assert found.number == STATE.round + 1


@pytest.mark.parametrize("radius", [1.0, 0.0])
def test_a_wrong_mean_convicts_its_owner(radius: float) -> None:
    state = state_of(KEYS, radius)
    turn = PlayedTurn(KEYS, state, lies={("made", CAROL): other_mean})
    found = again(turn.wrong_mean(CAROL))
    assert (found.client, found.kind, found.part) == (CAROL, "wrong-mean", 2)


@pytest.mark.parametrize("radius", [1.0, 0.0])
def test_a_wrong_number_convicts_who_signed_it(radius: float) -> None:
    turn = PlayedTurn(KEYS, state_of(KEYS, radius), lies={("check", DAVE): other_numbers})
    found = again(turn.wrong_check(DAVE, 2))
    assert (found.client, found.kind, found.part) == (DAVE, "wrong-check", 2)
    with pytest.raises(EvidenceError, match="The numbers are right"):
        again(turn.wrong_check(DAVE, 1))


@pytest.mark.parametrize("radius", [1.0, 0.0])
def test_nobody_is_convicted_who_computed_right(radius: float) -> None:
    turn = PlayedTurn(KEYS, state_of(KEYS, radius), [BOB])
    for part, client in enumerate((ALICE, CAROL, DAVE)):
        with pytest.raises(EvidenceError, match="The mean is right"):
            again(turn.wrong_mean(client))
        with pytest.raises(EvidenceError, match="The numbers are right"):
            again(turn.wrong_check(client, part))


def test_more_than_half_of_the_members_convict_who_did_other_work() -> None:
    turn = PlayedTurn(KEYS, ACCUSED, judgements=judged({ALICE: "other", BOB: "other", CAROL: "other"}))
    said = [turn.said["commit", one] for one in (DAVE, ALICE, BOB, CAROL)]
    found = again(turn.evidence("majority", DAVE, said))
    assert (found.client, found.number, found.accuser, found.target) == (DAVE, 5, BOB, DAVE)
    with pytest.raises(EvidenceError, match="No more than half"):
        again(turn.evidence("majority", DAVE, said[:3]))


def test_more_than_half_of_the_members_convict_a_false_accuser() -> None:
    turn = PlayedTurn(KEYS, ACCUSED, judgements=judged({ALICE: "same", DAVE: "same", CAROL: "same"}))
    built = EvidenceBuilder(TASK, RUN, BOB, turn.identity(BOB)).convicted_by_court(
        [turn.of(turn.all("commit"))]
    )
    assert built is not None
    found = again(built)
    assert (found.client, found.accuser, found.target) == (BOB, BOB, DAVE)
    for one in (ALICE, CAROL, DAVE):
        builder = EvidenceBuilder(TASK, RUN, one, turn.identity(one))
        assert builder.convicted_by_court([turn.of(turn.all("commit"))]) is None


def test_who_leaves_after_it_was_accused_is_convicted_by_what_it_said_before() -> None:
    before = PlayedTurn(KEYS, STATE)
    accused = replace(STATE, round=STATE.round + 1, before=STATE.digest(), court=(CASE,))
    others = [ALICE, BOB, CAROL]
    after = PlayedTurn(
        KEYS, accused, judgements=judged(dict.fromkeys(others, "other")), turn=2, active=others
    )
    agreed = before.verdicts(accused)
    turns = [before.of([*before.all("commit"), *agreed]), after.of(after.all("commit"))]
    builder = EvidenceBuilder(TASK, RUN, DAVE, before.identity(DAVE))
    built = builder.convicted_by_court(turns)
    assert built is not None
    assert again(built).client == DAVE
    # Two of four are no majority, and without any nobody knows whose state it is.
    assert (
        builder.convicted_by_court([before.of([before.said["commit", DAVE], *agreed[:2]]), turns[1]]) is None
    )
    assert builder.convicted_by_court(turns[1:]) is None


def test_what_is_built_of_a_removal_convicts() -> None:
    turn = PlayedTurn(KEYS, STATE, [BOB], lies={("made", CAROL): other_mean, ("check", DAVE): other_numbers})
    carol, dave = (EvidenceBuilder(TASK, RUN, one, turn.identity(one)) for one in (CAROL, DAVE))
    said = turn.of([*turn.all("commit"), turn.said["made", CAROL]])
    built = carol.removed("wrong-mean", said, turn.contents.get)
    assert built is not None
    assert again(built).part == 1
    said = turn.of([*turn.all("commit", "made", "reveal"), turn.said["check", DAVE]])
    built = dave.removed("wrong-check", said, turn.contents.get)
    assert built is not None
    assert (again(built).part, len(built.contents)) == (2, 2)
    assert dave.removed("wrong-check", said, lambda _: None) is None


def test_numbers_about_a_piece_of_a_wrong_length_are_made_again_of_zeros() -> None:
    def short(body: Body) -> Body:
        assert isinstance(body, CommitBody)
        return replace(body, pieces=[*body.pieces[:2], SHORT, body.pieces[3]])

    turn = PlayedTurn(KEYS, STATE, lies={("commit", DAVE): short, ("check", DAVE): other_numbers})
    turn.keep(b"\1")
    builder = EvidenceBuilder(TASK, RUN, DAVE, turn.identity(DAVE))
    said = turn.of([*turn.all("commit", "made", "reveal"), turn.said["check", DAVE]])
    built = builder.removed("wrong-check", said, turn.contents.get)
    assert built is not None
    assert (again(built).part, len(built.contents)) == (2, 5)
    assert check_evidence(built).identity == turn.identity(DAVE)


def test_what_a_removed_member_signs_of_a_later_turn_spoils_no_evidence() -> None:
    others = (ALICE, BOB, CAROL)
    turn = PlayedTurn(KEYS, STATE, turn=2, active=others)
    stray = turn.say(DAVE, "verdict", VerdictBody(bytes(32)), bytes(32))
    kept = turn.of([*turn.all("commit"), stray]).said
    assert kept == turn.all("commit")
