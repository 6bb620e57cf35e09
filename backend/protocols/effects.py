"""What a round asks its host to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from backend.errors import UpdateRefusedError
from backend.wire.messages import Offer

ClientId: TypeAlias = str


@dataclass(frozen=True)
class Opened:
    """A round began with `cohort`."""

    round: int
    version: int
    cohort: tuple[ClientId, ...]


@dataclass(frozen=True)
class SendTrain:
    """Tell `client` to train from `version` on `shards` (their numbers) and to report within `seconds`."""

    client: ClientId
    round: int
    version: int
    shards: tuple[int, ...]
    seed: int
    seconds: float


@dataclass(frozen=True)
class Grant:
    """Take the offered update in as soon as there is room for it."""

    client: ClientId
    offer: Offer


@dataclass(frozen=True)
class Check:
    """All bytes are here: look at their values and answer with `update_checked`."""

    client: ClientId
    offer: Offer


@dataclass(frozen=True)
class Accept:
    """The checked update counts: add it to the aggregate with its examples, and tell the client."""

    client: ClientId
    offer: Offer


@dataclass(frozen=True)
class Refuse:
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
    """The last version is made."""

    version: int


Effect: TypeAlias = Opened | SendTrain | Grant | Check | Accept | Refuse | Aggregate | Abandon | Finished
