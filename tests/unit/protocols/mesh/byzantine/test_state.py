"""The digest of a state covers all of it."""

from __future__ import annotations

from msgspec.structs import replace

from backend.protocols.mesh.byzantine.membership import MeshMembership, Newcomer, SeatedMember
from backend.protocols.mesh.byzantine.state import AgreedState, CheckedWork, WorkCase

ALICE, BOB = f"{1:016x}", f"{2:016x}"
SEATS = (SeatedMember(ALICE, bytes([1] * 32)), SeatedMember(BOB, bytes([2] * 32), (3,)))
STATE = AgreedState(4, bytes([3] * 32), bytes([4] * 32), bytes([5] * 32), 0.5, MeshMembership(SEATS))
CASE = WorkCase(ALICE, 4, BOB)


def test_every_field_changes_the_digest() -> None:
    newcomer = Newcomer("n", bytes([6] * 32), 1, 0)
    others = [
        replace(STATE, round=5),
        replace(STATE, weights=bytes(32)),
        replace(STATE, slots=bytes(32)),
        replace(STATE, coin=bytes(32)),
        replace(STATE, radius=0.25),
        replace(STATE, membership=MeshMembership(SEATS[:1])),
        replace(STATE, membership=MeshMembership((SEATS[0], replace(SEATS[1], absences=(2,))))),
        replace(STATE, membership=MeshMembership(SEATS, (newcomer,))),
        replace(STATE, membership=MeshMembership(SEATS, (replace(newcomer, audits=1),))),
        replace(STATE, membership=MeshMembership(SEATS, (), (bytes([6] * 32),))),
        replace(STATE, works=(CheckedWork(ALICE, bytes(32)),)),
        replace(STATE, court=(CASE,)),
        replace(STATE, doubtful=(CASE,)),
        replace(STATE, before=bytes([1] * 32)),
        replace(STATE, said=bytes([1] * 32)),
    ]
    digests = {state.digest() for state in (STATE, *others)}
    assert len(digests) == len(others) + 1
    assert replace(STATE).digest() == STATE.digest()
