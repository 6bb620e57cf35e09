"""Clients are kept out for a time that doubles, and take part again by themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backend.protocols.rounds import exclusions, round_effects
from backend.protocols.rounds.attendance import Attendance
from backend.protocols.rounds.exclusions import FIRST_SECONDS, MOST_SECONDS, Exclusions
from backend.protocols.rounds.federated import Round
from backend.protocols.rounds.phases import IllegalEventError, RoundPhase
from tests.support.protocols.rounds import PLAN, only

MASKED = replace(PLAN, rounds=9, aggregation=("masked",), most_masked=256, most_per_household=1)


def opened(*clients: str) -> Round:
    machine = Round(MASKED)
    for client in clients:
        machine.client_joined(client, "masked", f"network of {client}")
        machine.client_ready(client, 0.0, 1.0, 10)
    machine.time_passed(1.0)
    assert machine.phase is RoundPhase.TRAINING
    return machine


def test_the_time_doubles_up_to_a_day_and_lasts_some_rounds() -> None:
    kept = Exclusions()
    assert [kept.add("a", 60.0, 0.0) for _ in range(3)] == [300.0, 600.0, 1200.0]
    assert kept.add("b", 1000.0, 0.0) == 3000.0
    assert "a" in kept
    assert kept.next_end() == 1200.0
    assert kept.ended(1199.0) == []
    assert kept.ended(1200.0) == ["a"]
    assert "a" not in kept
    assert kept.add("a", 60.0, 1200.0) == 2400.0
    for _ in range(40):
        longest = kept.add("a", 60.0, 0.0)
    assert longest == MOST_SECONDS


def test_only_so_many_are_remembered() -> None:
    kept = Exclusions()
    for number in range(exclusions.MOST_REMEMBERED + 1):
        kept.add(f"c{number}", 60.0, 0.0)
    assert kept.add("c0", 60.0, 0.0) == FIRST_SECONDS


def test_who_shared_falsely_is_told_and_not_in_the_next_round() -> None:
    machine = opened("a", "b", "c")
    (refused,) = only(round_effects.RefuseUpdate, machine.shared_falsely("b", 2.0))
    assert (refused.client, refused.error.code) == ("b", "false-shares")
    assert "again in 5 minutes" in str(refused.error)
    machine.training_failed(1, "Not unmasked.", 2.0)
    assert machine.status("b") == "refused"
    # To get ready or to come back changes nothing.
    machine.client_ready("b", 2.5, 1.0, 10)
    machine.client_left("b", 2.6, lost=False)
    machine.client_joined("b", "masked", "network of b")
    machine.client_ready("b", 2.7, 1.0, 10)
    machine.time_passed(60.0)
    assert machine.open is not None
    assert sorted(machine.open.members) == ["a", "c"]


def test_a_round_opens_with_it_when_its_time_is_over() -> None:
    machine = opened("a", "b")
    machine.shared_falsely("b", 2.0)
    machine.training_failed(1, "Not unmasked.", 2.0)
    assert machine.phase is RoundPhase.WAITING
    assert machine.needed() == 1
    machine.client_ready("b", 3.0, 1.0, 10)
    assert machine.timer() == 302.0
    assert not machine.time_passed(301.0)
    machine.time_passed(302.0)
    machine.time_passed(303.0)
    assert machine.open is not None
    assert sorted(machine.open.members) == ["a", "b"]


def test_who_is_kept_out_keeps_its_households_seat() -> None:
    made = Attendance(own_data=False, past={}, most_per_household=1)
    for client in ("old name", "new name"):
        made.join(client, "masked", "network")
        made.ready(client)
    assert made.available == 1
    made.keep_out("old name", "network")
    made.keep_out("old name", "network")
    assert made.available == 0
    assert made.select(2, "train/1", "masked") == ()
    made.leave("old name")
    made.readmit("old name")
    assert made.select(2, "train/1", "masked") == ("new name",)


def test_who_left_before_it_was_found_out_is_kept_out_when_it_comes_back() -> None:
    made = Attendance(own_data=False, past={}, most_per_household=1)
    made.keep_out("gone", "network")
    for client in ("gone", "new name"):
        made.join(client, "masked", "network")
        made.ready(client)
    assert made.available == 0
    made.readmit("gone")
    assert made.available == 1


def test_who_awaits_a_version_is_in_no_round_before_it() -> None:
    machine = opened("a", "b", "c")
    for client in ("b", "c"):
        machine.version_awaited(client)
    machine.shared_falsely("c", 2.0)
    machine.training_failed(1, "Not unmasked.", 2.0)
    assert machine.status("b") == "refused"
    assert (machine.needed(), machine.timer()) == (1, 302.0)
    machine.time_passed(302.0)
    machine.time_passed(303.0)
    assert machine.open is not None
    assert sorted(machine.open.members) == ["a", "c"]
    machine.version_awaited("c")
    machine.training_failed(2, "Not unmasked.", 304.0)
    assert machine.timer() is None
    machine.restore_requested("The version before.", 305.0)
    machine.aggregated(1, 306.0)
    assert machine.open is not None
    assert sorted(machine.open.members) == ["a", "b", "c"]


def test_only_members_of_the_open_round_can_have_shared_falsely() -> None:
    machine = opened("a", "b")
    with pytest.raises(IllegalEventError, match="in no open round"):
        machine.shared_falsely("stranger", 2.0)
    machine.training_failed(1, "Not unmasked.", 2.0)
    with pytest.raises(IllegalEventError, match="in no open round"):
        machine.version_awaited("a")
