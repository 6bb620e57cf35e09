"""What a refuted result costs its household: its newcomers wait for a trusted peer, and nobody vouches."""

from __future__ import annotations

from backend.protocols.client.household import Household
from backend.protocols.units.household_records import (
    MAX_SUSPECT_UNITS,
    MAX_SUSPENDED,
    SUSPENDED_SECONDS,
    HouseholdRecords,
)

A, B, C = (Household(one) for one in "abc")


def test_a_household_is_suspended_for_a_day() -> None:
    records = HouseholdRecords()
    assert not records.is_suspended(A, 0.0)
    records.suspend(A, 5.0)
    assert records.is_suspended(A, 5.0 + SUSPENDED_SECONDS - 1)
    assert not records.is_suspended(A, 5.0 + SUSPENDED_SECONDS)
    assert not records.is_suspended(B, 6.0)


def test_the_oldest_suspended_households_are_forgotten() -> None:
    records = HouseholdRecords()
    for number in range(MAX_SUSPENDED + 1):
        records.suspend(Household(str(number)), 0.0)
    assert not records.is_suspended(Household("0"), 1.0)
    assert records.is_suspended(Household("1"), 1.0)


def test_units_of_newcomers_are_counted_by_household_until_they_end() -> None:
    records = HouseholdRecords()
    for lease in (1, 2):
        records.begin(A, lease)
    records.begin(B, 3)
    assert [records.waiting(one) for one in (A, B, C)] == [2, 1, 0]
    records.end(A, 1)
    records.end(A, 1)
    records.end(C, 3)
    assert [records.waiting(one) for one in (A, B, C)] == [1, 1, 0]


def test_few_units_of_suspects_wait_for_a_trusted_peer() -> None:
    records = HouseholdRecords()
    for lease in range(MAX_SUSPECT_UNITS):
        assert records.may_suspects_begin()
        records.suspect_began(lease)
    assert not records.may_suspects_begin()
    records.end(A, 0)
    assert records.may_suspects_begin()
