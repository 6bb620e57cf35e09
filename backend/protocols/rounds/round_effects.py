"""The effects of rounds: what the machine asks its host to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from backend.errors import UpdateRefusedError
from backend.wire.messages import Aggregation, Offer

ClientId: TypeAlias = str


@dataclass(frozen=True)
class AnnounceRound:
    """Announces a round with `cohort`: it ends with `wanted` accepted updates, or after `seconds`.

    `available` clients were eligible. `aggregation` is how updates are added up; no member trains on more
    than `most_examples`. In a masked round each of `groups` has a sum of its own.
    """

    round: int
    version: int
    cohort: tuple[ClientId, ...]
    available: int
    wanted: int
    seconds: float
    aggregation: Aggregation
    most_examples: int
    groups: tuple[tuple[ClientId, ...], ...] = ()


@dataclass(frozen=True)
class SendRoundTrain:
    """Tells `client` to train from `version` on `shards` (their numbers) and to report within `seconds`."""

    client: ClientId
    round: int
    version: int
    shards: tuple[int, ...]
    seed: int
    seconds: float


@dataclass(frozen=True)
class SendEvaluate:
    """Tells `client` to evaluate `version` on held-out `shards` (their numbers), or on its own examples."""

    client: ClientId
    round: int
    version: int
    shards: tuple[int, ...]
    seconds: float


@dataclass(frozen=True)
class RecordEvaluation:
    """Records and announces the evaluation of `version` by `clients` on `examples` held-out examples."""

    version: int
    loss: float
    metrics: dict[str, float]
    examples: int
    clients: int


@dataclass(frozen=True)
class GrantUpload:
    """Grants the upload of an offered update as soon as a buffer is free."""

    client: ClientId
    offer: Offer


@dataclass(frozen=True)
class Accept:
    """Adds a checked update to the aggregate, weighted by its examples, and tells the client.

    One of a newcomer does not count: it is not added.
    """

    client: ClientId
    offer: Offer
    counts: bool = True


@dataclass(frozen=True)
class RefuseUpdate:
    """Discards an update, and tells the client why."""

    client: ClientId
    round: int
    error: UpdateRefusedError


@dataclass(frozen=True)
class Aggregate:
    """Ends a round with enough updates: the host makes the next version, then calls `aggregated`.

    So many `false_updates`, of those that a robust rule bears, were refused.
    """

    round: int
    version: int
    false_updates: int = 0


@dataclass(frozen=True)
class Abandon:
    """Ends a round without a version; its updates are discarded."""

    round: int
    reason: str


@dataclass(frozen=True)
class Finished:
    """Finishes the task: `version` is the last, `reason` is a sentence for people."""

    version: int
    reason: str


@dataclass(frozen=True)
class Restore:
    """Makes the version that the owner chose the next one, in round `round`, which has no members.

    The host then calls `aggregated` or `restoring_failed`.
    """

    round: int


# Effects of every kind of rounds.
Common: TypeAlias = SendEvaluate | RecordEvaluation | Abandon | Finished

Effect: TypeAlias = (
    AnnounceRound | SendRoundTrain | GrantUpload | Accept | RefuseUpdate | Aggregate | Restore | Common
)
