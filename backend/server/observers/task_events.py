"""Defines the events of tasks that observers receive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from backend.stores.contracts import EvaluationRecord, IntegrityRecord, RoundRecord, VersionRecord

# What leads from one version to the next: with work units an epoch, which is numbered like a round.
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
    """A round began from `version` with `cohort` clients; or an epoch, with `cohort` clients connected."""

    round: int
    version: int
    cohort: int
    word: Pass = "round"


@dataclass(frozen=True)
class UpdateAccepted:
    """An update was accepted in its round; or the result of a work unit was assimilated in its epoch."""

    client: str
    round: int
    examples: int
    word: Pass = "round"


@dataclass(frozen=True)
class UpdateChecked:
    """A newcomer's update was checked in its round, in which it does not count."""

    client: str
    round: int


@dataclass(frozen=True)
class UpdateRefused:
    """An update, or the offer of one, was refused; its client received `code` and `reason`."""

    client: str
    round: int
    code: str
    reason: str


@dataclass(frozen=True)
class SumUnmasked:
    """The sum of `clients` updates with `examples` examples in all was unmasked in `seconds` seconds.

    `dropped` clients shared masks with them and sent no accepted update.
    """

    round: int
    clients: int
    dropped: int
    examples: int
    seconds: float


@dataclass(frozen=True)
class UnmaskingFailed:
    """The shares that clients revealed do not unmask the sum; more shares may follow."""

    round: int
    reason: str


@dataclass(frozen=True)
class GroupLost:
    """A masked round continues without the sum of a group of so many `clients`; `reason` says why."""

    round: int
    group: int
    clients: int
    reason: str


@dataclass(frozen=True)
class ClientDistrusted:
    """A client's messages during unmasking are ignored; its update counts."""

    client: str
    round: int
    reason: str


@dataclass(frozen=True)
class PeersAveraged:
    """In a round of a mesh `peers` peers reported a result of their group, the slowest after `seconds`.

    `fraction` is the share of all members' weight in the recorded group's result.
    """

    round: int
    peers: int
    fraction: float
    seconds: float


@dataclass(frozen=True)
class UnitLeased:
    """A client was granted a lease of a work unit of `shard`, or got its lease `again` after a restart."""

    client: str
    lease: int
    unit: int
    epoch: int
    shard: int
    again: bool = False


@dataclass(frozen=True)
class UnitReturned:
    """A result of a work unit arrived; `late` means after its deadline."""

    client: str
    lease: int
    late: bool


@dataclass(frozen=True)
class UnitReleased:
    """A client returned a work unit without a result; `cause` is the reason that it gave."""

    client: str
    lease: int
    cause: str


@dataclass(frozen=True)
class UnitCounted:
    """A result of a work unit passed validation; its examples are credited.

    `blended` marks the result of the unit that was assimilated.
    """

    client: str
    lease: int
    examples: int
    blended: bool


@dataclass(frozen=True)
class UnitRejected:
    """A result of a work unit was rejected; its client received `code` and `reason`."""

    client: str
    lease: int
    code: str
    reason: str


@dataclass(frozen=True)
class ResultAssimilated:
    """A result was assimilated; `staleness` others were assimilated since its unit was started.

    `seconds` is how long it waited for a parameter server and was processed there.
    """

    epoch: int
    unit: int
    staleness: int
    seconds: float


@dataclass(frozen=True)
class ResultsTakenOut:
    """A trusted peer refuted a client, and its `results` unproven results were removed from the model."""

    client: str
    epoch: int
    results: int


@dataclass(frozen=True)
class EpochRestarted:
    """All `units` of an epoch of work units were given up without a result, and are open again."""

    epoch: int
    units: int


@dataclass(frozen=True)
class RoundEnded:
    """A round or an epoch was recorded, with the version that it made, if any."""

    round: RoundRecord
    version: VersionRecord | None
    word: Pass = "round"


@dataclass(frozen=True)
class VersionMade:
    """A version was made of a round's updates and recorded, in `seconds` seconds."""

    version: int
    seconds: float


@dataclass(frozen=True)
class VersionEvaluated:
    """A version was evaluated on held-out examples."""

    evaluation: EvaluationRecord


@dataclass(frozen=True)
class VersionChecked:
    """A version was checked for signs of a backdoor, or its owner accepted it in spite of them."""

    check: IntegrityRecord


@dataclass(frozen=True)
class TaskFinished:
    """No more rounds follow; `reason` says why."""

    version: int
    reason: str


@dataclass(frozen=True)
class StoreFailed:
    """A record could not be written. The task waits and retries in `seconds` seconds."""

    reason: str
    seconds: float


@dataclass(frozen=True)
class StoreMended:
    """The record that had failed was written."""


TaskEvent: TypeAlias = (
    ClientJoined
    | ClientLeft
    | RoundOpened
    | UpdateAccepted
    | UpdateChecked
    | UpdateRefused
    | SumUnmasked
    | UnmaskingFailed
    | GroupLost
    | ClientDistrusted
    | PeersAveraged
    | UnitLeased
    | UnitReturned
    | UnitReleased
    | UnitCounted
    | UnitRejected
    | ResultAssimilated
    | ResultsTakenOut
    | EpochRestarted
    | RoundEnded
    | VersionMade
    | VersionEvaluated
    | VersionChecked
    | TaskFinished
    | StoreFailed
    | StoreMended
)
