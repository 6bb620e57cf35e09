"""The tables of states: what may happen, and that nothing else does."""

from __future__ import annotations

import pytest

from backend.protocols.units.records import (
    CLOSED,
    LEASES,
    UNITS,
    LeaseEvent,
    LeaseState,
    UnitEvent,
    UnitState,
    after,
)

LEASE_STEPS = {
    ("returned", "dismiss"): "dismissed",
    ("undecided", "dismiss"): "dismissed",
    ("leased", "renew"): "leased",
    ("leased", "expire"): "expired",
    ("leased", "release"): "released",
    ("leased", "abort"): "aborted",
    ("leased", "return"): "returned",
    ("expired", "renew"): "leased",
    ("released", "resume"): "leased",
    ("expired", "release"): "released",
    ("expired", "return"): "returned",
    ("aborted", "release"): "released",
    ("aborted", "return"): "returned",
    ("returned", "find-valid"): "valid",
    ("returned", "find-invalid"): "invalid",
    ("returned", "find-undecided"): "undecided",
    ("undecided", "find-valid"): "valid",
    ("undecided", "find-invalid"): "invalid",
    ("undecided", "find-undecided"): "undecided",
}
UNIT_STEPS = {
    ("open", "judge"): "judged",
    ("open", "give-up"): "failed",
    ("open", "drop"): "dropped",
    ("judged", "agree"): "done",
    ("judged", "disagree"): "open",
    ("judged", "drop"): "dropped",
}


@pytest.mark.parametrize("state", LeaseState)
@pytest.mark.parametrize("event", LeaseEvent)
def test_a_lease_takes_the_steps_of_its_table_and_no_others(state: LeaseState, event: LeaseEvent) -> None:
    assert after(LEASES, state, event) == LEASE_STEPS.get((state.value, event.value))


@pytest.mark.parametrize("state", UnitState)
@pytest.mark.parametrize("event", UnitEvent)
def test_a_unit_takes_the_steps_of_its_table_and_no_others(state: UnitState, event: UnitEvent) -> None:
    assert after(UNITS, state, event) == UNIT_STEPS.get((state.value, event.value))


def test_every_unit_can_be_closed_and_stays_so() -> None:
    assert {state for state in UnitState if not UNITS[state]} == set(CLOSED)
