"""The picture of a mesh has what its members agreed on last, as the server's observer knows it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from backend.protocols.mesh.byzantine.membership import MeshMembership, Newcomer, SeatedMember
from backend.protocols.mesh.byzantine.state import AgreedState, CheckedWork, UnableMember, WorkCase
from backend.protocols.mesh.byzantine.state_observer import StateObserver
from backend.server.mesh.overview import picture
from backend.server.mesh.peer_list import Peers
from tests.support.peer.byzantine_groups import rules_of
from tests.support.protocols.mesh_coordinator import waiting

NAMES = [f"{number:016x}" for number in range(1, 6)]
KEYS = {name: bytes.fromhex(name) * 4 for name in NAMES}
ANN, BOB, CAT, DAN, EVE = NAMES
SEATS = tuple(SeatedMember(name, KEYS[name]) for name in (ANN, BOB, CAT))
STATE = AgreedState(7, bytes(32), bytes(32), bytes([1] * 32), 0.0, MeshMembership(SEATS))


def shown(state: AgreedState | None) -> Any:
    observer = StateObserver("digits", rules_of())
    observer.newest = state
    return picture(Peers(), waiting(0), 0, observer)["state"]


def test_nothing_is_agreed_in_other_meshes_and_before_the_first_state() -> None:
    assert picture(Peers(), waiting(0), 0, None)["state"] is None
    assert shown(None) is None


def test_seats_newcomers_and_bans_are_shown() -> None:
    missing = replace(SEATS[1], absences=(2, 6))
    back = replace(SEATS[2], absences=(2,))
    membership = MeshMembership(
        (SEATS[0], missing, back), (Newcomer(DAN, KEYS[DAN], rounds=3, audits=(1,)),), (KEYS[EVE],)
    )
    found = shown(replace(STATE, radius=0.5, membership=membership))
    assert (found["round"], found["radius"]) == (7, 0.5)
    assert found["seats"] == [
        {"client": ANN, "absences": [], "rests_until": None, "checks_from": None},
        {"client": BOB, "absences": [2, 6], "rests_until": 12, "checks_from": None},
        {"client": CAT, "absences": [2], "rests_until": None, "checks_from": None},
    ]
    assert found["newcomers"] == [{"client": DAN, "rounds": 3, "audits": 1}]
    assert found["banned"] == [KEYS[EVE].hex()]


def test_who_is_unable_to_check_others_work_is_shown_until_it_is_drawn_again() -> None:
    found = shown(replace(STATE, unable=(UnableMember(BOB, 3),)))
    assert [seat["checks_from"] for seat in found["seats"]] == [None, 24, None]


def test_cases_and_validations_of_the_next_round_are_shown() -> None:
    state = replace(
        STATE,
        works=tuple(CheckedWork(name, bytes(32)) for name in (ANN, BOB, CAT)),
        court=(WorkCase(ANN, 6, BOB), WorkCase(CAT, 6, ""), WorkCase(DAN, 5, ANN, CAT)),
        doubtful=(WorkCase(BOB, 5, ANN),),
    )
    found = shown(state)
    assert found["radius"] is None
    assert found["court"] == [
        {"target": ANN, "round": 6, "validator": BOB, "second": None},
        {"target": CAT, "round": 6, "validator": None, "second": None},
        {"target": DAN, "round": 5, "validator": ANN, "second": CAT},
    ]
    assert found["doubtful"] == [{"target": BOB, "round": 5, "validator": ANN, "second": None}]
    [drawn, *further] = found["validating"]
    assert drawn["round"] == 7
    assert drawn["target"] != drawn["validator"]
    assert {drawn["target"], drawn["validator"]} <= {ANN, BOB, CAT}
    assert all(case["target"] == BOB for case in further)
    suspected = shown(replace(STATE, suspected=(WorkCase(DAN, 6, BOB),)))["suspected"]
    assert suspected == [{"target": DAN, "round": 6, "validator": BOB, "second": None}]
