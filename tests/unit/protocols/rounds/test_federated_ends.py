"""How rounds end, and what they do without those who come and go."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from backend.errors import OrderError, SlowUploadError, StaleRoundError, UpdateRefusedError
from backend.protocols.rounds import round_effects
from backend.protocols.rounds.federated import Round
from backend.protocols.rounds.phases import RETRY_SECONDS, RETURN_SECONDS, IllegalEventError, RoundPhase
from backend.protocols.rounds.stop_rules import StopRules
from backend.wire.messages import Offer
from tests.support.protocols.rounds import ANSWER, BAD, OFFER, PLAN, deliver, inside, only, opened, waiting


def test_at_the_deadline_a_quorum_makes_a_version() -> None:
    machine = opened("a", "b")
    deliver(machine, "a", 3.0)
    assert machine.time_passed(60.9) == []
    assert machine.time_passed(61.0) == [round_effects.Aggregate(1, 0)]


def test_at_the_deadline_a_missed_quorum_abandons_the_round() -> None:
    machine = opened("a", "b", plan=replace(PLAN, quorum=2))
    deliver(machine, "a", 3.0)
    (abandon,) = machine.time_passed(61.0)
    assert abandon == round_effects.Abandon(1, "1 of at least 2 updates arrived in time.")
    assert machine.version == 0


ROBUST = replace(PLAN, min_available_clients=4, quorum=4, attackers=2)


def refused(machine: Round, client: str, error: UpdateRefusedError = BAD) -> list[round_effects.Effect]:
    machine.update_offered(client, OFFER, 2.0)
    return machine.update_failed(client, 1, error, 2.0)


def test_refused_false_updates_are_not_missed_at_the_quorum_of_a_robust_rule() -> None:
    machine = opened("a", "b", "c", "d", plan=ROBUST)
    for liar in "ab":
        refused(machine, liar)
    deliver(machine, "c", 3.0)
    assert deliver(machine, "d", 4.0)[-1] == round_effects.Aggregate(1, 0, false_updates=2)


@pytest.mark.parametrize("error", [SlowUploadError("Slow."), StaleRoundError("Late.")])
def test_who_was_slow_or_late_sent_nothing_false(error: UpdateRefusedError) -> None:
    machine = opened("a", "b", "c", "d", plan=ROBUST)
    refused(machine, "a", error)
    for client in "bcd":
        effects = deliver(machine, client, 3.0)
    assert effects[-1] == round_effects.Abandon(1, "3 of at least 4 updates arrived in time.")


def test_an_offer_of_impossible_numbers_is_a_false_update_and_one_of_another_version_is_not() -> None:
    machine = opened("a", "b", "c", "d", plan=ROBUST)
    machine.update_offered("a", structs.replace(OFFER, examples=1000), 2.0)
    machine.update_offered("b", structs.replace(OFFER, version=7), 2.0)
    for client in "cd":
        effects = deliver(machine, client, 3.0)
    assert effects[-1] == round_effects.Abandon(1, "2 of at least 3 updates arrived in time.")


def test_false_updates_count_once_a_member_and_at_most_as_often_as_the_rule_bears() -> None:
    machine = opened("a", "b", "c", "d", plan=replace(ROBUST, attackers=1))
    for liar in "aaabb":
        refused(machine, liar)
    deliver(machine, "c", 3.0)
    (abandon,) = only(round_effects.Abandon, deliver(machine, "d", 4.0))
    assert abandon.reason == "2 of at least 3 updates arrived in time."


def test_who_is_silent_until_the_deadline_is_not_selected_before_a_sign_of_life() -> None:
    machine = opened("a", "b", plan=replace(PLAN, min_available_clients=1))
    deliver(machine, "a", 3.0)
    machine.time_passed(61.0)
    assert only(round_effects.AnnounceRound, machine.aggregated(1, 62.0))[0].cohort == ("a",)
    (refusal,) = only(round_effects.RefuseUpdate, machine.update_offered("b", OFFER, 63.0))
    assert refusal.error.code == "stale-round"
    deliver(
        machine,
        "a",
        64.0,
        Offer(round=2, version=1, examples=5, steps=1, loss=0.1, sums=[(5.0, 10.0)], size=40),
    )
    assert only(round_effects.AnnounceRound, machine.aggregated(2, 65.0))[0].cohort == ("a", "b")


def test_after_an_abandoned_round_the_next_one_waits_a_little() -> None:
    machine = opened("a", "b")
    for client in "ab":
        machine.update_offered(client, OFFER, 2.0)
        effects = machine.update_failed(client, 1, BAD, 2.0)
    assert only(round_effects.Abandon, effects)
    assert (machine.phase, machine.timer()) == (RoundPhase.GATHERING, 2.0 + RETRY_SECONDS)
    assert only(round_effects.AnnounceRound, machine.time_passed(2.0 + RETRY_SECONDS))[0].round == 2


def test_the_round_after_an_abandoned_one_gets_all_the_time_there_is() -> None:
    machine = opened("a", "b", plan=replace(PLAN, adaptive_deadline=True))
    for client in "ab":
        deliver(machine, client, 3.0)
    (hurried,) = only(round_effects.AnnounceRound, machine.aggregated(1, 3.0))
    assert hurried.seconds < 60.0
    machine.training_failed(2, "Nobody was unmasked.", 4.0)
    (patient,) = only(round_effects.AnnounceRound, machine.time_passed(4.0 + RETRY_SECONDS))
    assert (patient.round, patient.seconds) == (3, 60.0)


def test_the_task_is_finished_after_its_last_version() -> None:
    machine = opened("a", "b", plan=replace(PLAN, rounds=1))
    deliver(machine, "a", 2.0)
    deliver(machine, "b", 2.0)
    assert machine.aggregated(1, 3.0) == [round_effects.Finished(1, "All rounds are done.")]
    assert (machine.phase, machine.timer()) == (RoundPhase.FINISHED, None)
    assert machine.client_ready("a", 4.0) == []
    (refusal,) = machine.update_offered("a", OFFER, 5.0)
    assert isinstance(refusal, round_effects.RefuseUpdate)


def test_a_version_that_cannot_be_made_abandons_the_round() -> None:
    machine = opened("a", "b")
    deliver(machine, "a", 2.0)
    deliver(machine, "b", 2.0)
    assert machine.aggregation_failed("The disk is full.", 3.0) == [
        round_effects.Abandon(1, "The disk is full.")
    ]
    assert (machine.version, machine.phase) == (0, RoundPhase.GATHERING)


def test_who_is_too_slow_to_measure_is_selected_for_the_next_round() -> None:
    """It says nothing more after an evaluation that ended without it: one of few would be missed for ever."""
    machine = opened("a", "b", plan=replace(PLAN, fraction_evaluate=1.0))
    for client in ("a", "b"):
        deliver(machine, client, 20.0)
    questions = only(round_effects.SendEvaluate, machine.aggregated(1, 21.0))
    assert {one.client for one in questions} == {"a", "b"}
    until = machine.timer()
    assert until is not None
    opened_again = only(round_effects.AnnounceRound, machine.time_passed(until))
    assert [one.cohort for one in opened_again] == [("a", "b")]


def test_clients_measure_every_so_many_versions_and_the_last() -> None:
    machine = opened("a", "b", plan=replace(PLAN, rounds=5, fraction_evaluate=1.0, evaluate_every=2))
    measured = []
    for version in range(1, 6):
        for client in ("a", "b"):
            deliver(machine, client, 2.0, structs.replace(OFFER, round=version, version=version - 1))
        questions = only(round_effects.SendEvaluate, machine.aggregated(version, 3.0))
        measured += [version] if questions else []
        for one in questions:
            machine.evaluation_arrived(one.client, structs.replace(ANSWER, version=version), 3.0)
    assert measured == [2, 4, 5]


def test_the_time_that_stop_rules_count_is_what_is_recorded_of_rounds() -> None:
    """Making and recording a version may take long; a server that starts again knows nothing of it."""
    machine = opened("a", "b", plan=replace(PLAN, stop=StopRules(seconds=30.0)))
    for client in ("a", "b"):
        deliver(machine, client, 20.0)
    machine.aggregated(1, 100.0)
    assert machine.reason_to_finish() is None
    assert machine.phase is RoundPhase.TRAINING


def test_rounds_go_on_where_an_earlier_run_stopped() -> None:
    machine = Round(PLAN, number=7, version=1)
    for client in "ab":
        machine.client_joined(client)
        machine.client_ready(client, 0.0)
    assert machine.time_passed(1.0)[0] == round_effects.AnnounceRound(
        8, 1, ("a", "b"), 2, 2, 60.0, "open", 20
    )
    assert Round(PLAN, number=9, version=3).phase is RoundPhase.FINISHED


# What the owner decides.


def test_a_pause_lets_the_open_round_end_and_opens_no_other_before_it_is_over() -> None:
    machine = opened("a", "b")
    assert machine.pause_requested() == []
    assert machine.phase is RoundPhase.TRAINING
    deliver(machine, "a", 2.0)
    deliver(machine, "b", 2.0)
    assert machine.aggregated(1, 3.0) == []
    assert (machine.phase, machine.timer()) == (RoundPhase.PAUSED, None)
    machine.client_joined("c")
    assert machine.client_ready("c", 4.0) == []
    machine.resume_requested(5.0)
    assert (machine.phase, machine.timer()) == (RoundPhase.GATHERING, 6.0)
    assert only(round_effects.AnnounceRound, machine.time_passed(6.0))[0].cohort == ("a", "b", "c")


def test_a_round_that_is_cut_short_is_abandoned_with_the_owners_reason() -> None:
    machine = opened("a", "b")
    machine.update_offered("a", OFFER, 2.0)
    machine.pause_requested()
    late, abandoned = machine.cut_short("The owner paused the training.", 3.0)
    assert isinstance(late, round_effects.RefuseUpdate)
    assert abandoned == round_effects.Abandon(1, "The owner paused the training.")
    assert machine.phase is RoundPhase.PAUSED


def test_what_was_sent_is_made_a_version_of_however_short_a_round_is_cut() -> None:
    machine = opened("a", "b")
    deliver(machine, "a", 2.0)
    deliver(machine, "b", 2.0)
    assert machine.stop_requested("Enough.") == machine.cut_short("Enough.", 2.0) == []
    assert machine.aggregated(1, 3.0) == [round_effects.Finished(1, "Enough.")]


def test_a_task_that_its_owner_ended_may_be_resumed_but_not_one_that_its_rules_ended() -> None:
    machine = waiting("a", "b")
    machine.pause_requested()
    assert machine.stop_requested("Enough.") == [round_effects.Finished(0, "Enough.")]
    machine.resume_requested(2.0)
    assert only(round_effects.AnnounceRound, machine.time_passed(3.0))
    done = Round(PLAN, version=3)
    assert done.resume_requested(2.0) == []
    assert done.phase is RoundPhase.FINISHED


# Coming and going.


def test_the_round_does_not_wait_for_one_who_left() -> None:
    machine = opened("a", "b")
    deliver(machine, "a", 3.0)
    assert machine.client_left("b", 4.0, lost=False) == [round_effects.Aggregate(1, 0)]


def test_the_round_waits_a_little_for_one_whose_connection_was_lost() -> None:
    machine = opened("a", "b")
    deliver(machine, "a", 3.0)
    assert machine.client_left("b", 4.0, lost=True) == []
    assert machine.timer() == 4.0 + RETURN_SECONDS
    assert machine.time_passed(4.0 + RETURN_SECONDS) == [round_effects.Aggregate(1, 0)]


def test_a_task_says_how_long_it_waits_for_one_whose_connection_was_lost() -> None:
    machine = opened("a", "b", plan=replace(PLAN, grace=20.0))
    deliver(machine, "a", 3.0)
    machine.client_left("b", 4.0, lost=True)
    assert machine.timer() == 24.0


def test_one_who_comes_back_hears_the_same_plan_and_delivers() -> None:
    machine = waiting("a", "b")
    before = only(round_effects.SendRoundTrain, machine.time_passed(1.0))[1]
    deliver(machine, "a", 3.0)
    machine.update_offered("b", OFFER, 3.5)
    machine.client_left("b", 4.0, lost=True)
    machine.client_joined("b")
    assert machine.timer() == 61.0
    assert machine.client_ready("b", 6.0) == [replace(before, seconds=55.0)]
    assert deliver(machine, "b", 7.0) == [round_effects.Accept("b", OFFER), round_effects.Aggregate(1, 0)]


def test_an_update_that_arrived_counts_though_its_client_is_gone() -> None:
    machine = opened("a", "b")
    deliver(machine, "a", 3.0)
    assert machine.client_left("a", 3.1, lost=True) == []
    assert machine.reports()[1] == 1
    assert deliver(machine, "b", 3.2) == [round_effects.Accept("b", OFFER), round_effects.Aggregate(1, 0)]


def test_when_everybody_is_gone_the_round_ends_soon() -> None:
    machine = opened("a", "b")
    machine.client_left("a", 2.0, lost=True)
    machine.client_left("b", 3.0, lost=True)
    assert machine.timer() == 3.0 + RETURN_SECONDS
    assert only(round_effects.Abandon, machine.time_passed(8.0))
    assert machine.phase is RoundPhase.WAITING


def test_one_who_left_for_good_and_comes_back_waits_for_the_next_round() -> None:
    machine = opened("a", "b")
    machine.client_left("b", 2.0, lost=False)
    machine.client_joined("b")
    assert machine.client_ready("b", 3.0) == []
    (refusal,) = only(round_effects.RefuseUpdate, machine.update_offered("b", OFFER, 4.0))
    assert refusal.error.code == "not-selected"


def test_an_earlier_version_becomes_the_next_one_in_a_round_without_members() -> None:
    machine = opened("a", "b")
    machine.update_offered("a", OFFER, 2.0)
    late, abandoned, restore = machine.restore_requested("Back to version 0.", 3.0)
    assert isinstance(late, round_effects.RefuseUpdate)
    assert (abandoned, restore) == (round_effects.Abandon(1, "Back to version 0."), round_effects.Restore(2))
    assert (machine.phase, machine.timer()) == (RoundPhase.AGGREGATING, None)
    assert machine.client_ready("b", 3.5) == []
    assert only(round_effects.AnnounceRound, machine.aggregated(1, 4.0))[0].round == 3


def test_versions_that_repeat_another_count_as_none_of_the_rounds() -> None:
    for machine in (opened("a", "b"), Round(PLAN, 4, PLAN.rounds, repeats=1)):
        assert machine.reason_to_finish() is None
    machine = opened("a", "b", plan=replace(PLAN, rounds=1))
    machine.restore_requested("The version before.", 3.0)
    (again, *_) = machine.aggregated(1, 4.0, 1)
    assert isinstance(again, round_effects.AnnounceRound)
    deliver(machine, "a", 5.0, structs.replace(OFFER, round=again.round, version=1))
    deliver(machine, "b", 5.0, structs.replace(OFFER, round=again.round, version=1))
    assert machine.aggregated(2, 6.0, 1) == [round_effects.Finished(2, "All rounds are done.")]


def test_a_paused_task_that_went_back_is_still_paused() -> None:
    machine = waiting("a", "b")
    machine.pause_requested()
    assert machine.restore_requested("Back.", 1.0) == [round_effects.Restore(1)]
    assert machine.aggregated(1, 2.0) == []
    assert machine.phase is RoundPhase.PAUSED


def test_a_version_that_could_not_be_recorded_again_leaves_the_task_where_it_was() -> None:
    machine = waiting("a", "b")
    machine.restore_requested("Back.", 0.5)
    (opened_again, *_) = machine.restoring_failed(1.0)
    assert isinstance(opened_again, round_effects.AnnounceRound)
    assert (opened_again.round, opened_again.version) == (2, 0)


def test_nothing_is_restored_while_a_version_is_made_or_after_the_last() -> None:
    machine = opened("a", "b")
    deliver(machine, "a", 2.0)
    deliver(machine, "b", 2.0)
    before = inside(machine)
    with pytest.raises(OrderError, match="Ask again in a few seconds"):
        machine.restore_requested("Back.", 3.0)
    assert inside(machine) == before
    with pytest.raises(IllegalEventError):
        machine.restoring_failed(3.0)
    machine.stop_requested("Enough.")
    machine.aggregated(1, 4.0)
    with pytest.raises(OrderError, match="This task has finished"):
        machine.restore_requested("Back.", 5.0)
