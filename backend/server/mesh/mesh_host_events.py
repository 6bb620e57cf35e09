"""Defines the events that wait in the mailbox of a decentralized task's host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from backend.numerics.vectors import Vector
from backend.server.hosting.host_events import (
    ClientsDismissed,
    ConnectionLost,
    EvaluationWritten,
    FrameReceived,
    OwnerRequest,
    VersionFailed,
    VersionWritten,
)
from backend.server.mesh.peer_list import Peer
from backend.wire.mesh_messages import Certificate, PeerToServer


@dataclass(frozen=True)
class PeerEntered:
    """A peer connected; its `certificate`, if any, proves the weights that it holds."""

    peer: Peer
    certificate: Certificate | None
    chain: Sequence[Certificate] = ()


@dataclass(frozen=True)
class WeightsDeposited:
    """A peer uploaded `weights`, whose SHA-256 is `address`."""

    address: str
    weights: Vector


MeshHostEvent: TypeAlias = (
    PeerEntered
    | FrameReceived[PeerToServer]
    | ConnectionLost
    | ClientsDismissed
    | OwnerRequest
    | WeightsDeposited
    | VersionWritten
    | VersionFailed
    | EvaluationWritten
)
