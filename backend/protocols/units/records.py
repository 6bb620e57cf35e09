"""Work units and leases: their states, the tables of transitions, and the records of the scheduler.

A work unit is one shard, to be trained on once in an epoch. A lease is one client's turn at it; a unit that
is replicated has several, which begin at the same version with the same seed, to be compared.

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

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from backend.protocols.units.scheduler_effects import ClientId, LeaseId, UnitId, WorkUnit


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


# For whom units are reserved: trusted peers, or else a kind of clients, whose names are not like this.
TRUSTED = "*"
# Leases of which a result is here or may come in time.
AWAITED = (LeaseState.LEASED, *PENDING)


@dataclass(frozen=True)
class PartialWork:
    """As far as a client came that had to stop: `steps` of a unit's, with so many `examples`."""

    steps: int
    examples: int


@dataclass(slots=True)
class Lease:
    """A client's turn at a unit. It ends by `deadline`, and by `latest` however often it is renewed.

    `rules`: its client is a trusted peer, with whose result the others are compared. `part` is how much of
    the unit was asked for; None for all.
    """

    id: LeaseId
    unit: UnitId
    client: ClientId
    began: float
    deadline: float
    latest: float
    rules: bool = False
    part: PartialWork | None = None
    state: LeaseState = LeaseState.LEASED
    came_late: bool = False


@dataclass(slots=True)
class UnitRecord:
    """A work unit of `epoch`, with all leases that there were of it; all of them begin at `base`.

    `quorum` results have to be there before they are judged. Its `valid` one is `proven` where it was found
    so by comparison with another's, or is a trusted peer's. `check`: a trusted peer is to do the same.
    `reserved` is for whom alone its next lease is, TRUSTED or a kind of clients; empty for everybody.
    `part` is how much of it is done where the first had to stop. It was halved `halvings` times. `phase`
    is how it is counted.
    """

    work: WorkUnit
    epoch: int
    quorum: int = 1
    base: int | None = None
    state: UnitState = UnitState.OPEN
    leases: list[Lease] = field(default_factory=list)
    valid: LeaseId | None = None
    proven: bool = False
    judging: tuple[LeaseId, ...] = ()
    check: bool = False
    reserved: str = ""
    part: PartialWork | None = None
    halvings: int = 0
    phase: str = UnitState.OPEN

    def count(self, states: Collection[LeaseState]) -> int:
        """How many of its leases are in one of these states."""
        return sum([lease.state in states for lease in self.leases])

    def had(self, client: ClientId) -> bool:
        """Whether `client` had it: two results of one client prove nothing."""
        return any(lease.client == client for lease in self.leases)

    @property
    def wanted(self) -> int:
        """How many leases more it takes for a quorum."""
        if self.state is not UnitState.OPEN:
            return 0
        return max(0, self.quorum - self.count(AWAITED))

    @property
    def pending(self) -> tuple[LeaseId, ...]:
        """Leases whose results wait for a verdict."""
        return tuple(lease.id for lease in self.leases if lease.state in PENDING)

    @property
    def ruling(self) -> LeaseId | None:
        """A trusted peer's result that waits for a verdict."""
        return next((one.id for one in self.leases if one.rules and one.state in PENDING), None)

    @property
    def examples(self) -> int:
        """On how many examples a result of it was trained."""
        return self.part.examples if self.part else self.work.examples
