"""One peer of a mesh falls silent, without closing anything, and would idle all others; on virtual time."""

from __future__ import annotations

from typing import Any

from backend.protocols.mesh import coordinator_effects
from backend.protocols.mesh.coordinator import MeshCoordinator
from backend.protocols.rounds.phases import RoundPhase
from backend.wire.mesh_messages import Failed, Group
from tests.support.protocols.mesh_coordinator import (
    ONE,
    TWO,
    average_all,
    averaging,
    only,
    report,
    train_all,
)

PATIENCE = 5.0
FEWEST = {"min_available_clients": 2}
AVERAGED_AT = 3.0


def all_but_the_last_report(
    count: int, group_size: int = 8, plan: dict[str, Any] | None = None
) -> tuple[MeshCoordinator, list[Group], str]:
    """Groups of which all members report but one, whose line to server and peers was cut without notice."""
    machine, groups = averaging(count, FEWEST | (plan or {}), patience=PATIENCE, group_size=group_size)
    silent = groups[-1].members[-1]
    for group, weights in zip(groups, (ONE, TWO), strict=False):
        for name in group.members:
            if name != silent:
                machine.peer_averaged(name, report(group, weights), AVERAGED_AT)
    return machine, groups, silent


def until_recorded(machine: MeshCoordinator, now: float) -> list[coordinator_effects.Effect]:
    """The weights of the round are brought and recorded; returns what follows."""
    machine.deposited(ONE)
    return machine.recorded(machine.version + 1, now)


def test_after_a_majority_has_reported_one_silent_cut_idles_nobody_longer_than_the_patience() -> None:
    machine, _, _ = all_but_the_last_report(5)
    timer = machine.timer()
    assert timer is not None
    assert timer <= AVERAGED_AT + PATIENCE
    assert only(coordinator_effects.AskDeposit, machine.time_passed(timer))


def test_a_silent_cut_in_one_of_several_groups_idles_the_others_no_longer_either() -> None:
    machine, groups, _ = all_but_the_last_report(6, group_size=3)
    assert len(groups) == 2
    timer = machine.timer()
    assert timer is not None
    assert timer <= AVERAGED_AT + PATIENCE
    assert only(coordinator_effects.AskDeposit, machine.time_passed(timer))


def test_a_group_without_a_majority_has_all_its_time() -> None:
    machine, [group] = averaging(5, patience=PATIENCE)
    for name in group.members[:2]:
        machine.peer_averaged(name, report(group), AVERAGED_AT)
    timer = machine.timer()
    assert timer is not None
    assert timer > AVERAGED_AT + group.seconds


def test_a_report_that_comes_while_the_weights_are_brought_still_counts() -> None:
    machine, [group], late = all_but_the_last_report(5)
    machine.time_passed(AVERAGED_AT + PATIENCE)
    machine.peer_averaged(late, report(group), AVERAGED_AT + PATIENCE + 1)
    [record] = machine.deposited(ONE)
    assert isinstance(record, coordinator_effects.RecordWeights)
    assert set(record.outcome.averaged) == set(record.outcome.trained) == set(group.members)
    # A lie that comes as late counts no more than one in time.
    machine, [group], late = all_but_the_last_report(5)
    machine.time_passed(AVERAGED_AT + PATIENCE)
    machine.peer_averaged(late, report(group, TWO), AVERAGED_AT + PATIENCE + 1)
    [record] = machine.deposited(ONE)
    assert isinstance(record, coordinator_effects.RecordWeights)
    assert late not in record.outcome.averaged
    assert machine.phase is RoundPhase.AGGREGATING


def test_one_that_was_silent_in_its_group_is_not_awaited_in_the_next_round() -> None:
    machine, [group], silent = all_but_the_last_report(5)
    machine.time_passed(AVERAGED_AT + PATIENCE)
    [opened] = only(coordinator_effects.MeshRoundOpened, until_recorded(machine, 9.0))
    assert set(opened.cohort) == set(group.members) - {silent}


def test_one_that_its_group_dropped_as_silent_is_not_awaited_in_the_next_round() -> None:
    machine, [group] = averaging(5, FEWEST, patience=PATIENCE)
    for name in group.members[:4]:
        machine.peer_averaged(name, report(group, survivors=[0, 1, 2, 3]), AVERAGED_AT)
    [opened] = only(coordinator_effects.MeshRoundOpened, until_recorded(machine, 4.0))
    assert set(opened.cohort) == set(group.members[:4])


def test_one_that_was_silent_is_back_as_soon_as_it_is_heard_from() -> None:
    machine, _, silent = all_but_the_last_report(5)
    machine.time_passed(AVERAGED_AT + PATIENCE)
    until_recorded(machine, 9.0)
    # Its process goes on, and reports the end of its group, which is over for the server.
    assert machine.peer_reported(silent, 10.0) == []
    [second] = train_all(machine, 11.0)
    assert silent not in second.members
    average_all(machine, second, 12.0, TWO)
    machine.deposited(TWO)
    [opened] = only(coordinator_effects.MeshRoundOpened, machine.recorded(2, 13.0))
    assert silent in opened.cohort


def test_a_mesh_that_needs_the_silent_one_begins_when_it_is_heard_from() -> None:
    machine, [group], silent = all_but_the_last_report(3, plan={"min_available_clients": 3})
    machine.time_passed(AVERAGED_AT + PATIENCE)
    assert only(coordinator_effects.MeshRoundOpened, until_recorded(machine, 9.0)) == []
    assert machine.phase is RoundPhase.WAITING
    failed = Failed(round=group.round, group=group.group, reason="The group's time is over.")
    machine.peer_failed(silent, failed, 20.0)
    [opened] = only(coordinator_effects.MeshRoundOpened, machine.time_passed(21.0))
    assert set(opened.cohort) == set(group.members)


def test_one_that_lost_its_connection_before_it_was_heard_from_is_asked_when_it_is_ready() -> None:
    machine, _, silent = all_but_the_last_report(5)
    machine.time_passed(AVERAGED_AT + PATIENCE)
    until_recorded(machine, 9.0)
    machine.client_left(silent, 10.0, lost=True)
    machine.peer_entered(silent, 11.0)
    # It sends its report first, but has not said yet that it can train.
    machine.peer_reported(silent, 11.0)
    assert not machine.attendance.is_ready(silent)
    machine.client_ready(silent, 11.0)
    assert machine.attendance.is_ready(silent)
