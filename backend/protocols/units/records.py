"""Work units and leases: their states, the tables of transitions, and the records of the scheduler.

A work unit is one shard, to be trained on once in an epoch. A lease assigns it to one client; a replicated
unit has several leases with the same base version and seed, whose results are compared.

    lease   LEASED ──────── RETURNED ─┬─ VALID
              ├─ EXPIRED ───────┤     ├─ INVALID, DISMISSED
              ├─ ABORTED ───────┘     └─ UNDECIDED ── VALID, INVALID, DISMISSED
              └─ RELEASED

    unit    OPEN <──> JUDGED ──> DONE
              └──────────┴─────> FAILED, DROPPED

What comes after its time (EXPIRED), or after others were enough (ABORTED), is compared like everything else;
an expired lease is renewed if no other client got a lease in its place. Results that wait are dismissed when
a trusted peer refutes another one of their client.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from backend.protocols.client.household import Household, same_household
from backend.protocols.units.scheduler_effects import ClientId, LeaseId, UnitId, WorkUnit


class LeaseState(StrEnum):
    """The state of a lease."""

    LEASED = "leased"
    EXPIRED = "expired"
    RELEASED = "released"
    ABORTED = "aborted"
    RETURNED = "returned"
    UNDECIDED = "undecided"
    VALID = "valid"
    INVALID = "invalid"
    DISMISSED = "dismissed"


class LeaseEvent(StrEnum):
    """An event of a lease."""

    RENEW = "renew"
    EXPIRE = "expire"
    RELEASE = "release"
    RESUME = "resume"
    ABORT = "abort"
    RETURN = "return"
    FIND_VALID = "find-valid"
    FIND_INVALID = "find-invalid"
    FIND_UNDECIDED = "find-undecided"
    DISMISS = "dismiss"


class UnitState(StrEnum):
    """The state of a work unit."""

    OPEN = "open"
    JUDGED = "judged"
    DONE = "done"
    FAILED = "failed"
    DROPPED = "dropped"


class UnitEvent(StrEnum):
    """An event of a work unit."""

    JUDGE = "judge"
    AGREE = "agree"
    DISAGREE = "disagree"
    GIVE_UP = "give-up"
    DROP = "drop"


_VERDICTS = {
    LeaseEvent.FIND_VALID: LeaseState.VALID,
    LeaseEvent.FIND_INVALID: LeaseState.INVALID,
    LeaseEvent.FIND_UNDECIDED: LeaseState.UNDECIDED,
    LeaseEvent.DISMISS: LeaseState.DISMISSED,
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
    LeaseState.RETURNED: _VERDICTS,
    LeaseState.UNDECIDED: _VERDICTS,
    LeaseState.RELEASED: {LeaseEvent.RESUME: LeaseState.LEASED},
    LeaseState.VALID: {},
    LeaseState.INVALID: {},
    LeaseState.DISMISSED: {},
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
# Tuples: a set would hash the enum's members in Python, which is several times slower.
CLOSED = (UnitState.DONE, UnitState.FAILED, UnitState.DROPPED)
# Results that wait for a verdict.
PENDING = (LeaseState.RETURNED, LeaseState.UNDECIDED)

S = TypeVar("S", LeaseState, UnitState)
E = TypeVar("E", LeaseEvent, UnitEvent)


def after(table: Mapping[S, Mapping[E, S]], state: S, event: E) -> S | None:
    """Returns the state after `event`; None if it is illegal."""
    return table[state].get(event)


# The reservation for trusted peers; others name a kind of clients, and no kind has this name.
TRUSTED = "*"
# The same where results disagree: a peer decides about these first.
DISPUTED = "**"
# The same of an audit, which never ends.
AUDIT = "***"
# Audits belong to no epoch: they do not hold one up, and outlast it.
AUDIT_EPOCH = 1 << 62
# The prefix of a reservation for one drawn client.
DRAWN = "@"
# States of leases whose result is waiting or may come in time.
AWAITED = (LeaseState.LEASED, *PENDING)


@dataclass(frozen=True)
class PartialWork:
    """The work that a client did before it had to stop: `steps` of a unit's, with `examples`."""

    steps: int
    examples: int


@dataclass(slots=True)
class Lease:
    """A unit assigned to a client. It ends by `deadline`, and by `latest` even if it is renewed.

    `household` is the client's when it got the lease. `returned` is when its result arrived, `released`
    when it was given back.

    `by_trusted_peer`: its client is a trusted peer, with whose result the others are compared. `part` is the
    requested part of the unit; None for all. `steps` are those that its client told last. It lasts longer by
    `offline` seconds, as its client may be without a connection. `interrupted`: its client lost it since.
    """

    id: LeaseId
    unit: UnitId
    client: ClientId
    began: float
    deadline: float
    latest: float
    household: Household
    by_trusted_peer: bool = False
    part: PartialWork | None = None
    state: LeaseState = LeaseState.LEASED
    came_late: bool = False
    returned: float = math.inf
    released: float = math.inf
    steps: int = 0
    offline: float = 0.0
    interrupted: bool = False

    @property
    def buffered(self) -> bool:
        """Whether it waits in its client's queue before it is trained."""
        return self.offline > 0.0


@dataclass(frozen=True, slots=True)
class ProvisionalResult:
    """The result of a `lease` that is in the model unproven, and the `work` of `epoch` that it is of."""

    lease: Lease
    work: WorkUnit
    epoch: int
    base: int
    part: PartialWork | None


@dataclass(slots=True)
class UnitRecord:
    """A work unit of `epoch`, with all of its leases, which have the same `base`.

    `quorum` results are needed before they are compared. The `valid` result is `proven` if it agreed with
    another client's, or is a trusted peer's. `check`: a trusted peer is to repeat the unit. `reserved` names
    the only clients that may get the next lease: TRUSTED, a kind, or DRAWN with a client; empty for all.
    `part` is the part to do if the first client had to stop. It was halved `halvings` times. `phase` is its
    phase in the counts. `lot` in [0, 1) decides which clients are drawn to repeat it, `draws` counts them;
    `appeals` counts the times that it was left to trusted peers because results disagree. `audited` is
    what an audit repeats; None for other units. `wants_copy`: one client more is to repeat it, because the
    one that does is late.
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
    lot: float = 0.0
    draws: int = 0
    appeals: int = 0
    audited: ProvisionalResult | None = None
    wants_copy: bool = False

    def count(self, states: Collection[LeaseState]) -> int:
        """Returns the number of its leases in one of these states."""
        return sum([lease.state in states for lease in self.leases])

    def was_leased_to(
        self, client: ClientId, household: Household, comparable: bool = True, again: bool = False
    ) -> bool:
        """Whether `client` had a lease of it, or its household one whose result may be compared.

        Their agreement would prove nothing. Results are `comparable` where clients repeat units: whether they
        repeat this one is drawn when a result arrives, and that of an expired lease may. A trusted peer
        that was late may audit again. With `again`, what the client gave back does not count.
        """
        if self.audited is not None:
            return any(lease.client == client and lease.state in AWAITED for lease in self.leases)
        strict = comparable or self.quorum > 1
        lost = (LeaseState.RELEASED,) if strict else (LeaseState.RELEASED, LeaseState.EXPIRED)
        return any(
            (lease.client == client and not (again and lease.state is LeaseState.RELEASED))
            or (lease.state not in lost and same_household(lease.household, household))
            for lease in self.leases
        )

    def released_by(self, client: ClientId) -> float:
        """Returns when the client last gave it back; -infinity if it never did."""
        times = (one.released for one in self.leases if one.client == client and one.released < math.inf)
        return max(times, default=-math.inf)

    @property
    def attempts(self) -> int:
        """The number of its leases that were not given back: only these show whether it can be done."""
        return sum([lease.state is not LeaseState.RELEASED for lease in self.leases])

    @property
    def missing_leases(self) -> int:
        """The number of leases missing for a quorum.

        The second lease begins when the first result has arrived: until then its client cannot know with
        whose result it will be compared.
        """
        if self.state is not UnitState.OPEN:
            return 0
        awaited = self.count(AWAITED)
        wanted = self.quorum + self.wants_copy
        return 0 if awaited and not self.count(PENDING) else max(0, wanted - awaited)

    @property
    def only_lease_out(self) -> Lease | None:
        """The lease at work on it, if it is open and there is exactly one."""
        if self.state is not UnitState.OPEN or self.count((LeaseState.LEASED,)) != 1:
            return None
        return next(lease for lease in self.leases if lease.state is LeaseState.LEASED)

    @property
    def pending(self) -> tuple[LeaseId, ...]:
        """The leases whose results wait for a verdict."""
        return tuple(lease.id for lease in self.leases if lease.state in PENDING)

    @property
    def trusted_result(self) -> LeaseId | None:
        """A trusted peer's result that waits for a verdict."""
        return next((one.id for one in self.leases if one.by_trusted_peer and one.state in PENDING), None)

    @property
    def examples(self) -> int:
        """The number of examples on which its results are trained."""
        return self.part.examples if self.part else self.work.counted_rows

    @property
    def is_rest(self) -> bool:
        """Whether it is what a partial result left of another unit, or such a result's part."""
        return self.work.rows is not None

    @property
    def done_work(self) -> WorkUnit:
        """The work that its valid result has: the part, if its client had to stop."""
        return self.work.cut(self.part.steps, self.part.examples)[0] if self.part else self.work


def are_blind(leases: Iterable[Lease]) -> bool:
    """Whether one of these results had arrived before another one's lease began.

    Else the clients may have known of each other before any of them said anything.
    """
    leases = list(leases)
    return min(one.returned for one in leases) <= max(one.began for one in leases)
