"""The messages between a task's server and the peers of its mesh.

docs/reference/mesh-on-the-wire.md is the specification.

The server introduces peers, starts rounds, forms groups, and records their results. Peers exchange vectors
directly (peer_messages.py).
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

from backend.wire.byzantine_messages import ByzantineRules, TellState
from backend.wire.fields import Count, Hash, Kind, Sums, Text, Token, WireFrame, Word
from backend.wire.mesh_fields import (
    MOST_IN_CHAIN,
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
    """Certifies that the group's `survivors` (sorted ids) made `weights` in `round` of a task's `run`.

    More than half of them signed the statement that crypto/certificates.py builds and verifies.
    """

    bundle: Hash
    run: Hash
    round: Count
    group: Count
    weights: Hash
    survivors: Annotated[list[Client], Meta(min_length=1, max_length=MOST_IN_GROUP)]
    signatures: Annotated[list[Signed], Meta(min_length=1, max_length=MOST_IN_GROUP)]


# Earlier certificates, oldest first, by which a later one follows from a group that the server formed.
Chain = Annotated[list[Certificate], Meta(max_length=MOST_IN_CHAIN)]


# Peer to server.


class Enter(WireFrame, frozen=True, tag="enter"):
    """First frame of a connection. `token` is secret; the peer creates it once and keeps it.

    `identity` is its Ed25519 key, `ways` are the transports that reach it, `address` accepts WebSockets.
    `holds` is the SHA-256 of the weights that it has from an earlier visit, made in `round`; `certificate`
    proves that a group made them, with the earlier ones of `chain`.
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
    chain: Chain = field(default_factory=list)


class Certified(WireFrame, frozen=True, tag="certified"):
    """Certifies the weights of a group that this server did not see end; `chain` is as in `enter`."""

    certificate: Certificate
    chain: Chain = field(default_factory=list)


class Trained(WireFrame, frozen=True, tag="trained"):
    """The peer finished its local steps of `round` from the weights `base`, and asks for a group.

    `examples` counts the processed examples (its weight in the mean), `loss` is their mean loss; `sums` are
    as in an offer.
    """

    round: Count
    base: Hash
    examples: Count
    steps: Count
    loss: float
    sums: Sums


class Averaged(WireFrame, frozen=True, tag="averaged"):
    """The peer's group ended with `weights`, which contain `fraction` of the members' total weight.

    `survivors` are the places of members with the same weights; `signature` is its part of the certificate
    (docs/reference/mesh.md, "Certificates").
    """

    round: Count
    group: Count
    weights: Hash
    survivors: Places
    fraction: float
    seconds: float
    signature: Signature


class Failed(WireFrame, frozen=True, tag="failed"):
    """The averaging failed for this peer, which keeps the weights that it trained."""

    round: Count
    group: Count
    reason: Text


class Measure(Struct, frozen=True, forbid_unknown_fields=True):
    """A link as measured at one end: round-trip seconds, and bytes per second (0: unknown)."""

    client: Client
    way: Way
    seconds: float
    rate: float


class Links(WireFrame, frozen=True, tag="links"):
    """The current links of this peer, sent after a change and every ten seconds."""

    links: Annotated[list[Measure], Meta(max_length=MOST_IN_MESH)]


class SignalTo(WireFrame, frozen=True, tag="signal"):
    """A signal for the peer `client`, to set up a link."""

    client: Client
    data: Note


class RelayTo(WireFrame, frozen=True, tag="relay"):
    """Sealed data for the peer `client`, relayed because no link could be made."""

    client: Client
    data: Parcel


PeerToServer = (
    Enter
    | Ready
    | Trained
    | Averaged
    | Certified
    | Failed
    | Evaluation
    | Links
    | SignalTo
    | RelayTo
    | Leave
    | TellState
)

# Server to peer.


class IceServer(Struct, frozen=True, forbid_unknown_fields=True):
    """A STUN or TURN server, in the form that browsers accept."""

    urls: Annotated[list[str], Meta(min_length=1, max_length=8)]
    username: str
    credential: str


class Entered(WireFrame, frozen=True, tag="entered"):
    """Answer to `enter`: the peer's public id, the bundle, and the newest weights that the server recorded.

    `run` identifies the run of the task; rounds count from 0, and a restarted task gets a new run.
    `outer` is the step that each peer makes before averaging (docs/reference/mesh.md, "What is averaged").
    With `byzantine` the peers check each other, and what they do follows from these rules.
    """

    task: str
    client: Client
    bundle: Hash
    run: Hash
    round: Count
    version: Count
    weights: Hash
    outer: Outer
    ice: Annotated[list[IceServer], Meta(max_length=8)]
    byzantine: ByzantineRules | None = None


class Neighbour(Struct, frozen=True, forbid_unknown_fields=True):
    """The public description of a peer of the mesh; `holds` are its newest weights."""

    client: Client
    identity: Key
    kind: Kind
    backend: str
    ways: Ways
    address: Address | None
    round: Count
    holds: Hash | None


class Members(WireFrame, frozen=True, tag="members"):
    """The connected peers, the receiver included; `epoch` counts the changes."""

    epoch: Count
    members: Annotated[list[Neighbour], Meta(max_length=MOST_IN_MESH)]


class Group(WireFrame, frozen=True, tag="group"):
    """Assigns the receiver to a group that averages within `seconds`; `members` are in order of places.

    Part i is the values from `bounds`[i] to `bounds`[i + 1] and belongs to the member at place i; with the
    exchange `full` there is one part, which every member reduces. A result needs `least` survivors, who all
    sign it. No weight is over `most_weight`. The group drops a member that is silent for `patience` seconds.
    Groups that follow without the server need `quorum` survivors at least.
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
    quorum: Annotated[int, Meta(ge=1, le=MOST_IN_GROUP)] = 2


class Deposit(WireFrame, frozen=True, tag="deposit"):
    """Asks for an upload of these weights of `round`, by `PUT /api/tasks/{name}/weights/{sha256}`."""

    round: Count
    weights: Hash


class Signal(WireFrame, frozen=True, tag="signalled"):
    """A signal from the peer `client`, to set up a link."""

    client: Client
    data: Note


class Relay(WireFrame, frozen=True, tag="relayed"):
    """Relayed data from the peer `client`, sealed for the receiver."""

    client: Client
    data: Parcel


class Unreachable(WireFrame, frozen=True, tag="unreachable"):
    """The peer `client` is not connected: data for it were lost."""

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
