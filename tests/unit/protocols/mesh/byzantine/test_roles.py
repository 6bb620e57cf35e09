"""The state and its coin say who works and who validates whom."""

from __future__ import annotations

from msgspec.structs import replace

from backend.protocols.mesh.byzantine.membership import MeshMembership, SeatedMember
from backend.protocols.mesh.byzantine.roles import basis_of, roles_of
from backend.protocols.mesh.byzantine.state import AgreedState, CheckedWork, UnableMember, WorkCase

NAMES = [f"{number:016x}" for number in range(7)]
SEATS = tuple(SeatedMember(name, name.encode().ljust(32)) for name in NAMES)
FIRST = AgreedState(0, bytes(32), bytes(32), bytes([1] * 32), 1.0, MeshMembership(SEATS))
LATER = replace(FIRST, round=3, works=tuple(CheckedWork(name, bytes(32)) for name in NAMES))


def test_nobody_validates_where_there_is_no_work_yet() -> None:
    roles = roles_of(FIRST, 2)
    assert (roles.audits, roles.workers, roles.seated) == ({}, tuple(NAMES), tuple(NAMES))


def test_validators_judge_others_and_do_not_work() -> None:
    roles = roles_of(LATER, 2)
    assert len(roles.audits) == 2
    assert set(roles.workers) | set(roles.audits) == set(NAMES)
    for validator, case in roles.audits.items():
        assert (case.validator, case.round) == (validator, 3)
        assert case.target in roles.workers


def test_a_newcomer_is_audited_by_one_more() -> None:
    state = replace(LATER, works=(*LATER.works, CheckedWork("f" * 16, bytes(32))))
    roles = roles_of(state, 1)
    assert sorted(case.target for case in roles.audits.values())[-1] == "f" * 16
    assert len(roles.audits) == 2


def test_of_three_seats_two_work_and_newcomers_are_audited_every_other_round() -> None:
    seats, newcomer = SEATS[:3], "f" * 16
    works = tuple(CheckedWork(name, bytes(32)) for name in (*NAMES[:3], newcomer))
    for number in (3, 4):
        roles = roles_of(replace(LATER, round=number, works=works, membership=MeshMembership(seats)), 1)
        assert len(roles.workers) == 2
        (case,) = roles.audits.values()
        assert (case.target == newcomer) == (number == 3)


def test_a_suspected_newcomer_is_judged_by_another_validator_at_once() -> None:
    newcomer = "f" * 16
    for accuser in NAMES:
        state = replace(LATER, suspected=(WorkCase(newcomer, 2, accuser),))
        (judge,) = [one for one, case in roles_of(state, 1).audits.items() if case.round == 2]
        assert judge != accuser
    few = replace(state, membership=MeshMembership(SEATS[:3]))
    (case,) = roles_of(few, 1).audits.values()
    assert (case.target, case.round) == (newcomer, 2)
    # Who accused it judges a member, as usual.
    (own,) = roles_of(replace(few, suspected=(WorkCase(newcomer, 2, case.validator),)), 1).audits.values()
    assert own.target in NAMES


def test_a_doubtful_case_goes_to_another_validator() -> None:
    for validator in NAMES[1:]:
        state = replace(LATER, doubtful=(WorkCase(NAMES[0], 2, validator),))
        (found,) = [one for one, case in roles_of(state, 1).audits.items() if case.round == 2]
        assert found not in (validator, NAMES[0])


def test_who_is_unable_to_judge_works_and_is_a_target_like_all() -> None:
    newcomer = CheckedWork("f" * 16, bytes(32))
    doubtful = (WorkCase(NAMES[3], 2, NAMES[4]),)
    state = replace(LATER, works=(*LATER.works, newcomer), doubtful=doubtful)
    unable = replace(state, unable=tuple(UnableMember(name, 3) for name in NAMES[:3]))
    targets = set[str]()
    for number in range(64):
        roles = roles_of(replace(unable, coin=bytes([number] * 32)), 1)
        assert len(roles.audits) >= 2
        assert not set(NAMES[:3]).intersection(roles.audits)
        targets |= {case.target for case in roles.audits.values()}
    assert targets.issuperset(NAMES)
    nobody = replace(state, unable=tuple(UnableMember(name, 3) for name in NAMES))
    assert roles_of(nobody, 1).workers == tuple(NAMES)


def test_who_was_removed_or_rests_has_no_part() -> None:
    gone = roles_of(LATER, 0, {NAMES[2]})
    assert NAMES[2] not in gone.workers
    assert gone.is_majority(4)
    assert not gone.is_majority(3)
    resting = replace(SEATS[3], absences=(3,))
    rested = roles_of(replace(LATER, membership=MeshMembership((*SEATS[:3], resting, *SEATS[4:]))), 0)
    assert NAMES[3] not in rested.seated


def test_a_turn_is_bound_to_the_state_the_attempt_and_to_who_is_in_it() -> None:
    bases = {basis_of(state, (7, 1), NAMES) for state in (FIRST, LATER)}
    bases |= {basis_of(LATER, attempt, NAMES) for attempt in ((8, 1), (7, 2))}
    assert len({*bases, basis_of(LATER, (7, 1), NAMES[1:])}) == 5
