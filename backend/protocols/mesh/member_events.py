"""Events and effects of the machine of a mesh's member.

They are msgspec structs, so that a conversation is plain JSON (bytes in base64). Those that several machines
of a client share are in participant_events.py.
"""

from __future__ import annotations

from msgspec import Struct

from backend.protocols.client.participant_events import (
    AbortMeasuring,
    AbortTraining,
    BundleLoaded,
    Close,
    Connect,
    Connected,
    Disconnected,
    Load,
    MeasureVersion,
    StartTraining,
    StopParticipant,
    VersionMeasured,
)
from backend.wire.mesh_messages import Certificate, Enter, Group, PeerToServer, ServerToPeer
from backend.wire.messages import Evaluate, Hash, Sums, Train

# Events.


class EnterMesh(Struct, frozen=True, tag="start"):
    """Take part from now on; `enter` is sent on every connection, with the weights held by then."""

    enter: Enter


class ServerFrame(Struct, frozen=True, tag="frame"):
    """The server sent a frame. Introductions (members, signals, parcels) need not be reported."""

    frame: ServerToPeer


class Agreed(Struct, frozen=True, tag="agreed"):
    """The peers agreed on a frame without the server, which is away (serverless/rounds.py)."""

    frame: Train | Group | Evaluate


class PlanTrained(Struct, frozen=True, tag="trained"):
    """The plan of `round` is done, perhaps with fewer steps than planned.

    Never reported after `abort_training`, nor without a whole step.
    """

    round: int
    examples: int
    steps: int
    loss: float
    sums: Sums


class GroupAveraged(Struct, frozen=True, tag="averaged"):
    """The group of the last `average` ended with `weights`, which this peer holds from now on.

    The fields are those of the frame. Never reported after `abort_averaging`.
    """

    round: int
    group: int
    weights: Hash
    survivors: list[int]
    fraction: float
    seconds: float
    signature: bytes


class GroupFailed(Struct, frozen=True, tag="failed"):
    """That group has no result for this peer."""

    round: int
    group: int
    reason: str


class WeightsCertified(Struct, frozen=True, tag="certified"):
    """As many survivors of a group as it needs signed the weights that it ended with."""

    certificate: Certificate


Event = (
    EnterMesh
    | Connected
    | ServerFrame
    | Agreed
    | BundleLoaded
    | PlanTrained
    | GroupAveraged
    | GroupFailed
    | WeightsCertified
    | VersionMeasured
    | Disconnected
    | StopParticipant
)

# Effects, performed in order.


class SendToServer(Struct, frozen=True, tag="send"):
    """Send one frame to the server."""

    frame: PeerToServer


class Average(Struct, frozen=True, tag="average"):
    """Average what was trained last with the members of this group; then report `averaged` or `failed`."""

    group: Group


class AbortAveraging(Struct, frozen=True, tag="abort_averaging"):
    """Leave the group in hand; the others continue without this peer."""


class UploadDeposit(Struct, frozen=True, tag="deposit"):
    """Upload these weights to the server, if this peer has them."""

    weights: Hash


Effect = (
    Connect
    | SendToServer
    | Load
    | StartTraining
    | AbortTraining
    | Average
    | AbortAveraging
    | UploadDeposit
    | MeasureVersion
    | AbortMeasuring
    | Close
)
