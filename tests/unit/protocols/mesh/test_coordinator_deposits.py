"""What the server asks of those who averaged, records, and believes of rounds that it saw no end of."""

from __future__ import annotations

from backend.protocols.mesh import coordinator_effects
from backend.protocols.mesh.coordinator import MeshCoordinator
from backend.protocols.mesh.deposits import DEPOSIT_SECONDS
from backend.protocols.rounds.phases import RETRY_SECONDS, RETURN_SECONDS, RoundPhase
from backend.protocols.rounds.round_effects import Abandon
from tests.support.protocols.mesh_coordinator import (
    ANN,
    AVERAGES,
    BOB,
    CAT,
    ONE,
    TWO,
    ZERO,
    average_all,
    averaging,
    client,
    only,
    proven,
    recorded,
    report,
    taken_up,
)
from tests.support.protocols.rounds import PLAN

# Of a group that an earlier start of the server made.


def test_one_survivor_is_asked_for_the_weights_and_another_when_it_brings_none() -> None:
    machine, [group] = averaging(3)
    [asked] = only(coordinator_effects.AskDeposit, average_all(machine, group, 3.0))
    assert (asked.client, asked.round, asked.weights) == (group.members[0], 1, ONE)
    assert machine.timer() == 3.0 + DEPOSIT_SECONDS
    [again] = machine.time_passed(18.0)
    assert isinstance(again, coordinator_effects.AskDeposit)
    assert again.client == group.members[1]


def test_what_is_brought_is_recorded_once_and_the_next_round_trains_from_it() -> None:
    machine, [group] = averaging(3)
    average_all(machine, group, 3.0)
    assert machine.deposited(TWO) == []
    [record] = machine.deposited(ONE)
    assert isinstance(record, coordinator_effects.RecordWeights)
    assert sorted(record.outcome.trained) == sorted(record.outcome.averaged) == [ANN, BOB, CAT]
    assert (machine.deposited(ONE), machine.timer()) == ([], None)
    orders = only(coordinator_effects.SendMeshTrain, machine.recorded(1, 4.0))
    assert {one.weights for one in orders} == {ONE}
    assert {one.round for one in orders} == {2}


def test_a_version_that_cannot_be_recorded_costs_the_record_only() -> None:
    machine, [group] = averaging(2)
    average_all(machine, group, 3.0)
    machine.deposited(ONE)
    assert machine.not_recorded("The disk is gone.", 4.0) == [Abandon(1, "The disk is gone.")]
    orders = only(coordinator_effects.SendMeshTrain, machine.time_passed(4.0 + RETRY_SECONDS))
    assert ({one.weights for one in orders}, machine.version) == ({ONE}, 0)


def test_weights_that_nobody_brings_are_gone_on_from_while_somebody_has_them() -> None:
    machine, [group] = averaging(2)
    average_all(machine, group, 3.0)
    [abandoned] = machine.time_passed(63.0)
    assert isinstance(abandoned, Abandon)
    orders = only(coordinator_effects.SendMeshTrain, machine.time_passed(63.0 + RETRY_SECONDS))
    assert {one.weights for one in orders} == {ONE}


def test_nobody_waits_for_weights_whose_holders_are_all_gone() -> None:
    machine, [group] = averaging(2)
    average_all(machine, group, 3.0)
    for name in group.members:
        machine.client_left(name, 4.0, lost=True)
    assert machine.time_passed(18.0) == []
    assert machine.timer() == 18.0 + RETURN_SECONDS
    [abandoned] = machine.time_passed(23.0)
    assert isinstance(abandoned, Abandon)
    assert "none uploaded" in abandoned.reason


def test_weights_that_nobody_has_any_more_are_given_up_for_those_of_the_record() -> None:
    machine, [group] = averaging(2)
    average_all(machine, group, 3.0)
    machine.time_passed(63.0)
    for name in (ANN, BOB):
        machine.client_left(name, 63.5, lost=False)
    for number in (7, 8):
        machine.peer_entered(client(number))
        machine.client_ready(client(number), 64.0)
    orders = only(coordinator_effects.SendMeshTrain, machine.time_passed(70.0))
    assert {one.weights for one in orders} == {ZERO}
    assert {one.round for one in orders} == {2}


def test_results_of_rounds_that_the_server_saw_no_end_of_are_gone_on_from() -> None:
    machine = MeshCoordinator(PLAN, AVERAGES, ZERO, weights_round=4, number=4, version=1, opening=2)
    machine.peer_entered(ANN, 0.0, proven(5, ONE))
    machine.peer_entered(BOB, 0.0, proven(5, ONE))
    for name in (ANN, BOB):
        machine.client_ready(name, 0.0)
    orders = only(coordinator_effects.SendMeshTrain, taken_up(machine, 1.0))
    assert {(one.weights, one.round, one.version) for one in orders} == {(ONE, 6, 2)}


def test_what_one_peer_alone_shows_and_rounds_of_before_are_not_believed() -> None:
    machine = MeshCoordinator(PLAN, AVERAGES, ZERO, weights_round=4, number=4, opening=2)
    machine.peer_entered(ANN, 0.0, proven(5, ONE))
    machine.peer_entered(BOB, 0.0, proven(3, TWO))
    machine.peer_entered(CAT, 0.0, proven(3, TWO))
    for name in (ANN, BOB, CAT):
        machine.client_ready(name, 0.0)
    orders = only(coordinator_effects.SendMeshTrain, machine.time_passed(1.0))
    assert {(one.weights, one.round) for one in orders} == {(ZERO, 5)}


def test_a_round_from_older_weights_ends_when_peers_bring_newer_ones() -> None:
    machine = MeshCoordinator(PLAN, AVERAGES, ZERO, opening=2)
    for name in (ANN, BOB):
        machine.peer_entered(name)
        machine.client_ready(name, 0.0)
    machine.time_passed(1.0)
    assert machine.peer_certified(ANN, proven(1, ONE), 2.0) == []
    [abandoned] = machine.peer_certified(BOB, proven(1, ONE), 2.0)
    assert isinstance(abandoned, Abandon)
    orders = only(coordinator_effects.SendMeshTrain, taken_up(machine, 2.0 + RETRY_SECONDS))
    # Round 1 is recorded as given up, so that what they made stands under the next number.
    assert {(one.weights, one.round) for one in orders} == {(ONE, 3)}
    assert machine.holdings.recorded == (2, ONE)


def test_once_a_round_has_ended_no_other_past_is_believed() -> None:
    machine, [group] = averaging(2)
    recorded(machine, group, 3.0)
    machine.peer_entered(CAT, 4.0, proven(2, TWO))
    machine.peer_entered(client(7), 4.0, proven(2, TWO))
    assert machine.phase is RoundPhase.TRAINING
    assert machine.peer_certified(CAT, proven(2, TWO), 4.0) == []


def test_who_shows_the_mesh_its_own_result_goes_on_from_it() -> None:
    machine, [group] = averaging(3)
    first, second, third = group.members
    machine.client_left(third, 2.5, lost=True)
    for name in (first, second):
        machine.peer_averaged(name, report(group), 3.0)
    machine.time_passed(8.0)
    machine.deposited(ONE)
    machine.peer_entered(third, 9.0, proven(1, ONE))
    machine.client_ready(third, 9.0)
    machine.recorded(1, 9.0)
    assert machine.holdings.base(third) == ONE
