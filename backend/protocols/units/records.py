"""What the scheduler remembers of work units and leases."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from backend.protocols.units.scheduler_effects import ClientId, LeaseId, UnitId, WorkUnit
from backend.protocols.units.states import PENDING, LeaseState, UnitState

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
