"""The rounds of a mesh: who is called together, who trains, and when they end."""

from __future__ import annotations

from typing import Any

import pytest

from backend.protocols.mesh import coordinator_effects
from backend.protocols.mesh.coordinator import MeshCoordinator
from backend.protocols.rounds.phases import RETRY_SECONDS, RETURN_SECONDS, RoundPhase
from backend.protocols.rounds.round_effects import Abandon, Finished, RecordEvaluation, SendEvaluate
from backend.protocols.rounds.stop_rules import StopRules, Watched
from backend.wire.messages import Evaluation
from tests.support.protocols.mesh_coordinator import (
    ANN,
    BOB,
    CAT,
    ONE,
    TWO,
    ZERO,
    average_all,
    averaging,
    client,
    only,
    recorded,
    said,
    training,
    waiting,
)


def test_a_round_opens_when_enough_peers_are_ready_and_all_of_them_are_in_it() -> None:
    machine = waiting(2)
    assert machine.phase is RoundPhase.GATHERING
    machine.peer_entered(CAT)
    machine.client_ready(CAT, 0.5)
    effects = machine.time_passed(1.0)
    [opened] = only(coordinator_effects.MeshRoundOpened, effects)
    assert opened.cohort == (ANN, BOB, CAT)
    orders = only(coordinator_effects.SendMeshTrain, effects)
    assert [one.client for one in orders] == [ANN, BOB, CAT]
    assert {one.weights for one in orders} == {ZERO}
    assert len({one.seed for one in orders}) == 3


def test_one_alone_never_trains() -> None:
    machine = waiting(1, {"quorum": 1})
    assert (machine.phase, machine.needed()) == (RoundPhase.WAITING, 1)


def test_too_few_are_left_while_others_gather() -> None:
    machine = waiting(2)
    machine.client_left(ANN, 0.5, lost=False)
    assert (machine.phase, machine.timer()) == (RoundPhase.WAITING, None)


@pytest.mark.parametrize(
    "lie",
    [
        {"examples": 10**9},
        {"examples": 0},
        {"steps": 0},
        {"steps": 10**6},
        {"loss": float("nan")},
        {"loss": 1e300},
        {"sums": []},
        {"sums": [(float("inf"), 1.0)]},
        {"base": TWO},
    ],
)
def test_who_says_what_cannot_be_is_in_no_group(lie: dict[str, Any]) -> None:
    machine = training(3)
    [refused] = machine.peer_trained(ANN, said(machine, ANN, **lie), 1.5)
    assert isinstance(refused, coordinator_effects.RefuseReport)
    [group] = train_all_but(machine, ANN)
    assert sorted(group.members) == [BOB, CAT]
    assert machine.status(ANN) == "refused"


def test_groups_are_made_once_all_have_trained() -> None:
    machine, [group] = averaging(3)
    assert (machine.phase, machine.reports()) == (RoundPhase.AGGREGATING, (3, 0))
    assert sorted(group.members) == [ANN, BOB, CAT]
    assert (group.least, group.most_weight, group.seconds) == (2, 20.0, 60.0)
    assert machine.status(ANN) == "reported"


def test_who_has_not_trained_at_the_deadline_is_in_no_group_and_has_to_say_that_it_is_ready() -> None:
    machine = training(3)
    for name in (ANN, BOB):
        machine.peer_trained(name, said(machine, name), 2.0)
    assert machine.timer() == 61.0
    orders = only(coordinator_effects.SendGroup, machine.time_passed(61.0))
    assert {one.client for one in orders} == {ANN, BOB}
    assert machine.status(CAT) == "loading"
    machine.client_ready(CAT, 62.0)
    assert machine.status(CAT) == "ready"


def test_a_round_in_which_too_few_trained_is_given_up_and_its_shards_are_dealt_again() -> None:
    machine = training(3, {"quorum": 2})
    assert machine.open is not None
    dealt = {name: member.shards for name, member in machine.open.members.items()}
    machine.peer_trained(ANN, said(machine, ANN), 2.0)
    [abandoned] = machine.time_passed(61.0)
    assert abandoned == Abandon(1, "1 of at least 2 peers trained in time.")
    assert machine.phase is RoundPhase.WAITING
    machine.client_ready(BOB, 62.0)
    machine.client_ready(CAT, 62.0)
    orders = only(coordinator_effects.SendMeshTrain, machine.time_passed(63.0 + RETRY_SECONDS))
    assert {one.client: one.shards for one in orders} == dealt


def test_a_peer_that_lost_its_connection_is_told_again_what_it_owes() -> None:
    machine = training(2)
    assert machine.client_left(ANN, 2.0, lost=True) == []
    machine.peer_entered(ANN)
    [again] = machine.client_ready(ANN, 3.0)
    assert isinstance(again, coordinator_effects.SendMeshTrain)
    assert (again.client, again.round, again.seconds) == (ANN, 1, 58.0)


def test_nobody_waits_long_for_a_peer_that_does_not_come_back() -> None:
    machine = training(3)
    for name in (ANN, BOB):
        machine.peer_trained(name, said(machine, name), 2.0)
    machine.client_left(CAT, 3.0, lost=True)
    assert machine.timer() == 3.0 + RETURN_SECONDS
    assert {one.client for one in only(coordinator_effects.SendGroup, machine.time_passed(8.0))} == {ANN, BOB}


def test_a_peer_that_is_away_when_groups_are_made_is_in_none() -> None:
    machine = training(3)
    machine.peer_trained(CAT, said(machine, CAT), 1.5)
    machine.client_left(CAT, 1.5, lost=True)
    [group] = train_all_but(machine, CAT)
    assert sorted(group.members) == [ANN, BOB]


def train_all_but(machine: MeshCoordinator, name: str) -> list[Any]:
    assert machine.open is not None
    effects: list[coordinator_effects.Effect] = []
    for one in (one for one in list(machine.open.members) if one != name):
        effects += machine.peer_trained(one, said(machine, one), 2.0)
    return list({one.group.group: one.group for one in only(coordinator_effects.SendGroup, effects)}.values())


def test_who_says_again_that_it_trained_is_told_its_group_again() -> None:
    machine, [group] = averaging(2)
    assert machine.open is not None
    assert machine.peer_trained(ANN, said(machine, ANN), 3.0) == [coordinator_effects.SendGroup(ANN, group)]


def test_a_newcomer_takes_the_recorded_weights() -> None:
    machine, [group] = averaging(2)
    late = client(9)
    machine.peer_entered(late)
    machine.client_ready(late, 2.5)
    orders = only(coordinator_effects.SendMeshTrain, recorded(machine, group, 3.0))
    assert {one.client: one.weights for one in orders}[late] == ONE


def test_peers_measure_versions_and_rules_end_the_task() -> None:
    rules = StopRules(watched=Watched("accuracy", upward=True), target=0.5, source="clients")
    plan = {"holdout_examples": (10,), "fraction_evaluate": 1.0, "stop": rules}
    machine, [group] = averaging(2, plan)
    [question] = recorded(machine, group, 3.0)
    assert isinstance(question, SendEvaluate)
    assert (machine.phase, machine.status(question.client)) == (RoundPhase.EVALUATING, "evaluating")
    answer = Evaluation(round=1, version=1, examples=10, loss=0.25, sums=[(9.0, 10.0)])
    measured, finished = machine.evaluation_arrived(question.client, answer, 4.0)
    assert isinstance(measured, RecordEvaluation)
    assert isinstance(finished, Finished)
    assert machine.phase is RoundPhase.FINISHED


def test_the_owner_ends_a_task_between_rounds_or_after_the_open_one() -> None:
    [finished] = waiting(2).stop_requested("Enough.")
    assert isinstance(finished, Finished)
    machine, [group] = averaging(2)
    assert machine.stop_requested("Enough.") == []
    assert recorded(machine, group, 3.0) == [Finished(1, "Enough.")]


def test_a_paused_mesh_opens_no_round_and_gives_up_a_group_only_when_it_is_cut_short() -> None:
    machine, [group] = averaging(2)
    assert machine.pause_requested() == []
    assert recorded(machine, group, 3.0) == []
    assert (machine.phase, machine.timer()) == (RoundPhase.PAUSED, None)
    machine.resume_requested(4.0)
    orders = only(coordinator_effects.SendMeshTrain, machine.time_passed(5.0))
    assert {one.weights for one in orders} == {ONE}
    machine.pause_requested()
    assert machine.cut_short("The owner paused.", 6.0) == [Abandon(2, "The owner paused.")]
    assert machine.phase is RoundPhase.PAUSED


def test_a_result_that_is_being_brought_is_recorded_however_short_its_round_is_cut() -> None:
    machine, [group] = averaging(2)
    average_all(machine, group, 3.0)
    machine.stop_requested("Enough.")
    assert machine.cut_short("Enough.", 3.0) == []
    machine.deposited(ONE)
    assert machine.recorded(1, 4.0) == [Finished(1, "Enough.")]


def test_a_task_ends_after_its_last_version() -> None:
    machine, [group] = averaging(2, {"rounds": 1})
    assert recorded(machine, group, 3.0) == [Finished(1, "All rounds are done.")]
    assert machine.timer() is None
