"""What the coordinator of a mesh asks its host to do."""

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
class SendGroup:
    """Tell `client` with whom it averages."""

    client: str
    group: Group


@dataclass(frozen=True)
class RefuseReport:
    """What `client` trained or averaged does not count in `round`; it may be in the next."""

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
    """What a round came to: `trained` are the reports of those who averaged, by their ids, and `averaged`
    what became of them; `weights` are those of the group that ended with most survivors.

    Of a round that peers made without the server there are no reports.
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
    """The weights of `outcome` are here: record them, then answer `recorded`."""

    outcome: MeshOutcome


Effect: TypeAlias = (
    MeshRoundOpened | TakeUp | SendMeshTrain | SendGroup | RefuseReport | AskDeposit | RecordWeights | Common
)
