"""Events in the mailbox of the work units' host: from clients, the owner and the host's own jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from backend.protocols.units.rules import Verdict
from backend.protocols.units.scheduler_effects import Assimilate, ClientId, Judge, LeaseId
from backend.server.hosting.clients.client_link import ClientLink, ConnectedClient
from backend.server.hosting.host_events import (
    ClientsDismissed,
    ConnectionLost,
    FinishRequested,
    PauseRequested,
    ResumeRequested,
)
from backend.server.units.epoch_record import Epoch
from backend.server.units.evaluation.measurement import EvaluationResult
from backend.stores.contracts import VersionRecord
from backend.stores.parameters.contract import Receipt
from backend.wire import unit_messages


@dataclass(frozen=True)
class ClientEnlisted:
    """A client enlisted; an older connection of the same client is closed."""

    enlist: unit_messages.Enlist
    client: ConnectedClient


@dataclass(frozen=True)
class UnitFrameReceived:
    """A client sent a frame after it enlisted."""

    client: str
    link: ClientLink
    message: unit_messages.UnitsToServer


@dataclass(frozen=True)
class ParametersReady:
    """The parameter servers hold the model, so the run can begin."""


@dataclass(frozen=True)
class ResultsValidated:
    """The validator compared results of one unit: the verdict on each lease."""

    judge: Judge
    verdicts: Mapping[LeaseId, Verdict]


@dataclass(frozen=True)
class AssimilationSucceeded:
    """A result is in the model, `seconds` after its job began."""

    blend: Assimilate
    receipt: Receipt
    seconds: float


@dataclass(frozen=True)
class AssimilationFailed:
    """A result cannot be assimilated for `reason`; neither can any later result."""

    blend: Assimilate
    reason: str


@dataclass(frozen=True)
class TakeOutEnded:
    """`results` of a refuted client were removed from the model; no receipt: they had no effect on it."""

    client: ClientId
    results: int
    receipt: Receipt | None


@dataclass(frozen=True)
class TakeOutFailed:
    """Results cannot be taken out for `reason`; neither can a later one be blended."""

    reason: str


@dataclass(frozen=True)
class EpochRecorded:
    """A closed epoch is recorded; `version` is None if it made no version."""

    epoch: Epoch
    version: VersionRecord | None


@dataclass(frozen=True)
class UnitWeightsEvaluated:
    """An evaluation of weights ended."""

    result: EvaluationResult


UnitHostEvent: TypeAlias = (
    ClientEnlisted
    | UnitFrameReceived
    | ConnectionLost
    | ClientsDismissed
    | PauseRequested
    | ResumeRequested
    | FinishRequested
    | ParametersReady
    | ResultsValidated
    | AssimilationSucceeded
    | AssimilationFailed
    | TakeOutEnded
    | TakeOutFailed
    | EpochRecorded
    | UnitWeightsEvaluated
)
