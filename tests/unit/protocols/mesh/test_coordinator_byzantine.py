"""Rounds of members that check each other: one group of all, whose agreement is the result."""

from __future__ import annotations

from backend.errors import BadExamplesError, NotFiniteError, WrongLengthError
from backend.protocols.mesh import coordinator_effects
from backend.protocols.mesh.group_orders import byzantine_seconds
from backend.protocols.rounds.phases import RoundPhase
from tests.support.protocols.mesh_coordinator import (
    ANN,
    BOB,
    CAT,
    ONE,
    TWO,
    averaging,
    client,
    only,
    recorded,
    report,
    said,
    train_all,
    training,
)

CHECKED = {"byzantine": True, "exchange": "butterfly", "precision": "float32", "group_size": 32}
STEPS = {"steps": 10, "batch_size": 8, "shard_examples": (4,) * 40}


def test_all_make_one_group_in_which_all_weigh_alike() -> None:
    machine, groups = averaging(12, STEPS, **CHECKED)
    [group] = groups
    assert group.members == [client(number) for number in range(12)]
    assert (group.exchange, group.precision, group.reducer) == ("butterfly", "float32", "mean")
    assert (group.least, group.most_weight) == (2, 1.0)
    assert len(group.bounds) == 13
    assert machine.phase is RoundPhase.AGGREGATING


def test_a_group_has_time_for_turns_in_which_members_are_missing() -> None:
    _, [group] = averaging(16, STEPS, seconds=10.0, **CHECKED)
    # Two turns of 4 + 3 + 8 windows of patience, and one without faults.
    assert group.seconds == byzantine_seconds(16, 0.5) == 24.0
    _, [group] = averaging(16, STEPS, seconds=60.0, **CHECKED)
    assert group.seconds == 60.0


def test_of_more_than_fit_those_with_a_seat_come_first() -> None:
    machine, [first] = averaging(34, STEPS | {"shard_examples": (4,) * 40}, **CHECKED)
    assert len(first.members) == 32
    machine.state_agreed(ONE, first.members, 3.0)
    recorded(machine, first, 3.0)
    machine.time_passed(4.0)
    left_out = {client(number) for number in range(34)} - set(first.members)
    assert machine.open is None or machine.round == 2
    for name in left_out:
        machine.client_ready(name, 4.0)
    machine.time_passed(5.0)
    [second] = train_all(machine, 6.0)
    assert second.members == first.members


def test_those_with_a_seat_go_on_where_banned_liars_leave_fewer_than_began() -> None:
    machine, [first] = averaging(4, STEPS | {"min_available_clients": 4}, **CHECKED)
    machine.state_agreed(ONE, first.members[1:], 3.0)
    recorded(machine, first, 3.0)
    machine.client_left(first.members[0], 3.5, lost=False)
    for name in first.members[1:]:
        machine.client_ready(name, 4.0)
    assert machine.needed() == 0
    machine.client_left(first.members[1], 4.5, lost=False)
    assert machine.needed() == 1


def test_members_may_report_what_a_coin_drew_and_no_more() -> None:
    machine = training(3, STEPS, **CHECKED)
    # The server assigned a shard of 4 examples, the coin draws one of any size.
    machine.peer_trained(ANN, said(machine, ANN, examples=80, steps=10, base=TWO), 2.0)
    for name, changes, error in (
        (BOB, {"examples": 81, "steps": 10}, BadExamplesError),
        (CAT, {"examples": 80, "steps": 11}, BadExamplesError),
    ):
        [refused] = only(
            coordinator_effects.RefuseReport, machine.peer_trained(name, said(machine, name, **changes), 2.0)
        )
        assert isinstance(refused.error, error)


def test_who_only_checks_others_reports_no_work_of_its_own() -> None:
    machine = training(4, STEPS, **CHECKED)
    assert not only(
        coordinator_effects.RefuseReport,
        machine.peer_trained(ANN, said(machine, ANN, examples=0, steps=0, loss=0.0, sums=[]), 2.0),
    )
    for name, changes, error in (
        (BOB, {"examples": 0, "steps": 0}, BadExamplesError),
        (CAT, {"sums": []}, WrongLengthError),
        (client(3), {"examples": 0, "steps": 0, "sums": [], "loss": float("nan")}, NotFiniteError),
    ):
        [refused] = only(
            coordinator_effects.RefuseReport, machine.peer_trained(name, said(machine, name, **changes), 2.0)
        )
        assert isinstance(refused.error, error)


def test_in_another_mesh_who_reports_no_work_is_refused() -> None:
    machine = training(3)
    effects = machine.peer_trained(ANN, said(machine, ANN, examples=0, steps=0, sums=[]), 2.0)
    assert only(coordinator_effects.RefuseReport, effects)


def test_a_member_that_made_no_part_of_the_result_may_hold_it() -> None:
    machine, [group] = averaging(3, STEPS, **CHECKED)
    machine.state_agreed(ONE, [ANN, BOB], 3.0)
    effects = machine.peer_averaged(CAT, report(group, ONE, [0, 1]), 3.0)
    assert not only(coordinator_effects.RefuseReport, effects)
    machine.peer_averaged(ANN, report(group, ONE, [0, 1]), 3.0)
    machine.peer_averaged(BOB, report(group, ONE, [0, 1]), 3.0)
    assert machine.wants(ONE)


def test_the_result_is_what_members_proved_however_many_report_something_else() -> None:
    machine, [group] = averaging(5, STEPS, **CHECKED)
    for name in group.members[:4]:
        machine.peer_averaged(name, report(group, TWO, [0, 1, 2, 3]), 3.0)
    assert machine.open is not None
    assert not machine.open.results()
    machine.state_agreed(ONE, group.members, 3.5)
    machine.peer_averaged(group.members[4], report(group, ONE, [4, 3]), 4.0)
    assert machine.wants(ONE)
    assert machine.depositing is not None
    assert machine.depositing.outcome.averaged.keys() == {group.members[4]}


def test_a_round_whose_members_prove_nothing_has_no_result() -> None:
    machine, [group] = averaging(3, STEPS, **CHECKED)
    for name in group.members:
        machine.peer_averaged(name, report(group, ONE), 3.0)
    machine.time_passed(3.0 + 2 * group.seconds)
    assert machine.version == 0
    assert not machine.wants(ONE)
