"""What the host of a peer tells the machine of rounds without the server, and what that asks of it.

Events and effects are msgspec structs, so that a conversation is plain JSON (bytes in base64).
"""

from __future__ import annotations

from msgspec import Struct

from backend.wire.mesh_messages import Certificate, Group, ServerToPeer, Trained
from backend.wire.messages import Evaluate, Evaluation, Train
from backend.wire.peer_messages import OnwardFrame

# Events.


class Reached(Struct, frozen=True, tag="reached"):
    """The server answered `enter`: it decides from now on."""


class Deserted(Struct, frozen=True, tag="deserted"):
    """The connection to the server is lost; `busy` while this peer trains or averages."""

    busy: bool


class ServerSaid(Struct, frozen=True, tag="told"):
    """The server said something."""

    frame: ServerToPeer


class PeerLinked(Struct, frozen=True, tag="linked"):
    """There is a link to `client`, or it is heard of again."""

    client: str


class PeerLost(Struct, frozen=True, tag="lost"):
    """The last link to `client` is gone."""

    client: str


class PeerHeard(Struct, frozen=True, tag="heard"):
    """`client` said something."""

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
    Reached
    | Deserted
    | ServerSaid
    | PeerLinked
    | PeerLost
    | PeerHeard
    | LocalTrained
    | LocalGroupAveraged
    | LocalGroupFailed
    | LocalGroupCertified
    | LocalMeasured
    | ServerlessTimePassed
)

# Effects, performed in order.


class Say(Struct, frozen=True, tag="say"):
    """Send one frame to each of `clients`."""

    clients: list[str]
    frame: OnwardFrame


class Agree(Struct, frozen=True, tag="agree"):
    """Hand this to the member's machine: it stands for what the server would have said."""

    frame: Train | Group | Evaluate


class Hasten(Struct, frozen=True, tag="hasten"):
    """The server is there for another peer: try at once to reach it."""


Effect = Say | Agree | Hasten
