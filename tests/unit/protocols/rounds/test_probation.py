"""Updates of newcomers are checked before they count, and newcomers take few seats of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from msgspec import structs

from backend.protocols.rounds import round_effects
from backend.protocols.rounds.federated import Round
from backend.protocols.rounds.phases import RoundPhase
from backend.protocols.rounds.plan import RoundPlan
from tests.support.protocols.rounds import BAD, OFFER, PLAN, only

PROBATION = replace(PLAN, probation_rounds=2, rounds=50, gather=0.0, shard_examples=(10,) * 40)
KNOWN = {"a": 3, "b": 3, "c": 3, "d": 3}


def machine_of(*clients: str, plan: RoundPlan = PROBATION, past: Mapping[str, int] = KNOWN) -> Round:
    """A machine whose clients are connected and not ready yet."""
    machine = Round(plan, past=past)
    for client in clients:
        machine.client_joined(client, household=client.partition("-")[0])
    return machine


def ready(machine: Round, *clients: str, now: float = 0.0) -> round_effects.AnnounceRound:
    """Makes clients ready; returns the round that opens with the last of them."""
    effects = [effect for client in clients for effect in machine.client_ready(client, now)]
    return only(round_effects.AnnounceRound, effects)[0]


def deliver(machine: Round, client: str, now: float = 1.0) -> list[round_effects.Effect]:
    offer = structs.replace(OFFER, round=machine.round, version=machine.version)
    machine.update_offered(client, offer, now)
    return machine.update_arrived(client, offer.round, now)


def counted(effects: list[round_effects.Effect]) -> list[bool]:
    return [effect.counts for effect in only(round_effects.Accept, effects)]


def test_the_update_of_a_newcomer_is_checked_and_does_not_count() -> None:
    machine = machine_of("a", "b", "new", plan=replace(PROBATION, min_available_clients=3, quorum=2))
    assert ready(machine, "new", "a", "b").cohort == ("a", "b", "new")
    assert counted(deliver(machine, "new")) == [False]
    assert counted(deliver(machine, "a")) == [True]
    assert only(round_effects.Aggregate, deliver(machine, "b"))


def test_it_counts_after_the_rounds_of_the_probation() -> None:
    machine = machine_of("a", "b", "new", plan=replace(PROBATION, min_available_clients=3))
    ready(machine, "new", "a", "b")
    answers = []
    for version in (1, 2, 3):
        answers += [counted(deliver(machine, client)) for client in ("new", "a", "b")]
        machine.aggregated(version, 1.0)
    assert answers == [*[[False], [True], [True]] * 2, *[[True]] * 3]


def test_a_task_whose_clients_are_all_new_makes_versions_after_their_probation() -> None:
    machine = machine_of("x", "y", past={})
    ready(machine, "x", "y")
    for _ in range(2):
        deliver(machine, "x")
        (abandoned,) = only(round_effects.Abandon, deliver(machine, "y"))
        assert "0 updates count, of at least 1. 2 more came from newcomers" in abandoned.reason
        machine.time_passed(machine.timer() or 0.0)
    assert counted(deliver(machine, "x")) == [True]
    assert only(round_effects.Aggregate, deliver(machine, "y"))


def test_newcomers_are_a_share_of_the_cohort_and_one_at_least() -> None:
    assert [PROBATION.newcomer_seats(known) for known in (0, 2, 3, 6, 30)] == [1, 1, 1, 2, 10]
    names = [f"n{number}" for number in range(20)]
    machine = machine_of(*KNOWN, *names, plan=replace(PROBATION, min_available_clients=4))
    machine.pause_requested()
    for client in (*names, *KNOWN):
        machine.client_ready(client, 0.0)
    (opened,) = only(round_effects.AnnounceRound, machine.resume_requested(0.0))
    assert set(KNOWN) < set(opened.cohort)
    assert len(opened.cohort) == 5


def test_households_take_turns_at_the_seats_of_newcomers() -> None:
    flood = [f"flood-{number}" for number in range(50)]
    plan = replace(PROBATION, min_available_clients=4, newcomer_share=0.5)
    machine = machine_of(*KNOWN, *flood, "honest", "other", plan=plan)
    machine.pause_requested()
    for client in (*flood, "honest", "other", *KNOWN):
        machine.client_ready(client, 0.0)
    (opened,) = only(round_effects.AnnounceRound, machine.resume_requested(0.0))
    assert {"honest", "other"} < set(opened.cohort)
    assert sum(client.startswith("flood") for client in opened.cohort) == 2


def test_silent_newcomers_hold_a_round_up_for_as_long_again_at_most() -> None:
    machine = machine_of("a", "b", "new", plan=replace(PROBATION, min_available_clients=3, quorum=2))
    ready(machine, "new", "a", "b", now=10.0)
    deliver(machine, "a", 12.0)
    assert not only(round_effects.Aggregate, deliver(machine, "b", 13.0))
    assert machine.timer() == 16.0
    assert machine.time_passed(15.9) == []
    assert only(round_effects.Aggregate, machine.time_passed(16.0))
    machine.aggregated(1, 16.0)
    assert not machine.attendance.is_ready("new")  # Until its next sign of life.


def test_a_round_of_too_few_known_clients_does_not_train_those_in_vain() -> None:
    plan = replace(PROBATION, min_available_clients=3, quorum=3)
    machine = machine_of("a", "x", "y", plan=plan)
    assert ready(machine, "a", "x", "y").cohort == ("x", "y")


def test_devices_of_one_account_serve_one_probation_in_rounds_not_in_updates() -> None:
    machine = Round(PROBATION, past={})
    for client in ("phone", "laptop"):
        machine.client_joined(client, identity="account 7")
        machine.client_ready(client, 0.0)
    deliver(machine, "phone")
    deliver(machine, "laptop")
    assert machine.probation.remaining("phone") == machine.probation.remaining("laptop") == 1
    machine.time_passed(machine.timer() or 0.0)
    deliver(machine, "phone")
    machine.client_joined("tablet", identity="account 7")
    assert machine.probation.remaining("tablet") == 0


def test_a_refused_update_is_no_checked_one() -> None:
    machine = machine_of("x", "y", past={})
    ready(machine, "x", "y")
    machine.update_offered("x", OFFER, 1.0)
    machine.update_failed("x", 1, BAD, 1.0)
    assert machine.probation.remaining("x") == 2


def test_newcomers_measure_no_version() -> None:
    plan = replace(PROBATION, fraction_evaluate=1.0, holdout_examples=(10, 10), min_available_clients=3)
    machine = machine_of("a", "b", "new", plan=plan)
    ready(machine, "new", "a", "b")
    for client in ("new", "a", "b"):
        deliver(machine, client)
    asked = only(round_effects.SendEvaluate, machine.aggregated(1, 2.0))
    assert machine.phase is RoundPhase.EVALUATING
    assert [effect.client for effect in asked] == ["a", "b"]


def test_what_was_served_before_a_restart_counts() -> None:
    machine = Round(PROBATION, past={}, checked={"x": 1, "account 7": 2})
    machine.client_joined("x")
    machine.client_joined("phone", identity="account 7")
    assert machine.probation.remaining("x") == 1
    assert machine.probation.remaining("phone") == 0
