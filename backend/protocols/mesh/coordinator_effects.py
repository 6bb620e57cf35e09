"""Effects of the mesh coordinator, which its host performs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from backend.errors import UpdateRefusedError
from backend.protocols.rounds.round_effects import Common
from backend.wire.mesh_messages import Averaged, Group, Trained


@dataclass(frozen=True)
class MeshRoundOpened:
    """A round began with `cohort`, for at most `seconds` of training."""

    round: int
    version: int
    cohort: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class TakeUp:
    """The result of `round`, made without the server, is to be recorded next; `holders` have it."""

    round: int
    version: int
    holders: tuple[str, ...]


@dataclass(frozen=True)
class SendMeshTrain:
    """Tell `client` to train from `weights` on `shards` (their numbers) and to report within `seconds`."""

    client: str
    round: int
    version: int
    weights: str
    shards: tuple[int, ...]
    seed: int
    seconds: float


@dataclass(frozen=True)
class GroupsFormed:
    """Record the members of the round's groups: only they can certify these groups' results."""

    groups: tuple[Group, ...]


@dataclass(frozen=True)
class SendGroup:
    """Send `client` the order of its group."""

    client: str
    group: Group


@dataclass(frozen=True)
class RefuseReport:
    """Tell `client` that its report does not count in `round`; it may join the next."""

    client: str
    round: int
    error: UpdateRefusedError


@dataclass(frozen=True)
class AskDeposit:
    """Ask `client` for the weights of `round`, for the record."""

    client: str
    round: int
    weights: str


@dataclass(frozen=True)
class MeshOutcome:
    """The outcome of a round: `weights` of the group with most survivors, and the reports of members.

    `trained` and `averaged` are the reports of the members that averaged, by their ids; empty for a round
    that peers made without the server.
    """

    round: int
    version: int
    weights: str
    cohort: int
    seconds: float
    trained: dict[str, Trained] = field(default_factory=dict)
    averaged: dict[str, Averaged] = field(default_factory=dict)


@dataclass(frozen=True)
class RecordWeights:
    """Record the weights of `outcome`, which have arrived; then answer `recorded`."""

    outcome: MeshOutcome


Effect: TypeAlias = (
    MeshRoundOpened
    | TakeUp
    | SendMeshTrain
    | GroupsFormed
    | SendGroup
    | RefuseReport
    | AskDeposit
    | RecordWeights
    | Common
)
