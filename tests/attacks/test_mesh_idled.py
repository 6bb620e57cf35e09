"""One peer of a mesh falls silent, without closing anything, and would idle all others; on virtual time."""

from __future__ import annotations

from backend.protocols.mesh import coordinator_effects
from backend.protocols.mesh.coordinator import MeshCoordinator
from backend.protocols.rounds.phases import RoundPhase
from backend.wire.mesh_messages import Group
from tests.support.protocols.mesh_coordinator import ONE, TWO, averaging, only, report

PATIENCE = 5.0
AVERAGED_AT = 3.0


def all_but_the_last_report(count: int, group_size: int = 8) -> tuple[MeshCoordinator, list[Group], str]:
    """Groups of which all members report but one, whose line to server and peers was cut without notice."""
    machine, groups = averaging(count, patience=PATIENCE, group_size=group_size)
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
