"""What a mesh's groups are made of, and what is made of what their members report."""

from __future__ import annotations

from typing import Any

import pytest

from backend.protocols.mesh import coordinator_effects
from backend.protocols.mesh.coordinator import GROUPS, MeshCoordinator
from backend.protocols.rounds.phases import RETRY_SECONDS, IllegalEventError
from backend.protocols.rounds.round_effects import Abandon
from backend.wire.mesh_messages import Failed, Measure
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
    report,
    said,
    train_all,
    training,
)
from tests.support.protocols.rounds import PLAN


def test_survivors_are_awaited_and_nobody_else_once_one_of_them_says_who_they_are() -> None:
    machine, [group] = averaging(3)
    first, second, _ = group.members
    assert machine.peer_averaged(first, report(group, survivors=[0, 1]), 3.0) == []
    effects = machine.peer_averaged(second, report(group, survivors=[0, 1]), 3.0)
    assert len(only(coordinator_effects.AskDeposit, effects)) == 1


def test_a_group_of_which_most_survivors_report_nothing_has_no_result() -> None:
    machine, [group] = averaging(3)
    machine.peer_averaged(group.members[0], report(group), 3.0)
    timer = machine.timer()
    assert timer is not None
    [abandoned] = machine.time_passed(timer)
    assert isinstance(abandoned, Abandon)
    assert "No group averaged" in abandoned.reason


def test_members_that_report_different_weights_make_no_version() -> None:
    machine, [group] = averaging(3)
    effects: list[coordinator_effects.Effect] = []
    for name, weights in zip(group.members, (ONE, TWO, "3" * 64), strict=True):
        effects += machine.peer_averaged(name, report(group, weights), 3.0)
    [abandoned] = effects
    assert isinstance(abandoned, Abandon)
    orders = only(coordinator_effects.SendMeshTrain, machine.time_passed(3.0 + RETRY_SECONDS))
    assert {one.weights for one in orders} == {ZERO}


def test_one_that_reports_other_weights_than_the_majority_goes_on_from_theirs() -> None:
    machine, [group] = averaging(3)
    first, second, third = group.members
    machine.peer_averaged(first, report(group), 3.0)
    machine.peer_averaged(second, report(group), 3.0)
    machine.peer_averaged(third, report(group, TWO), 3.0)
    machine.deposited(ONE)
    orders = {
        one.client: one.weights for one in only(coordinator_effects.SendMeshTrain, machine.recorded(1, 4.0))
    }
    assert orders == dict.fromkeys(group.members, ONE)


def test_a_group_without_a_result_is_told_with_its_reason_and_all_keep_their_weights() -> None:
    machine, [group] = averaging(2)
    failed = Failed(round=1, group=group.group, reason="Two of three are gone.")
    assert machine.peer_failed(ANN, failed, 3.0) == []
    [abandoned] = machine.peer_failed(BOB, failed, 3.0)
    assert abandoned == Abandon(1, "No group averaged. Two of three are gone.")
    orders = only(coordinator_effects.SendMeshTrain, machine.time_passed(3.0 + RETRY_SECONDS))
    assert {(one.weights, one.round) for one in orders} == {(ZERO, 2)}


@pytest.mark.parametrize(
    "lie",
    [
        {"survivors": [0]},
        {"survivors": [0, 0, 1]},
        {"survivors": [1, 2]},
        {"survivors": [0, 1, 31]},
        {"fraction": 0.0},
        {"fraction": 1.5},
        {"fraction": float("nan")},
        {"seconds": -1.0},
        {"seconds": float("inf")},
    ],
)
def test_a_report_that_cannot_be_is_refused(lie: dict[str, Any]) -> None:
    machine, [group] = averaging(3)
    told = report(group)
    changed = type(told)(**({one: getattr(told, one) for one in told.__struct_fields__} | lie))
    [refused] = machine.peer_averaged(group.members[0], changed, 3.0)
    assert isinstance(refused, coordinator_effects.RefuseReport)
    assert machine.status(group.members[0]) == "refused"


def test_reports_of_no_group_change_nothing() -> None:
    machine, [group] = averaging(3)
    before = machine.reports()
    stranger = client(9)
    machine.peer_entered(stranger)
    old = type(group)(**{one: getattr(group, one) for one in group.__struct_fields__} | {"group": 5})
    assert machine.peer_averaged(stranger, report(group), 3.0) == []
    assert machine.peer_averaged(ANN, report(old), 3.0) == []
    assert machine.peer_failed(stranger, Failed(round=1, group=group.group, reason=""), 3.0) == []
    assert machine.peer_trained(stranger, said(machine, ANN), 3.0) == []
    assert machine.reports() == before
    with pytest.raises(IllegalEventError):
        machine.recorded(1, 3.0)
    with pytest.raises(IllegalEventError):
        machine.not_recorded("", 3.0)


def test_several_groups_keep_weights_of_their_own_and_the_largest_is_recorded() -> None:
    machine, groups = averaging(5, group_size=3)
    large, small = sorted(groups, key=lambda one: -len(one.members))
    average_all(machine, small, 3.0, TWO)
    [asked] = only(coordinator_effects.AskDeposit, average_all(machine, large, 3.0, ONE))
    assert (asked.client in large.members, asked.weights) == (True, ONE)
    machine.deposited(ONE)
    orders = {
        one.client: one.weights for one in only(coordinator_effects.SendMeshTrain, machine.recorded(1, 4.0))
    }
    assert orders == dict.fromkeys(large.members, ONE) | dict.fromkeys(small.members, TWO)
    second = train_all(machine, 5.0)
    for group in second:
        bases = {orders[name] for name in group.members}
        assert group.subject == ("changes" if len(bases) == 1 else "weights")


def test_groups_of_another_start_have_other_numbers() -> None:
    machine = MeshCoordinator(PLAN, AVERAGES, ZERO, opening=3)
    for name in (ANN, BOB):
        machine.peer_entered(name)
        machine.client_ready(name, 0.0)
    machine.time_passed(1.0)
    assert train_all(machine, 2.0)[0].group == 3 * GROUPS


def test_links_decide_how_large_each_ones_part_is() -> None:
    machine = training(5, groups="near", values=100_000)
    for name in (client(number) for number in range(5)):
        rate = 8e6 if name == ANN else 1e6
        links = [
            Measure(client=client(other), way="webrtc", seconds=0.1, rate=rate)
            for other in range(5)
            if client(other) != name
        ]
        machine.links_measured(name, [*links, Measure(client=CAT, way="relay", seconds=-1.0, rate=1e99)])
    [group] = train_all(machine, 2.0)
    parts = [end - start for start, end in zip(group.bounds, group.bounds[1:], strict=False)]
    assert group.exchange == "butterfly"
    assert max(parts) == parts[group.members.index(ANN)] > min(parts)


def test_nobody_may_weigh_more_than_the_most_that_one_of_its_group_said() -> None:
    machine = training(2)
    machine.peer_trained(ANN, said(machine, ANN, examples=7), 2.0)
    [order, _] = only(
        coordinator_effects.SendGroup, machine.peer_trained(BOB, said(machine, BOB, examples=11), 2.0)
    )
    assert order.group.most_weight == 11.0


def test_a_robust_reducer_counts_all_alike() -> None:
    _, [group] = averaging(3, reducer="trimmed_mean")
    assert (group.most_weight, group.exchange) == (1.0, "butterfly")


def test_a_peer_that_stops_in_the_middle_of_its_group_is_not_awaited() -> None:
    machine, [group] = averaging(3)
    first, second, third = group.members
    machine.client_left(third, 2.5, lost=False)
    machine.peer_averaged(first, report(group, survivors=[0, 1]), 3.0)
    effects = machine.peer_averaged(second, report(group, survivors=[0, 1]), 3.0)
    assert len(only(coordinator_effects.AskDeposit, effects)) == 1


def test_a_member_that_is_started_again_during_its_group_is_not_waited_for_and_is_in_the_next_round() -> None:
    machine, [group] = averaging(3)
    machine.client_left(CAT, 3.0, lost=True)
    machine.peer_entered(CAT, 4.0)
    machine.client_ready(CAT, 5.0)
    survivors = [place for place, name in enumerate(group.members) if name != CAT]
    for name in (ANN, BOB):
        machine.peer_averaged(name, report(group, survivors=survivors), 6.0)
    assert machine.depositing is not None
    machine.deposited(ONE)
    effects = machine.recorded(1, 6.0)
    assert CAT in {one.client for one in only(coordinator_effects.SendMeshTrain, effects)}


def test_a_member_whose_order_was_lost_gets_it_again_after_it_reported_ready() -> None:
    machine, [group] = averaging(3)
    machine.client_left(CAT, 3.0, lost=True)
    machine.peer_entered(CAT, 4.0)
    machine.client_ready(CAT, 5.0)
    assert machine.peer_trained(CAT, said(machine, CAT), 5.0) == [coordinator_effects.SendGroup(CAT, group)]
    assert CAT in machine.open.awaited() if machine.open else False
