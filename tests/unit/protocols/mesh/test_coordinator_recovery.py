"""What a server makes of rounds that the peers of its mesh made without it."""

from __future__ import annotations

from dataclasses import replace

from backend.protocols.mesh import coordinator_effects
from backend.protocols.mesh.coordinator import MeshCoordinator
from backend.protocols.rounds.phases import RETRY_SECONDS, RETURN_SECONDS, RoundPhase
from backend.protocols.rounds.round_effects import Abandon, Finished, SendEvaluate
from tests.support.protocols.mesh_coordinator import (
    AVERAGES,
    ONE,
    TWO,
    ZERO,
    average_all,
    averaging,
    client,
    only,
    proven,
    taken_up,
)
from tests.support.protocols.rounds import PLAN

NAMES = [client(number) for number in range(5)]
ANN, BOB, CAT, DAN, EVE = NAMES


def back(shown: dict[str, tuple[int, str]], rounds: int = 50, evaluate: float = 0.0) -> MeshCoordinator:
    """A server that recorded round 4 as version 2, and peers that come with what they show."""
    plan = replace(PLAN, min_available_clients=len(shown), rounds=rounds, fraction_evaluate=evaluate)
    machine = MeshCoordinator(plan, AVERAGES, ZERO, weights_round=4, number=4, version=2, opening=2)
    for name, one in shown.items():
        machine.peer_entered(name, 0.0, proven(*one))
        machine.client_ready(name, 0.0)
    return machine


def test_the_newest_result_is_recorded_with_its_round_before_the_next_one_opens() -> None:
    machine = back({ANN: (9, ONE), BOB: (9, ONE), CAT: (9, ONE)})
    effects = taken_up(machine, 1.0)
    [opened] = only(coordinator_effects.MeshRoundOpened, effects)
    assert (opened.round, opened.version) == (10, 3)
    assert machine.holdings.recorded == (9, ONE)
    assert {one.weights for one in only(coordinator_effects.SendMeshTrain, effects)} == {ONE}


def test_it_is_measured_as_every_version_is() -> None:
    machine = back({ANN: (9, ONE), BOB: (9, ONE)}, evaluate=1.0)
    effects = taken_up(machine, 1.0)
    assert machine.phase is RoundPhase.EVALUATING
    assert {one.version for one in only(SendEvaluate, effects)} == {3}


def test_it_may_be_the_last_version() -> None:
    machine = back({ANN: (9, ONE), BOB: (9, ONE)}, rounds=3)
    assert only(Finished, taken_up(machine, 1.0)) == [Finished(3, "All rounds are done.")]


def test_while_a_result_is_brought_nobody_trains() -> None:
    machine = back({ANN: (9, ONE), BOB: (9, ONE), CAT: (4, ZERO)})
    machine.time_passed(1.0)
    assert (machine.phase, machine.reports(), machine.status(ANN)) == (
        RoundPhase.AGGREGATING,
        (0, 0),
        "ready",
    )
    assert machine.client_ready(CAT, 2.0) == []
    assert machine.peer_entered(DAN, 2.0, proven(10, TWO)) == []
    assert machine.peer_entered(EVE, 2.0, proven(10, TWO)) == []
    assert machine.phase is RoundPhase.AGGREGATING


def test_when_nobody_brings_it_the_mesh_goes_on_from_it_all_the_same() -> None:
    machine = back({ANN: (9, ONE), BOB: (9, ONE)})
    machine.time_passed(1.0)
    effects: list[coordinator_effects.Effect] = []
    while not only(Abandon, effects):
        timer = machine.timer()
        assert timer is not None
        effects = machine.time_passed(timer)
    timer = machine.timer()
    assert timer is not None
    orders = only(coordinator_effects.SendMeshTrain, machine.time_passed(timer))
    assert {(one.weights, one.round, one.version) for one in orders} == {(ONE, 10, 2)}


def test_who_has_not_heard_of_the_last_round_takes_part_in_the_next() -> None:
    machine = back({ANN: (9, ONE), BOB: (9, ONE), CAT: (8, TWO), DAN: (8, TWO)})
    # Two of four have reached round 9: that is not more than half.
    [taken] = only(coordinator_effects.TakeUp, machine.time_passed(1.0))
    assert (taken.round, taken.holders) == (8, (CAT, DAN))
    machine = back({ANN: (9, ONE), BOB: (9, ONE), CAT: (8, TWO), DAN: (9, ONE)})
    assert {one.weights for one in only(coordinator_effects.SendMeshTrain, taken_up(machine, 1.0))} == {ONE}


def test_two_that_show_the_most_of_all_do_not_lead_three_away() -> None:
    machine = back({ANN: (9, ONE), BOB: (9, ONE), CAT: (9, ONE), DAN: (1000, TWO), EVE: (1000, TWO)})
    [taken] = only(coordinator_effects.TakeUp, machine.time_passed(1.0))
    assert (taken.round, taken.holders) == (9, (ANN, BOB, CAT))


def test_a_group_of_several_does_not_lead_the_others_away() -> None:
    machine = MeshCoordinator(PLAN, AVERAGES, ZERO, weights_round=4, number=4, version=2, opening=2)
    for name in (ANN, BOB):
        machine.peer_entered(name, 0.0, proven(9, ONE, "ab", "abcdef"))
    assert machine.holdings.unseen(NAMES) is None
    for name in (CAT, DAN):
        machine.peer_entered(name, 0.0, proven(7, TWO, "cd", "abcdef"))
    # Groups with four of the six recorded members reached round 7, only one of them round 9.
    assert machine.holdings.unseen(NAMES) == (7, TWO)


def test_members_that_were_recorded_with_other_groups_are_not_added_up() -> None:
    machine = MeshCoordinator(PLAN, AVERAGES, ZERO, weights_round=4, number=4, version=2, opening=2)
    for name in (ANN, BOB):
        machine.peer_entered(name, 0.0, proven(9, ONE, "ab", "abcd"))
    for name in (CAT, DAN):
        machine.peer_entered(name, 0.0, proven(9, ONE, "ef", "efgh"))
    assert machine.holdings.unseen(NAMES) is None


def test_a_server_that_lost_its_peers_believes_what_they_made_meanwhile() -> None:
    machine, [group] = averaging(3)
    average_all(machine, group, 3.0)
    machine.deposited(ONE)
    machine.recorded(1, 3.0)
    for name in NAMES[:3]:
        machine.client_left(name, 4.0, lost=True)
    machine.time_passed(4.0 + RETURN_SECONDS)
    assert machine.phase is RoundPhase.WAITING
    for name in NAMES[:3]:
        machine.peer_entered(name, 60.0, proven(9, TWO))
        machine.client_ready(name, 60.0)
    effects = taken_up(machine, 61.0 + RETRY_SECONDS, TWO)
    assert {(one.weights, one.round) for one in only(coordinator_effects.SendMeshTrain, effects)} == {
        (TWO, 10)
    }


def test_a_server_that_kept_a_round_of_its_own_does_not() -> None:
    machine, [group] = averaging(3)
    average_all(machine, group, 3.0)
    machine.deposited(ONE)
    machine.recorded(1, 3.0)
    for name in (DAN, EVE):
        machine.peer_entered(name, 4.0, proven(9, TWO))
    assert machine.phase is RoundPhase.TRAINING
    assert machine.holdings.unseen(machine.attendance.connected) is None
