"""One member of a mesh's round: its work, how far it is, and what it reported."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from backend.protocols.rounds.deadline import PlannedWork
from backend.wire.mesh_messages import Averaged, Group, Trained


class MeshMemberStage(StrEnum):
    """The progress of a member of the open round."""

    TRAINING = "training"
    TRAINED = "trained"
    AVERAGING = "averaging"
    AVERAGED = "averaged"
    FAILED = "failed"
    OUT = "out"


@dataclass
class Trainee:
    """One member: its work, from the weights `base`, and its reports."""

    base: str
    shards: tuple[int, ...]
    seed: int
    work: PlannedWork
    standing: MeshMemberStage = MeshMemberStage.TRAINING
    lost_at: float | None = None
    trained: Trained | None = None
    group: Group | None = None
    averaged: Averaged | None = None
    # It was started again and does not know its group: no report of it will come.
    restarted: bool = False


@dataclass(frozen=True)
class GroupResult:
    """The result of one group: `weights`, by the reports of `holders`."""

    weights: str
    holders: tuple[str, ...]
