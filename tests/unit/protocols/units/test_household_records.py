"""What a refuted result costs its household: its newcomers wait for a trusted peer, and nobody vouches."""

from __future__ import annotations

from backend.protocols.units.household_records import (
    MAX_SUSPECT_UNITS,
    MAX_SUSPENDED,
    SUSPENDED_SECONDS,
    HouseholdRecords,
)


def test_a_household_is_suspended_for_a_day() -> None:
    records = HouseholdRecords()
    assert not records.is_suspended("a", 0.0)
    records.suspend("a", 5.0)
    assert records.is_suspended("a", 5.0 + SUSPENDED_SECONDS - 1)
    assert not records.is_suspended("a", 5.0 + SUSPENDED_SECONDS)
    assert not records.is_suspended("b", 6.0)


def test_the_oldest_suspended_households_are_forgotten() -> None:
    records = HouseholdRecords()
    for number in range(MAX_SUSPENDED + 1):
        records.suspend(str(number), 0.0)
    assert not records.is_suspended("0", 1.0)
    assert records.is_suspended("1", 1.0)


def test_units_of_newcomers_are_counted_by_household_until_they_end() -> None:
    records = HouseholdRecords()
    for lease in (1, 2):
        records.begin("a", lease)
    records.begin("b", 3)
    assert [records.waiting(one) for one in "abc"] == [2, 1, 0]
    records.end("a", 1)
    records.end("a", 1)
    records.end("c", 3)
    assert [records.waiting(one) for one in "abc"] == [1, 1, 0]


def test_few_units_of_suspects_wait_for_a_trusted_peer() -> None:
    records = HouseholdRecords()
    for lease in range(MAX_SUSPECT_UNITS):
        assert records.may_suspects_begin()
        records.suspect_began(lease)
    assert not records.may_suspects_begin()
    records.end("a", 0)
    assert records.may_suspects_begin()
