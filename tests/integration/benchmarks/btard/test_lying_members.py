"""Liars whose work is true are banned or lose their seat, and Sybils get no more seats than they work for."""

from __future__ import annotations

import pytest

from benchmarks.btard.ban_rounds import chance_rounds
from benchmarks.btard.lying_members import lies_row
from benchmarks.btard.sybils import sybil_row
from tests.integration.benchmarks.btard.pattern_task import small_task

PEERS, LIARS = 7, 3


@pytest.mark.parametrize("name", ["owner-lies", "equivocation", "false-accuser"])
def test_liars_with_true_work_are_banned_and_nobody_else(name: str) -> None:
    row = lies_row(small_task(), name, PEERS, LIARS, 60, 0)
    assert (row["banned"], row["banned_honest"], row["different_bits"]) == (LIARS, 0, 0)
    assert row["farthest_decided"] < 4.0


def test_owners_that_lie_together_widen_no_radius_by_more_than_a_fiftieth_a_round() -> None:
    row = lies_row(small_task(), "owners-lie", PEERS, LIARS, 60, 0)
    assert row["rounds_to_last_ban"] is not None
    assert row["radius_growth"] < 1.02 ** (row["rounds_to_last_ban"] + 1)


def test_whoever_keeps_its_part_of_the_coin_loses_its_seat() -> None:
    row = lies_row(small_task(), "no-reveal", PEERS, LIARS, 16, 0)
    assert (row["seats_of_liars"], row["seats_of_honest"], row["banned"]) == (0, PEERS - LIARS, 0)


def test_sybils_that_cannot_do_all_work_get_no_more_seats_than_they_can_work_for() -> None:
    row = sybil_row(small_task(), PEERS, sybils=6, compute=1, rounds=160, strategy="fixed", seed=0)
    assert row["most_seats"] == 1
    assert (row["banned_honest"], row["different_bits"]) == (0, 0)


def test_an_owner_that_feeds_one_name_after_the_other_gets_nobody_honest_banned() -> None:
    row = sybil_row(small_task(), PEERS, sybils=4, compute=1, rounds=60, strategy="favours", seed=0)
    assert (row["banned_honest"], row["different_bits"], row["rounds"]) == (0, 0, 60)
    assert row["most_seats"] == 0


@pytest.mark.parametrize(("validators", "low", "high"), [(1, 36, 44), (2, 17, 24)])
def test_chance_bans_seven_of_sixteen_as_it_did_in_simulation(validators: int, low: int, high: int) -> None:
    assert low < chance_rounds(16, 7, validators) < high
