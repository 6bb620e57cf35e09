"""Events of tasks, which observers receive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from backend.stores.contracts import EvaluationRecord, RoundRecord, VersionRecord

# What takes a task from version to version: work units go by epochs, which are counted like rounds.
Pass: TypeAlias = Literal["round", "epoch"]


@dataclass(frozen=True)
class ClientJoined:
    """A client said hello."""

    client: str
    kind: str
    backend: str


@dataclass(frozen=True)
class ClientLeft:
    """A client left, or its connection was `lost`."""

    client: str
    lost: bool


@dataclass(frozen=True)
class RoundOpened:
    """A round began with a cohort of so many clients, from `version`; or an epoch, with so many here."""

    round: int
    version: int
    cohort: int
    word: Pass = "round"


@dataclass(frozen=True)
class UpdateAccepted:
    """An update counts in its round; or a result of a work unit, which is in the model, in its epoch."""

    client: str
    round: int
    examples: int
    word: Pass = "round"


@dataclass(frozen=True)
class UpdateRefused:
    """An update, or the offer of one, does not count; `code` and `reason` are what its client was told."""

    client: str
    round: int
    code: str
    reason: str


@dataclass(frozen=True)
class SumUnmasked:
    """The sum of the updates of `clients` was unmasked in so many seconds; all had so many `examples`.

    `dropped` of those who shared masks with them sent no update that counts.
    """

    round: int
    clients: int
    dropped: int
    examples: int
    seconds: float


@dataclass(frozen=True)
class UnmaskingFailed:
    """What clients revealed does not unmask the sum; there may be more to come."""

    round: int
    reason: str


@dataclass(frozen=True)
class ClientDistrusted:
    """What a client said while a sum is unmasked is not used; its update counts."""

    client: str
    round: int
    reason: str


@dataclass(frozen=True)
class PeersAveraged:
    """In a round of a mesh so many peers ended with a result of their group, the slowest after `seconds`.

    `fraction` is how much of all members' weight is in the recorded group's result.
    """

    round: int
    peers: int
    fraction: float
    seconds: float


@dataclass(frozen=True)
class UnitLeased:
    """A client was given a work unit of `shard`."""

    client: str
    lease: int
    unit: int
    epoch: int
    shard: int


@dataclass(frozen=True)
class UnitReturned:
    """A result of a work unit is here, or came `late`: after its deadline."""

    client: str
    lease: int
    late: bool


@dataclass(frozen=True)
class UnitReleased:
    """A client gave a work unit back without a result; `cause` is its word for why."""

    client: str
    lease: int
    cause: str


@dataclass(frozen=True)
class UnitCounted:
    """A result of a work unit held, and its examples are credited. `blended`: it is the one in the model."""

    client: str
    lease: int
    examples: int
    blended: bool


@dataclass(frozen=True)
class UnitRejected:
    """A result of a work unit does not count; `code` and `reason` are what its client was told."""

    client: str
    lease: int
    code: str
    reason: str


@dataclass(frozen=True)
class ResultAssimilated:
    """A result is in the model, in which so many others (`staleness`) were blended since it was begun.

    `seconds` is how long it waited for a parameter server and took there.
    """

    epoch: int
    unit: int
    staleness: int
    seconds: float


@dataclass(frozen=True)
class RoundEnded:
    """A round, or an epoch, is recorded, with the version that it made, if it made one."""

    round: RoundRecord
    version: VersionRecord | None
    word: Pass = "round"


@dataclass(frozen=True)
class VersionMade:
    """A version was made of a round's updates and recorded, in so many seconds."""

    version: int
    seconds: float


@dataclass(frozen=True)
class VersionEvaluated:
    """A version was measured on held-out examples."""

    evaluation: EvaluationRecord


@dataclass(frozen=True)
class TaskFinished:
    """No more rounds follow; `reason` says why."""

    version: int
    reason: str


@dataclass(frozen=True)
class StoreFailed:
    """Something could not be recorded. The task waits, and tries again in so many seconds."""

    reason: str
    seconds: float


@dataclass(frozen=True)
class StoreMended:
    """The record that had failed is written now."""


TaskEvent: TypeAlias = (
    ClientJoined
    | ClientLeft
    | RoundOpened
    | UpdateAccepted
    | UpdateRefused
    | SumUnmasked
    | UnmaskingFailed
    | ClientDistrusted
    | PeersAveraged
    | UnitLeased
    | UnitReturned
    | UnitReleased
    | UnitCounted
    | UnitRejected
    | ResultAssimilated
    | RoundEnded
    | VersionMade
    | VersionEvaluated
    | TaskFinished
    | StoreFailed
    | StoreMended
)
