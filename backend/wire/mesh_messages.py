"""What a task's server and the peers of its mesh say to each other. MESH.md is the specification.

The server introduces peers, says when a round begins and who is in a group with whom, and records what came
of it. Vectors go between peers (peer_messages.py).
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from backend.wire.fields import Count, Hash, Kind, Sums, Text, Token, WireFrame, Word
from backend.wire.mesh_fields import (
    MOST_IN_GROUP,
    MOST_IN_MESH,
    Address,
    Client,
    Exchange,
    Key,
    Note,
    Outer,
    Parcel,
    Places,
    Precision,
    Reducer,
    Signature,
    Subject,
    Way,
    Ways,
)
from backend.wire.messages import (
    Abandoned,
    Closing,
    Evaluate,
    Evaluated,
    Evaluation,
    Leave,
    Ready,
    State,
    Train,
    Version,
)


class Signed(Struct, frozen=True, forbid_unknown_fields=True):
    """The Ed25519 signature of the peer `client`, whose key is `identity`."""

    client: Client
    identity: Key
    signature: Signature


class Certificate(Struct, frozen=True, forbid_unknown_fields=True):
    """`weights` are what the group's `survivors` (sorted ids) made in `round` of the task of `bundle`.

    More than half of them signed it: crypto/certificates.py says what, and looks at it.
    """

    bundle: Hash
    round: Count
    group: Count
    weights: Hash
    survivors: Annotated[list[Client], Meta(min_length=1, max_length=MOST_IN_GROUP)]
    signatures: Annotated[list[Signed], Meta(min_length=1, max_length=MOST_IN_GROUP)]


# Peer to server.


class Enter(WireFrame, frozen=True, tag="enter"):
    """First frame of a connection. `token` is secret, made once by the peer and kept between visits.

    `identity` is its Ed25519 key, `ways` how others may reach it, `address` where it takes WebSockets.
    `holds` is the SHA-256 of the weights that it has from an earlier visit, made in `round`; `certificate`
    shows that a group made them.
    """

    token: Token
    kind: Kind
    backend: Word
    agent: Annotated[str, Meta(max_length=64)]
    identity: Key
    ways: Ways
    address: Address | None
    round: Count
    holds: Hash | None
    certificate: Certificate | None


class Trained(WireFrame, frozen=True, tag="trained"):
    """Its local steps of `round` are done, from the weights `base`: wants to be in a group.

    `examples` were trained on, its weight in the mean; `loss` is their mean, `sums` as in an offer.
    """

    round: Count
    base: Hash
    examples: Count
    steps: Count
    loss: float
    sums: Sums


class Averaged(WireFrame, frozen=True, tag="averaged"):
    """Its group ended with the weights `weights`, of which `fraction` of all examples' weight is a part.

    `survivors` are the places of those who have the same; `signature` is over that (0025, "Certificates").
    """

    round: Count
    group: Count
    weights: Hash
    survivors: Places
    fraction: float
    seconds: float
    signature: Signature


class Failed(WireFrame, frozen=True, tag="failed"):
    """Its group did not average for this peer, which keeps the weights that it had trained."""

    round: Count
    group: Count
    reason: Text


class Measure(Struct, frozen=True, forbid_unknown_fields=True):
    """A link as its end sees it: seconds there and back, bytes per second that it took (0: unknown)."""

    client: Client
    way: Way
    seconds: float
    rate: float


class Links(WireFrame, frozen=True, tag="links"):
    """The links that this peer has now, after a change and every ten seconds."""

    links: Annotated[list[Measure], Meta(max_length=MOST_IN_MESH)]


class SignalTo(WireFrame, frozen=True, tag="signal"):
    """For the peer `client`: what two need to make a link."""

    client: Client
    data: Note


class RelayTo(WireFrame, frozen=True, tag="relay"):
    """For the peer `client`, where no link could be made: sealed for it."""

    client: Client
    data: Parcel


PeerToServer = Enter | Ready | Trained | Averaged | Failed | Evaluation | Links | SignalTo | RelayTo | Leave

# Server to peer.


class IceServer(Struct, frozen=True, forbid_unknown_fields=True):
    """A STUN or TURN server, as browsers take it."""

    urls: Annotated[list[str], Meta(min_length=1, max_length=8)]
    username: str
    credential: str


class Entered(WireFrame, frozen=True, tag="entered"):
    """Answer to `enter`: the peer's public id, the bundle, the newest weights that the server recorded.

    `outer` is the step that each peer takes before averaging (0025, "Outer step").
    """

    task: str
    client: Client
    bundle: Hash
    round: Count
    version: Count
    weights: Hash
    outer: Outer
    ice: Annotated[list[IceServer], Meta(max_length=8)]


class Neighbour(Struct, frozen=True, forbid_unknown_fields=True):
    """One peer of the mesh as all others may see it; `holds` are its newest weights."""

    client: Client
    identity: Key
    kind: Kind
    backend: str
    ways: Ways
    address: Address | None
    round: Count
    holds: Hash | None


class Members(WireFrame, frozen=True, tag="members"):
    """Who is here, this peer included; `epoch` counts the changes."""

    epoch: Count
    members: Annotated[list[Neighbour], Meta(max_length=MOST_IN_MESH)]


class Group(WireFrame, frozen=True, tag="group"):
    """Average with these: `members` by their places, of which this peer is one, within `seconds`.

    Part i is the values from `bounds`[i] to `bounds`[i + 1] and belongs to the member at place i; with the
    exchange `full` there is one part, which everybody reduces. `least` survivors make a result. No weight is
    over `most_weight`. A member of which nothing is heard for `patience` seconds is gone on without.
    """

    round: Count
    group: Count
    members: Annotated[list[Client], Meta(min_length=2, max_length=MOST_IN_GROUP)]
    bounds: Annotated[list[Count], Meta(min_length=2, max_length=MOST_IN_GROUP + 1)]
    exchange: Exchange
    precision: Precision
    subject: Subject
    reducer: Reducer
    least: Annotated[int, Meta(ge=2, le=MOST_IN_GROUP)]
    most_weight: float
    patience: float
    seconds: float


class Deposit(WireFrame, frozen=True, tag="deposit"):
    """Bring the server these weights of `round`, by `PUT /api/tasks/{name}/weights/{sha256}`."""

    round: Count
    weights: Hash


class Signal(WireFrame, frozen=True, tag="signalled"):
    """From the peer `client`: what two need to make a link."""

    client: Client
    data: Note


class Relay(WireFrame, frozen=True, tag="relayed"):
    """From the peer `client`, sealed for this one."""

    client: Client
    data: Parcel


class Unreachable(WireFrame, frozen=True, tag="unreachable"):
    """The peer `client` is not connected: what was for it is lost."""

    client: Client


ServerToPeer = (
    Entered
    | Members
    | Train
    | Group
    | Deposit
    | Evaluate
    | Signal
    | Relay
    | Unreachable
    | State
    | Version
    | Evaluated
    | Abandoned
    | Closing
)
