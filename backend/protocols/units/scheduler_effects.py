"""Effects of the scheduler, which its host performs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

ClientId: TypeAlias = str
UnitId: TypeAlias = int
LeaseId: TypeAlias = int


@dataclass(frozen=True, slots=True)
class WorkUnit:
    """Rows `first` to `first + examples` of a shard, to be trained on once in an epoch.

    `seed` is the same for all clients that train on it. A rest is the work that a partial result left: of the
    training on these rows only the steps from `first_step` on, or `steps` of them if that is not 0. It counts
    as `rows` of the rows.
    """

    unit: UnitId
    shard: int
    examples: int
    seed: int
    first: int = 0
    first_step: int = 0
    steps: int = 0
    rows: int | None = None

    @property
    def counted_rows(self) -> int:
        """The number of rows that it counts as."""
        return self.examples if self.rows is None else self.rows

    def cut(self, steps: int, rows: int) -> tuple[WorkUnit, WorkUnit]:
        """Returns its first `steps`, which count as `rows`, and the rest, with the same number."""
        rest_steps = self.steps and self.steps - steps
        rest_rows = self.counted_rows - rows
        rest = replace(self, first_step=self.first_step + steps, steps=rest_steps, rows=rest_rows)
        return replace(self, steps=steps, rows=rows), rest


@dataclass(frozen=True)
class GrantLease:
    """Tell `client` to train on rows `first` to `first + examples` of `shard` from `base` with `seed`.

    It reports until `deadline`, and sends a heartbeat every `heartbeat` seconds. It skips the first
    `first_step` steps, which another result has. If `steps` is not 0, it takes only that many: another client
    stopped there, and the results are compared. `holds_shard`: the client had that shard before. `epoch` is
    that of the work: an audit repeats older work.
    """

    client: ClientId
    lease: LeaseId
    unit: UnitId
    shard: int
    first: int
    examples: int
    base: int
    seed: int
    epoch: int
    steps: int
    deadline: float
    heartbeat: float
    holds_shard: bool
    first_step: int = 0


@dataclass(frozen=True)
class Wait:
    """There is nothing for `client`: `slots`, `quota`, `reliable`, `bound`, `released`, `nothing` or `over`.

    That may change at the time `retry_at` without an event; None if only an event can change it.
    """

    client: ClientId
    reason: str
    retry_at: float | None = None


@dataclass(frozen=True)
class LeaseRenewed:
    """The lease lasts until `deadline`."""

    client: ClientId
    lease: LeaseId
    deadline: float


@dataclass(frozen=True)
class Abort:
    """Tell `client` that this work is not needed any more. A result that it sends nevertheless is checked."""

    client: ClientId
    lease: LeaseId


@dataclass(frozen=True)
class Judge:
    """Compare the results of these leases of `unit` and answer with `judged`; a single one is only checked.

    The others are compared with `valid`: a result that was found valid already, or one of `leases` that is a
    trusted peer's. None if there is no such result. In an audit the single result, a trusted peer's, is
    compared with that of `audited`, a lease of any epoch: INVALID says that they differ.
    """

    unit: UnitId
    leases: tuple[LeaseId, ...]
    valid: LeaseId | None
    audited: LeaseId | None = None


@dataclass(frozen=True)
class Assimilate:
    """Blend this result into the model: once for every unit.

    If it is `provisional`, it may have to be taken out again, and is kept for an audit until ForgetResult.
    """

    unit: UnitId
    lease: LeaseId
    client: ClientId
    base: int
    provisional: bool = False


@dataclass(frozen=True)
class TakeOutResults:
    """A trusted peer refuted `client`: take its provisional `results`, so many, out of the model."""

    client: ClientId
    results: int


@dataclass(frozen=True)
class KeepResults:
    """The provisional results of `client` stay in the model."""

    client: ClientId


@dataclass(frozen=True)
class ForgetResult:
    """The provisional result of this lease is not audited (any more)."""

    lease: LeaseId


@dataclass(frozen=True)
class SplitUnit:
    """A unit was too large for the client: these are its parts, the first with its number."""

    parts: tuple[WorkUnit, ...]


@dataclass(frozen=True)
class CreditClient:
    """`client` has a valid result of `examples`; also if it was late or a replica."""

    client: ClientId
    lease: LeaseId
    examples: int


@dataclass(frozen=True)
class DistrustClient:
    """A result of `client` was invalid."""

    client: ClientId
    lease: LeaseId


@dataclass(frozen=True)
class DismissResult:
    """A result of `client` is not compared: a trusted peer refuted another one."""

    client: ClientId
    lease: LeaseId


@dataclass(frozen=True)
class GivenUp:
    """`unit` had the maximum of leases, and none gave a valid result."""

    unit: UnitId


@dataclass(frozen=True)
class UnitDropped:
    """`unit` is not needed any more, since the training ends; its results are not compared."""

    unit: UnitId


@dataclass(frozen=True)
class EpochClosed:
    """All units of `epoch` are over: `done` were assimilated, `failed` were given up, others dropped."""

    epoch: int
    done: int
    failed: int


@dataclass(frozen=True)
class EpochReopened:
    """All units of `epoch` were given up, so that it has no result: its `units` are open again."""

    epoch: int
    units: int


@dataclass(frozen=True)
class RefuseResult:
    """The frame of `client` is illegal and changed nothing; `reason` is a sentence for it."""

    client: ClientId
    reason: str


Effect: TypeAlias = (
    GrantLease
    | Wait
    | LeaseRenewed
    | Abort
    | Judge
    | Assimilate
    | TakeOutResults
    | KeepResults
    | ForgetResult
    | SplitUnit
    | CreditClient
    | DistrustClient
    | DismissResult
    | GivenUp
    | UnitDropped
    | EpochClosed
    | EpochReopened
    | RefuseResult
)
