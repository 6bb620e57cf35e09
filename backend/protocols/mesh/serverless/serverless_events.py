"""Stages of rounds without the server, and events and effects that their machine and host exchange.

Events and effects are msgspec structs, so that a conversation is plain JSON (bytes in base64).
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from backend.wire.mesh_messages import Certificate, Group, ServerToPeer, Trained
from backend.wire.messages import Evaluate, Evaluation, Train
from backend.wire.peer_messages import OnwardFrame

# Stages.


class ServerlessStage(StrEnum):
    """Stages of a peer's rounds without the server."""

    ATTENDED = "attended"
    CALLING = "calling"
    MEASURING = "measuring"
    TRAINING = "training"
    TRAINED = "trained"
    AVERAGING = "averaging"


# A stage may follow itself: a peer that calls may call again.
TRANSITIONS: dict[ServerlessStage, frozenset[ServerlessStage]] = {
    ServerlessStage.ATTENDED: frozenset({ServerlessStage.CALLING}),
    ServerlessStage.CALLING: frozenset(
        {ServerlessStage.ATTENDED, ServerlessStage.MEASURING, ServerlessStage.TRAINING}
    ),
    ServerlessStage.MEASURING: frozenset(
        {ServerlessStage.ATTENDED, ServerlessStage.CALLING, ServerlessStage.TRAINING}
    ),
    ServerlessStage.TRAINING: frozenset(
        {ServerlessStage.ATTENDED, ServerlessStage.CALLING, ServerlessStage.TRAINED}
    ),
    ServerlessStage.TRAINED: frozenset(
        {ServerlessStage.ATTENDED, ServerlessStage.CALLING, ServerlessStage.AVERAGING}
    ),
    ServerlessStage.AVERAGING: frozenset({ServerlessStage.ATTENDED, ServerlessStage.CALLING}),
}


# Events.


class ServerReached(Struct, frozen=True, tag="reached"):
    """The server answered `enter`: it decides from now on. `run` names the run of the task."""

    run: str


class ServerLost(Struct, frozen=True, tag="deserted"):
    """The connection to the server is lost; `busy` while this peer trains or averages."""

    busy: bool


class ServerFrameReceived(Struct, frozen=True, tag="told"):
    """A frame of the server arrived."""

    frame: ServerToPeer


class PeerLinked(Struct, frozen=True, tag="linked"):
    """There is a link to `client`, or it sends again after silence."""

    client: str


class PeerLost(Struct, frozen=True, tag="lost"):
    """The last link to `client` is gone."""

    client: str


class PeerFrameReceived(Struct, frozen=True, tag="heard"):
    """A frame of `client` arrived."""

    client: str
    frame: OnwardFrame


class LocalTrained(Struct, frozen=True, tag="trained"):
    """This peer's training is done, by the server's plan or by one of the peers."""

    report: Trained


class LocalGroupAveraged(Struct, frozen=True, tag="averaged"):
    """This peer's group `order` ended with `weights`."""

    order: Group
    weights: str


class LocalGroupFailed(Struct, frozen=True, tag="failed"):
    """This peer's group has no result for it."""


class LocalGroupCertified(Struct, frozen=True, tag="certified"):
    """More than half of the survivors signed the weights of `certificate`."""

    certificate: Certificate


class LocalMeasured(Struct, frozen=True, tag="measured"):
    """This peer measured what an `Agree` with `evaluate` asked for."""

    report: Evaluation


class ServerlessTimePassed(Struct, frozen=True, tag="time_passed"):
    """The clock reached `timer()`."""


Event = (
    ServerReached
    | ServerLost
    | ServerFrameReceived
    | PeerLinked
    | PeerLost
    | PeerFrameReceived
    | LocalTrained
    | LocalGroupAveraged
    | LocalGroupFailed
    | LocalGroupCertified
    | LocalMeasured
    | ServerlessTimePassed
)

# Effects, performed in order.


class SendToPeers(Struct, frozen=True, tag="say"):
    """Send one frame to each of `clients`."""

    clients: list[str]
    frame: OnwardFrame


class Agree(Struct, frozen=True, tag="agree"):
    """Hand this to the member's machine: peers agreed on it in place of the server."""

    frame: Train | Group | Evaluate


class ReconnectNow(Struct, frozen=True, tag="hasten"):
    """Another peer has the server: try immediately to reach it."""


Effect = SendToPeers | Agree | ReconnectNow
