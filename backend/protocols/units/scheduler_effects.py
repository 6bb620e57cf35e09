"""Effects of the scheduler: what its host has to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

ClientId: TypeAlias = str
UnitId: TypeAlias = int
LeaseId: TypeAlias = int


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """Rows `first` to `first + examples` of a shard, to be trained on once in an epoch.

    `seed` is the same for all who train on it.
    """

    unit: UnitId
    shard: int
    examples: int
    seed: int
    first: int = 0


@dataclass(frozen=True)
class GrantLease:
    """Tell `client` to train on rows `first` to `first + examples` of `shard` from `base` with `seed`.

    It reports until `deadline`, and says that it is still at work every `heartbeat` seconds. Where `steps` is
    not 0, it takes that many only: another stopped there, and is compared with it. `holds_shard`: it had
    that shard before.
    """

    client: ClientId
    lease: LeaseId
    unit: UnitId
    shard: int
    first: int
    examples: int
    base: int
    seed: int
    steps: int
    deadline: float
    heartbeat: float
    holds_shard: bool


@dataclass(frozen=True)
class Wait:
    """There is nothing for `client` now: `slots`, `quota`, `reliable`, `bound`, `nothing` or `over`.

    It may be otherwise `again`, though nothing happens meanwhile; None where something has to.
    """

    client: ClientId
    reason: str
    again: float | None = None


@dataclass(frozen=True)
class LeaseRenewed:
    """The lease holds until `deadline`."""

    client: ClientId
    lease: LeaseId
    deadline: float


@dataclass(frozen=True)
class Abort:
    """Tell `client` that this work is not needed any more. What it sends all the same is looked at."""

    client: ClientId
    lease: LeaseId


@dataclass(frozen=True)
class Judge:
    """Compare the results of these leases of `unit` and answer with `judged`; one alone is only looked at.

    `valid` is taken as true and the others are compared with it: a result that was found valid already, or
    one of `leases` that is a trusted peer's. None where there is no such.
    """

    unit: UnitId
    leases: tuple[LeaseId, ...]
    valid: LeaseId | None


@dataclass(frozen=True)
class Assimilate:
    """Blend this result into the model: once for every unit."""

    unit: UnitId
    lease: LeaseId
    client: ClientId
    base: int


@dataclass(frozen=True)
class SplitUnit:
    """A unit was too much for whoever asked: these are its parts, the first with its number."""

    parts: tuple[WorkUnit, ...]


@dataclass(frozen=True)
class CreditClient:
    """`client` trained validly on `examples`; also who came late or was compared."""

    client: ClientId
    lease: LeaseId
    examples: int


@dataclass(frozen=True)
class DistrustClient:
    """A result of `client` was invalid."""

    client: ClientId
    lease: LeaseId


@dataclass(frozen=True)
class GivenUp:
    """Of too many leases of `unit` none gave a result that holds."""

    unit: UnitId


@dataclass(frozen=True)
class EpochClosed:
    """All units of `epoch` are over: `done` were assimilated, `failed` were given up, others dropped."""

    epoch: int
    done: int
    failed: int


@dataclass(frozen=True)
class RefuseResult:
    """What `client` sent does not fit, and changed nothing; `reason` is a sentence for it."""

    client: ClientId
    reason: str


Effect: TypeAlias = (
    GrantLease
    | Wait
    | LeaseRenewed
    | Abort
    | Judge
    | Assimilate
    | SplitUnit
    | CreditClient
    | DistrustClient
    | GivenUp
    | EpochClosed
    | RefuseResult
)
