"""The digest of a state covers all of it."""

from __future__ import annotations

from msgspec.structs import replace

from backend.protocols.mesh.byzantine.adoption import encode_state
from backend.protocols.mesh.byzantine.membership import (
    MOST_NEWCOMERS,
    MOST_SEATS,
    MeshMembership,
    Newcomer,
    SeatedMember,
)
from backend.protocols.mesh.byzantine.state import AgreedState, CheckedWork, UnableMember, WorkCase
from backend.wire.byzantine_bodies import VerdictBody, encode_body
from backend.wire.byzantine_messages import MOST_STATE, Said, TellState
from backend.wire.mesh_codec import encode_mesh

ALICE, BOB = f"{1:016x}", f"{2:016x}"
SEATS = (SeatedMember(ALICE, bytes([1] * 32)), SeatedMember(BOB, bytes([2] * 32), (3,)))
STATE = AgreedState(4, bytes([3] * 32), bytes([4] * 32), bytes([5] * 32), 0.5, MeshMembership(SEATS))
CASE = WorkCase(ALICE, 4, BOB)


def test_every_field_changes_the_digest() -> None:
    newcomer = Newcomer("n", bytes([6] * 32), 1)
    others = [
        replace(STATE, round=5),
        replace(STATE, weights=bytes(32)),
        replace(STATE, slots=bytes(32)),
        replace(STATE, coin=bytes(32)),
        replace(STATE, radius=0.25),
        replace(STATE, membership=MeshMembership(SEATS[:1])),
        replace(STATE, membership=MeshMembership((SEATS[0], replace(SEATS[1], absences=(2,))))),
        replace(STATE, membership=MeshMembership(SEATS, (newcomer,))),
        replace(STATE, membership=MeshMembership(SEATS, (replace(newcomer, audits=(1,)),))),
        replace(STATE, membership=MeshMembership(SEATS, (), (bytes([6] * 32),))),
        replace(STATE, works=(CheckedWork(ALICE, bytes(32)),)),
        replace(STATE, court=(CASE,)),
        replace(STATE, court=(replace(CASE, second=ALICE),)),
        replace(STATE, doubtful=(CASE,)),
        replace(STATE, suspected=(CASE,)),
        replace(STATE, before=bytes([1] * 32)),
        replace(STATE, said=bytes([1] * 32)),
        replace(STATE, unable=(UnableMember(ALICE, 4),)),
        replace(STATE, unable=(UnableMember(ALICE, 3),)),
    ]
    digests = {state.digest() for state in (STATE, *others)}
    assert len(digests) == len(others) + 1
    assert replace(STATE).digest() == STATE.digest()


def test_the_largest_state_fits_into_a_frame_with_all_signatures_and_hundreds_of_bans() -> None:
    digest, round_ = bytes(32), 1 << 31
    names = [f"{number:016x}" for number in range(MOST_SEATS + MOST_NEWCOMERS)]
    seats = tuple(SeatedMember(name, digest, (round_, round_)) for name in names[:MOST_SEATS])
    newcomers = tuple(Newcomer(name, digest, round_, tuple(range(MOST_SEATS))) for name in names[MOST_SEATS:])
    cases = (WorkCase(ALICE, round_, BOB, ALICE),) * MOST_SEATS
    state = replace(
        STATE,
        round=round_,
        membership=MeshMembership(seats, newcomers, (digest,) * 500),
        works=tuple(CheckedWork(name, digest) for name in names),
        court=cases,
        doubtful=cases,
        suspected=cases,
    )
    verdict = Said(digest, "verdict", digest, encode_body(VerdictBody(digest)), bytes(64))
    frame = TellState(encode_state(state), (round_, 0), 1, names[:MOST_SEATS], [verdict] * MOST_SEATS)
    assert len(encode_mesh(frame)) < MOST_STATE
