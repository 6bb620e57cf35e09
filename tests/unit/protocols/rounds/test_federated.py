"""How rounds open, what becomes of updates, and what cannot be."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from backend.protocols.rounds import round_effects
from backend.protocols.rounds.federated import Round
from backend.protocols.rounds.phases import TRANSITIONS, IllegalEventError, RoundPhase
from backend.wire.messages import Offer
from tests.support.protocols.rounds import ANSWER, BAD, OFFER, PLAN, deliver, inside, only, opened, waiting

# Opening.


def test_a_round_opens_once_enough_clients_are_ready_and_the_gathering_is_over() -> None:
    machine = waiting("a")
    assert (machine.phase, machine.needed(), machine.timer()) == (RoundPhase.WAITING, 1, None)
    machine.client_joined("b")
    assert machine.needed() == 1
    assert machine.client_ready("b", 5.0) == []
    assert (machine.phase, machine.timer()) == (RoundPhase.GATHERING, 6.0)
    assert machine.time_passed(5.9) == []
    effects = machine.time_passed(6.0)
    assert effects[0] == round_effects.AnnounceRound(1, 0, ("a", "b"), 2, 2, 60.0, "open", 20)
    plans = only(round_effects.SendRoundTrain, effects)
    assert [plan.client for plan in plans] == ["a", "b"]
    assert {plan.seconds for plan in plans} == {60.0}
    assert len({plan.shards for plan in plans}) == len({plan.seed for plan in plans}) == 2
    assert machine.timer() == machine.deadline() == 66.0


def test_who_becomes_ready_while_gathering_is_in_the_cohort() -> None:
    machine = waiting("a", "b")
    machine.client_joined("c")
    machine.client_ready("c", 0.5)
    assert only(round_effects.AnnounceRound, machine.time_passed(1.0))[0].cohort == ("a", "b", "c")


def test_without_gathering_a_round_opens_at_once() -> None:
    machine = waiting("a", plan=replace(PLAN, gather=0.0))
    machine.client_joined("b")
    assert only(round_effects.AnnounceRound, machine.client_ready("b", 0.0))


def test_the_gathering_ends_when_too_many_leave() -> None:
    machine = waiting("a", "b")
    machine.client_left("b", 0.5, lost=True)
    assert (machine.phase, machine.timer()) == (RoundPhase.WAITING, None)


def test_a_late_joiner_is_in_the_next_round() -> None:
    machine = opened("a", "b")
    machine.client_joined("late")
    assert machine.client_ready("late", 2.0) == []
    (refusal,) = machine.update_offered("late", OFFER, 2.0)
    assert isinstance(refusal, round_effects.RefuseUpdate)
    assert refusal.error.code == "not-selected"
    deliver(machine, "a", 3.0)
    deliver(machine, "b", 3.0)
    effects = machine.aggregated(1, 4.0)
    assert only(round_effects.AnnounceRound, effects)[0].cohort == ("a", "b", "late")


# Updates.


def test_an_update_is_granted_and_accepted() -> None:
    machine = opened("a", "b")
    assert machine.update_offered("a", OFFER, 2.0) == [round_effects.GrantUpload("a", OFFER)]
    assert machine.status("a") == "training"
    assert machine.update_arrived("a", 1, 3.0) == [round_effects.Accept("a", OFFER)]
    assert (machine.status("a"), machine.reports()[1]) == ("reported", 1)


def test_the_round_ends_when_the_last_member_reported() -> None:
    machine = opened("a", "b")
    deliver(machine, "a", 3.0)
    assert deliver(machine, "b", 4.0) == [round_effects.Accept("b", OFFER), round_effects.Aggregate(1, 0)]
    assert (machine.phase, machine.timer()) == (RoundPhase.AGGREGATING, None)


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
    assert [effect.error.code for effect in only(round_effects.RefuseUpdate, effects)] == [code]
    assert not only(round_effects.GrantUpload, effects)
    if changes.get("round", 1) != 1:
        assert machine.status("a") == "training"
    machine.client_left("a", 2.5, lost=False)
    assert round_effects.Aggregate(1, 0) in deliver(machine, "b", 3.0)


def test_a_second_offer_is_refused_and_the_first_counts() -> None:
    machine = opened("a", "b")
    machine.update_offered("a", OFFER, 2.0)
    (refusal,) = only(round_effects.RefuseUpdate, machine.update_offered("a", OFFER, 2.0))
    assert refusal.error.code == "duplicate"
    assert machine.update_arrived("a", 1, 3.0) == [round_effects.Accept("a", OFFER)]
    (refusal,) = only(round_effects.RefuseUpdate, machine.update_offered("a", OFFER, 4.0))
    assert refusal.error.code == "duplicate"
    assert machine.reports()[1] == 1


def test_a_refused_member_cannot_offer_again() -> None:
    machine = opened("a", "b")
    machine.update_offered("a", OFFER, 2.0)
    assert machine.update_failed("a", 1, BAD, 2.0) == [round_effects.RefuseUpdate("a", 1, BAD)]
    assert machine.status("a") == "refused"
    (refusal,) = only(round_effects.RefuseUpdate, machine.update_offered("a", OFFER, 3.0))
    assert refusal.error.code == "duplicate"


def test_an_update_whose_values_are_bad_is_refused_once_it_arrived() -> None:
    machine = opened("a", "b")
    machine.update_offered("a", OFFER, 2.0)
    assert machine.update_arrived("a", 1, 3.0, BAD) == [round_effects.RefuseUpdate("a", 1, BAD)]
    assert (machine.status("a"), machine.reports()[1]) == ("refused", 1)


def test_an_update_that_arrives_after_its_round_does_not_count() -> None:
    machine = opened("a", "b")
    deliver(machine, "b", 2.0)
    machine.update_offered("a", OFFER, 2.0)
    effects = machine.time_passed(61.0)
    assert [effect.error.code for effect in only(round_effects.RefuseUpdate, effects)] == ["stale-round"]
    assert only(round_effects.Aggregate, effects)
    assert machine.update_failed("a", 1, BAD, 61.1) == []
    assert machine.update_arrived("a", 1, 61.1) == []
    assert machine.update_arrived("a", 1, 61.1, BAD) == []


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
    with pytest.raises(IllegalEventError, match="not requested"):
        machine.aggregated(2, 3.0)
    assert inside(machine) == before


def test_a_call_too_early_changes_nothing() -> None:
    for machine in (waiting("a", "b"), opened("a", "b")):
        before = deepcopy(inside(machine))
        assert machine.time_passed(0.5) == []
        assert inside(machine) == before


def test_every_phase_has_its_row_and_the_last_one_leads_nowhere() -> None:
    assert TRANSITIONS.keys() == set(RoundPhase)
    assert TRANSITIONS[RoundPhase.FINISHED] == {RoundPhase.WAITING}
    machine = Round(PLAN, version=3)
    with pytest.raises(IllegalEventError, match="does not lead"):
        machine._enter(RoundPhase.TRAINING)


def test_after_a_version_the_task_waits_while_too_few_are_ready() -> None:
    machine = opened("a", "b")
    deliver(machine, "a", 2.0)
    machine.client_left("b", 2.5, lost=False)
    assert machine.aggregated(1, 3.0) == []
    assert (machine.phase, machine.needed(), machine.timer()) == (RoundPhase.WAITING, 1, None)


def test_an_update_that_arrives_twice_counts_once() -> None:
    machine = opened("a", "b")
    assert deliver(machine, "a", 2.0) == [round_effects.Accept("a", OFFER)]
    with pytest.raises(IllegalEventError):
        machine.update_arrived("a", 1, 2.0)
    assert machine.update_failed("a", 1, BAD, 2.0) == []
    assert machine.reports()[1] == 1
