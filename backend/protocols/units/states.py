"""What becomes of work units and of their leases: all states, and the tables of what may follow what.

A work unit is one shard, to be trained on once in an epoch. A lease is one client's turn at it; of a unit
that is replicated there are several, which begin at the same version with the same seed, to be compared.

    lease   LEASED ──────── RETURNED ─┬─ VALID
              ├─ EXPIRED ───────┤     ├─ INVALID
              ├─ ABORTED ───────┘     └─ UNDECIDED ── VALID, INVALID
              └─ RELEASED

    unit    OPEN <──> JUDGED ──> DONE
              └──────────┴─────> FAILED, DROPPED

What comes after its time (EXPIRED), or after others were enough (ABORTED), is compared like everything else;
a lease that expired is renewed where nobody took its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar


class LeaseState(StrEnum):
    """Where a lease is."""

    LEASED = "leased"
    EXPIRED = "expired"
    RELEASED = "released"
    ABORTED = "aborted"
    RETURNED = "returned"
    UNDECIDED = "undecided"
    VALID = "valid"
    INVALID = "invalid"


class LeaseEvent(StrEnum):
    """What happens to a lease."""

    RENEW = "renew"
    EXPIRE = "expire"
    RELEASE = "release"
    ABORT = "abort"
    RETURN = "return"
    FIND_VALID = "find-valid"
    FIND_INVALID = "find-invalid"
    FIND_UNDECIDED = "find-undecided"


class UnitState(StrEnum):
    """Where a work unit is."""

    OPEN = "open"
    JUDGED = "judged"
    DONE = "done"
    FAILED = "failed"
    DROPPED = "dropped"


class UnitEvent(StrEnum):
    """What happens to a work unit."""

    JUDGE = "judge"
    AGREE = "agree"
    DISAGREE = "disagree"
    GIVE_UP = "give-up"
    DROP = "drop"


_FOUND = {
    LeaseEvent.FIND_VALID: LeaseState.VALID,
    LeaseEvent.FIND_INVALID: LeaseState.INVALID,
    LeaseEvent.FIND_UNDECIDED: LeaseState.UNDECIDED,
}
LEASES: Mapping[LeaseState, Mapping[LeaseEvent, LeaseState]] = {
    LeaseState.LEASED: {
        LeaseEvent.RENEW: LeaseState.LEASED,
        LeaseEvent.EXPIRE: LeaseState.EXPIRED,
        LeaseEvent.RELEASE: LeaseState.RELEASED,
        LeaseEvent.ABORT: LeaseState.ABORTED,
        LeaseEvent.RETURN: LeaseState.RETURNED,
    },
    LeaseState.EXPIRED: {
        LeaseEvent.RENEW: LeaseState.LEASED,
        LeaseEvent.RELEASE: LeaseState.RELEASED,
        LeaseEvent.RETURN: LeaseState.RETURNED,
    },
    LeaseState.ABORTED: {LeaseEvent.RELEASE: LeaseState.RELEASED, LeaseEvent.RETURN: LeaseState.RETURNED},
    LeaseState.RETURNED: _FOUND,
    LeaseState.UNDECIDED: _FOUND,
    LeaseState.RELEASED: {},
    LeaseState.VALID: {},
    LeaseState.INVALID: {},
}
UNITS: Mapping[UnitState, Mapping[UnitEvent, UnitState]] = {
    UnitState.OPEN: {
        UnitEvent.JUDGE: UnitState.JUDGED,
        UnitEvent.GIVE_UP: UnitState.FAILED,
        UnitEvent.DROP: UnitState.DROPPED,
    },
    UnitState.JUDGED: {
        UnitEvent.AGREE: UnitState.DONE,
        UnitEvent.DISAGREE: UnitState.OPEN,
        UnitEvent.DROP: UnitState.DROPPED,
    },
    UnitState.DONE: {},
    UnitState.FAILED: {},
    UnitState.DROPPED: {},
}
# Tuples, for words of an enum are found in a set by a hash that Python computes: several times slower.
CLOSED = (UnitState.DONE, UnitState.FAILED, UnitState.DROPPED)
# Results that wait for a verdict.
PENDING = (LeaseState.RETURNED, LeaseState.UNDECIDED)

S = TypeVar("S", LeaseState, UnitState)
E = TypeVar("E", LeaseEvent, UnitEvent)


def after(table: Mapping[S, Mapping[E, S]], state: S, event: E) -> S | None:
    """The state after `event`; None where it may not happen."""
    return table[state].get(event)
