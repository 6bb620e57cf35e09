"""Conversations with the round machine."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from backend.errors import NotFiniteError
from backend.protocols import effects as do
from backend.protocols.phases import RETRY_SECONDS, RETURN_SECONDS, TRANSITIONS, IllegalEventError, Phase
from backend.protocols.plan import Plan
from backend.protocols.round import Round
from backend.protocols.stopping import StopRules
from backend.services.manifest import MetricSpec
from backend.wire.messages import Evaluation, Offer

PLAN = Plan(
    rounds=3,
    min_available_clients=2,
    quorum=1,
    deadline=60.0,
    gather=1.0,
    epochs=2,
    shard_examples=(10, 10, 10, 10),
    shards_per_client=1,
    update_bytes=40,
    metrics=(MetricSpec("accuracy"),),
    batch_size=4,
    seed=1,
)
ANSWER = Evaluation(round=1, version=1, examples=5, loss=0.5, sums=[(4.0, 5.0)])
OFFER = Offer(round=1, version=0, examples=20, steps=5, loss=0.5, sums=[(5.0, 10.0)], size=40)
BAD = NotFiniteError("NaN.")
Kind = TypeVar("Kind", bound=do.Effect)


def inside(machine: Round) -> dict[str, Any]:
    """All that a machine holds, so that two moments can be compared."""
    return {**vars(machine), "roster": vars(machine.roster)}


def only(kind: type[Kind], effects: list[do.Effect]) -> list[Kind]:
    return [effect for effect in effects if isinstance(effect, kind)]


def waiting(*clients: str, plan: Plan = PLAN) -> Round:
    machine = Round(plan)
    for client in clients:
        machine.client_joined(client)
        machine.client_ready(client, 0.0)
    return machine


def opened(*clients: str, plan: Plan = PLAN) -> Round:
    machine = waiting(*clients, plan=plan)
    machine.time_passed(1.0)
    assert machine.phase is Phase.TRAINING
    return machine


def deliver(machine: Round, client: str, now: float, offer: Offer = OFFER) -> list[do.Effect]:
    machine.update_offered(client, offer, now)
    machine.update_arrived(client, offer.round, now)
    return machine.update_checked(client, offer.round, now)


# Opening.


def test_a_round_opens_once_enough_clients_are_ready_and_the_gathering_is_over() -> None:
    machine = waiting("a")
    assert (machine.phase, machine.needed(), machine.timer()) == (Phase.WAITING, 1, None)
    machine.client_joined("b")
    assert machine.needed() == 1
    assert machine.client_ready("b", 5.0) == []
    assert (machine.phase, machine.timer()) == (Phase.GATHERING, 6.0)
    assert machine.time_passed(5.9) == []
    effects = machine.time_passed(6.0)
    assert effects[0] == do.Opened(1, 0, ("a", "b"), 2, 2, 60.0)
    plans = only(do.SendTrain, effects)
    assert [plan.client for plan in plans] == ["a", "b"]
    assert {plan.seconds for plan in plans} == {60.0}
    assert len({plan.shards for plan in plans}) == len({plan.seed for plan in plans}) == 2
    assert machine.timer() == machine.deadline() == 66.0


def test_who_becomes_ready_while_gathering_is_in_the_cohort() -> None:
    machine = waiting("a", "b")
    machine.client_joined("c")
    machine.client_ready("c", 0.5)
    assert only(do.Opened, machine.time_passed(1.0))[0].cohort == ("a", "b", "c")


def test_without_gathering_a_round_opens_at_once() -> None:
    machine = waiting("a", plan=replace(PLAN, gather=0.0))
    machine.client_joined("b")
    assert only(do.Opened, machine.client_ready("b", 0.0))


def test_the_gathering_ends_when_too_many_leave() -> None:
    machine = waiting("a", "b")
    machine.client_left("b", 0.5, lost=True)
    assert (machine.phase, machine.timer()) == (Phase.WAITING, None)


def test_a_late_joiner_is_in_the_next_round() -> None:
    machine = opened("a", "b")
    machine.client_joined("late")
    assert machine.client_ready("late", 2.0) == []
    (refusal,) = machine.update_offered("late", OFFER, 2.0)
    assert isinstance(refusal, do.Refuse)
    assert refusal.error.code == "not-selected"
    deliver(machine, "a", 3.0)
    deliver(machine, "b", 3.0)
    effects = machine.aggregated(1, 4.0)
    assert only(do.Opened, effects)[0].cohort == ("a", "b", "late")


# Updates.


def test_an_update_is_granted_checked_and_accepted() -> None:
    machine = opened("a", "b")
    assert machine.update_offered("a", OFFER, 2.0) == [do.Grant("a", OFFER)]
    assert machine.status("a") == "training"
    assert machine.update_arrived("a", 1, 2.0) == [do.Check("a", OFFER)]
    assert machine.update_checked("a", 1, 3.0) == [do.Accept("a", OFFER)]
    assert (machine.status("a"), machine.reports()[1]) == ("reported", 1)


def test_the_round_ends_when_the_last_member_reported() -> None:
    machine = opened("a", "b")
    deliver(machine, "a", 3.0)
    assert deliver(machine, "b", 4.0) == [do.Accept("b", OFFER), do.Aggregate(1, 0)]
    assert (machine.phase, machine.timer()) == (Phase.AGGREGATING, None)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"round": 0}, "stale-round"),
        ({"round": 2}, "stale-round"),
        ({"version": 1}, "stale-round"),
        ({"examples": 0}, "bad-examples"),
        ({"examples": -5}, "bad-examples"),
        ({"examples": 21}, "bad-examples"),
        ({"examples": 10**12}, "bad-examples"),
        ({"size": 36}, "wrong-length"),
        ({"size": 44}, "wrong-length"),
        ({"size": 2**50}, "wrong-length"),
        ({"sums": []}, "wrong-length"),
        ({"sums": [(1.0, 1.0)] * 2}, "wrong-length"),
    ],
)
def test_an_offer_that_does_not_fit_is_refused_alone(changes: dict[str, Any], code: str) -> None:
    machine = opened("a", "b")
    effects = machine.update_offered(
        "a", Offer(**({f: getattr(OFFER, f) for f in OFFER.__struct_fields__} | changes)), 2.0
    )
    assert [effect.error.code for effect in only(do.Refuse, effects)] == [code]
    assert not only(do.Grant, effects)
    if changes.get("round", 1) != 1:
        assert machine.status("a") == "training"
    machine.client_left("a", 2.5, lost=False)
    assert do.Aggregate(1, 0) in deliver(machine, "b", 3.0)


def test_a_second_offer_is_refused_and_the_first_counts() -> None:
    machine = opened("a", "b")
    machine.update_offered("a", OFFER, 2.0)
    (refusal,) = only(do.Refuse, machine.update_offered("a", OFFER, 2.0))
    assert refusal.error.code == "duplicate"
    machine.update_arrived("a", 1, 2.0)
    assert machine.update_checked("a", 1, 3.0) == [do.Accept("a", OFFER)]
    (refusal,) = only(do.Refuse, machine.update_offered("a", OFFER, 4.0))
    assert refusal.error.code == "duplicate"
    assert machine.reports()[1] == 1


def test_a_refused_member_cannot_offer_again() -> None:
    machine = opened("a", "b")
    machine.update_offered("a", OFFER, 2.0)
    assert machine.update_failed("a", 1, BAD, 2.0) == [do.Refuse("a", 1, BAD)]
    assert machine.status("a") == "refused"
    (refusal,) = only(do.Refuse, machine.update_offered("a", OFFER, 3.0))
    assert refusal.error.code == "duplicate"


def test_an_update_checked_after_its_round_does_not_count() -> None:
    machine = opened("a", "b")
    deliver(machine, "b", 2.0)
    machine.update_offered("a", OFFER, 2.0)
    machine.update_arrived("a", 1, 2.0)
    effects = machine.time_passed(61.0)
    assert [effect.error.code for effect in only(do.Refuse, effects)] == ["stale-round"]
    assert only(do.Aggregate, effects)
    assert machine.update_checked("a", 1, 61.1) == []
    assert machine.update_failed("a", 1, BAD, 61.1) == []
    assert machine.update_arrived("a", 1, 2.0) == []


# Ends.


def test_at_the_deadline_a_quorum_makes_a_version() -> None:
    machine = opened("a", "b")
    deliver(machine, "a", 3.0)
    assert machine.time_passed(60.9) == []
    assert machine.time_passed(61.0) == [do.Aggregate(1, 0)]


def test_at_the_deadline_a_missed_quorum_abandons_the_round() -> None:
    machine = opened("a", "b", plan=replace(PLAN, quorum=2))
    deliver(machine, "a", 3.0)
    (abandon,) = machine.time_passed(61.0)
    assert abandon == do.Abandon(1, "1 of at least 2 updates arrived in time.")
    assert machine.version == 0


def test_who_is_silent_until_the_deadline_is_not_selected_before_a_sign_of_life() -> None:
    machine = opened("a", "b", plan=replace(PLAN, min_available_clients=1))
    deliver(machine, "a", 3.0)
    machine.time_passed(61.0)
    assert only(do.Opened, machine.aggregated(1, 62.0))[0].cohort == ("a",)
    (refusal,) = only(do.Refuse, machine.update_offered("b", OFFER, 63.0))
    assert refusal.error.code == "stale-round"
    deliver(
        machine,
        "a",
        64.0,
        Offer(round=2, version=1, examples=5, steps=1, loss=0.1, sums=[(5.0, 10.0)], size=40),
    )
    assert only(do.Opened, machine.aggregated(2, 65.0))[0].cohort == ("a", "b")


def test_after_an_abandoned_round_the_next_one_waits_a_little() -> None:
    machine = opened("a", "b")
    for client in "ab":
        machine.update_offered(client, OFFER, 2.0)
        effects = machine.update_failed(client, 1, BAD, 2.0)
    assert only(do.Abandon, effects)
    assert (machine.phase, machine.timer()) == (Phase.GATHERING, 2.0 + RETRY_SECONDS)
    assert only(do.Opened, machine.time_passed(2.0 + RETRY_SECONDS))[0].round == 2


def test_the_task_is_finished_after_its_last_version() -> None:
    machine = opened("a", "b", plan=replace(PLAN, rounds=1))
    deliver(machine, "a", 2.0)
    deliver(machine, "b", 2.0)
    assert machine.aggregated(1, 3.0) == [do.Finished(1, "All rounds are done.")]
    assert (machine.phase, machine.timer()) == (Phase.FINISHED, None)
    assert machine.client_ready("a", 4.0) == []
    (refusal,) = machine.update_offered("a", OFFER, 5.0)
    assert isinstance(refusal, do.Refuse)


def test_a_version_that_cannot_be_made_abandons_the_round() -> None:
    machine = opened("a", "b")
    deliver(machine, "a", 2.0)
    deliver(machine, "b", 2.0)
    assert machine.aggregation_failed("The disk is full.", 3.0) == [do.Abandon(1, "The disk is full.")]
    assert (machine.version, machine.phase) == (0, Phase.GATHERING)


def test_who_is_too_slow_to_measure_is_selected_for_the_next_round() -> None:
    """It says nothing more after an evaluation that ended without it: one of few would be missed for ever."""
    machine = opened("a", "b", plan=replace(PLAN, fraction_evaluate=1.0))
    for client in ("a", "b"):
        deliver(machine, client, 20.0)
    questions = only(do.SendEvaluate, machine.aggregated(1, 21.0))
    assert {one.client for one in questions} == {"a", "b"}
    until = machine.timer()
    assert until is not None
    opened_again = only(do.Opened, machine.time_passed(until))
    assert [one.cohort for one in opened_again] == [("a", "b")]


def test_the_time_that_stop_rules_count_is_what_is_recorded_of_rounds() -> None:
    """Making and recording a version may take long; a server that starts again knows nothing of it."""
    machine = opened("a", "b", plan=replace(PLAN, stop=StopRules(seconds=30.0)))
    for client in ("a", "b"):
        deliver(machine, client, 20.0)
    machine.aggregated(1, 100.0)
    assert machine.reason_to_finish() is None
    assert machine.phase is Phase.TRAINING


def test_rounds_go_on_where_an_earlier_run_stopped() -> None:
    machine = Round(PLAN, number=7, version=1)
    for client in "ab":
        machine.client_joined(client)
        machine.client_ready(client, 0.0)
    assert machine.time_passed(1.0)[0] == do.Opened(8, 1, ("a", "b"), 2, 2, 60.0)
    assert Round(PLAN, number=9, version=3).phase is Phase.FINISHED


# Coming and going.


def test_the_round_does_not_wait_for_one_who_left() -> None:
    machine = opened("a", "b")
    deliver(machine, "a", 3.0)
    assert machine.client_left("b", 4.0, lost=False) == [do.Aggregate(1, 0)]


def test_the_round_waits_a_little_for_one_whose_connection_was_lost() -> None:
    machine = opened("a", "b")
    deliver(machine, "a", 3.0)
    assert machine.client_left("b", 4.0, lost=True) == []
    assert machine.timer() == 4.0 + RETURN_SECONDS
    assert machine.time_passed(4.0 + RETURN_SECONDS) == [do.Aggregate(1, 0)]


def test_one_who_comes_back_hears_the_same_plan_and_delivers() -> None:
    machine = waiting("a", "b")
    before = only(do.SendTrain, machine.time_passed(1.0))[1]
    deliver(machine, "a", 3.0)
    machine.update_offered("b", OFFER, 3.5)
    machine.client_left("b", 4.0, lost=True)
    machine.client_joined("b")
    assert machine.timer() == 61.0
    assert machine.client_ready("b", 6.0) == [replace(before, seconds=55.0)]
    assert deliver(machine, "b", 7.0) == [do.Accept("b", OFFER), do.Aggregate(1, 0)]


def test_an_update_that_arrived_counts_though_its_client_is_gone() -> None:
    machine = opened("a", "b")
    deliver(machine, "a", 3.0)
    machine.update_offered("b", OFFER, 3.0)
    machine.update_arrived("b", 1, 2.0)
    assert machine.client_left("b", 3.1, lost=True) == []
    assert machine.update_checked("b", 1, 3.2) == [do.Accept("b", OFFER), do.Aggregate(1, 0)]


def test_when_everybody_is_gone_the_round_ends_soon() -> None:
    machine = opened("a", "b")
    machine.client_left("a", 2.0, lost=True)
    machine.client_left("b", 3.0, lost=True)
    assert machine.timer() == 3.0 + RETURN_SECONDS
    assert only(do.Abandon, machine.time_passed(8.0))
    assert machine.phase is Phase.WAITING


def test_one_who_left_for_good_and_comes_back_waits_for_the_next_round() -> None:
    machine = opened("a", "b")
    machine.client_left("b", 2.0, lost=False)
    machine.client_joined("b")
    assert machine.client_ready("b", 3.0) == []
    (refusal,) = only(do.Refuse, machine.update_offered("b", OFFER, 4.0))
    assert refusal.error.code == "not-selected"


# What cannot be.


@pytest.mark.parametrize(
    "event",
    [
        lambda machine: machine.client_joined("a"),
        lambda machine: machine.client_ready("nobody", 2.0),
        lambda machine: machine.client_left("nobody", 2.0, True),
        lambda machine: machine.update_offered("nobody", OFFER, 2.0),
        lambda machine: machine.update_arrived("a", 1, 2.0),
        lambda machine: machine.update_arrived("nobody", 1, 2.0),
        lambda machine: machine.evaluation_arrived("nobody", ANSWER, 2.0),
        lambda machine: machine.aggregated(1, 2.0),
        lambda machine: machine.aggregation_failed("x", 2.0),
    ],
)
def test_an_illegal_event_raises_and_changes_nothing(event: Callable[[Round], object]) -> None:
    machine = opened("a", "b")
    before = deepcopy(inside(machine))
    with pytest.raises(IllegalEventError):
        event(machine)
    assert inside(machine) == before


def test_an_aggregate_of_another_version_is_refused() -> None:
    machine = opened("a", "b")
    deliver(machine, "a", 2.0)
    deliver(machine, "b", 2.0)
    before = deepcopy(inside(machine))
    with pytest.raises(IllegalEventError, match="not asked for"):
        machine.aggregated(2, 3.0)
    assert inside(machine) == before


def test_a_call_too_early_changes_nothing() -> None:
    for machine in (waiting("a", "b"), opened("a", "b")):
        before = deepcopy(inside(machine))
        assert machine.time_passed(0.5) == []
        assert inside(machine) == before


def test_every_phase_has_its_row_and_the_last_one_leads_nowhere() -> None:
    assert TRANSITIONS.keys() == set(Phase)
    assert not TRANSITIONS[Phase.FINISHED]
    machine = Round(PLAN, version=3)
    with pytest.raises(IllegalEventError, match="does not lead"):
        machine._enter(Phase.WAITING)


def test_after_a_version_the_task_waits_while_too_few_are_ready() -> None:
    machine = opened("a", "b")
    deliver(machine, "a", 2.0)
    machine.client_left("b", 2.5, lost=False)
    assert machine.aggregated(1, 3.0) == []
    assert (machine.phase, machine.needed(), machine.timer()) == (Phase.WAITING, 1, None)


def test_an_update_that_is_checked_twice_counts_once() -> None:
    machine = opened("a", "b")
    assert deliver(machine, "a", 2.0) == [do.Accept("a", OFFER)]
    assert machine.update_checked("a", 1, 2.0) == []
    assert machine.update_failed("a", 1, BAD, 2.0) == []
    assert machine.reports()[1] == 1
