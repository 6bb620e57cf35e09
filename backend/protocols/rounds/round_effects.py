"""What a round asks its host to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from backend.errors import UpdateRefusedError
from backend.wire.messages import Aggregation, Offer

ClientId: TypeAlias = str


@dataclass(frozen=True)
class AnnounceRound:
    """A round began with `cohort`: it ends with `wanted` accepted updates, or after `seconds`.

    `available` clients could have been chosen. Updates are added up by `aggregation`; no member's plan makes
    more than `most_examples`.
    """

    round: int
    version: int
    cohort: tuple[ClientId, ...]
    available: int
    wanted: int
    seconds: float
    aggregation: Aggregation
    most_examples: int


@dataclass(frozen=True)
class SendRoundTrain:
    """Tell `client` to train from `version` on `shards` (their numbers) and to report within `seconds`."""

    client: ClientId
    round: int
    version: int
    shards: tuple[int, ...]
    seed: int
    seconds: float


@dataclass(frozen=True)
class SendEvaluate:
    """Tell `client` to measure `version` on held-out `shards` (their numbers), or on its own examples."""

    client: ClientId
    round: int
    version: int
    shards: tuple[int, ...]
    seconds: float


@dataclass(frozen=True)
class RecordEvaluation:
    """`clients` measured `version` on so many held-out examples together: tell everybody, and record it."""

    version: int
    loss: float
    metrics: dict[str, float]
    examples: int
    clients: int


@dataclass(frozen=True)
class GrantUpload:
    """Take the offered update in as soon as there is room for it."""

    client: ClientId
    offer: Offer


@dataclass(frozen=True)
class Accept:
    """The checked update counts: add it to the aggregate with its examples, and tell the client."""

    client: ClientId
    offer: Offer


@dataclass(frozen=True)
class RefuseUpdate:
    """An update does not count; forget its bytes, and tell the client why."""

    client: ClientId
    round: int
    error: UpdateRefusedError


@dataclass(frozen=True)
class Aggregate:
    """The round is over with enough updates: make the next version, then answer `aggregated`."""

    round: int
    version: int


@dataclass(frozen=True)
class Abandon:
    """The round is over without a version; forget its updates."""

    round: int
    reason: str


@dataclass(frozen=True)
class Finished:
    """No more rounds: `version` is the last, `reason` says why, for people."""

    version: int
    reason: str


@dataclass(frozen=True)
class Restore:
    """Round `round` has no members: make the version that the owner chose the next one, then answer
    `aggregated`, or `restoring_failed`."""

    round: int


# Whatever kind of rounds a task has.
Common: TypeAlias = SendEvaluate | RecordEvaluation | Abandon | Finished

Effect: TypeAlias = (
    AnnounceRound | SendRoundTrain | GrantUpload | Accept | RefuseUpdate | Aggregate | Restore | Common
)
