"""The messages between two peers of a mesh over their link.

docs/reference/mesh-on-the-wire.md is the specification.

Vectors are sent in chunks, in order: the bytes of a `piece`, `mean` or `weights` frame begin at `offset`.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from backend.wire.byzantine_messages import AskState, Say, Show, TellEvidence, TellState
from backend.wire.fields import Count, Hash, Text, WireFrame
from backend.wire.mesh_fields import (
    MOST_IN_GROUP,
    Client,
    Digest,
    Fault,
    GroupKey,
    Held,
    MemberWeights,
    Note,
    Place,
    Places,
    Signature,
)
from backend.wire.mesh_messages import Group, Trained
from backend.wire.messages import Evaluation


class Beat(WireFrame, frozen=True, tag="beat"):
    """A heartbeat. `sent` is the sender's clock, `echo` the last `sent` received, `since` seconds ago."""

    sent: float
    echo: float
    since: float


class Passing(WireFrame, frozen=True, tag="pass"):
    """Asks to forward this signal to the peer `client`, because the server cannot or is unavailable."""

    client: Client
    data: Note


class Passed(WireFrame, frozen=True, tag="passed"):
    """A signal of the peer `client`, forwarded by the sender."""

    client: Client
    data: Note


class Fetch(WireFrame, frozen=True, tag="fetch"):
    """Requests the weights whose SHA-256 is `weights`, from byte `offset` on."""

    weights: Hash
    offset: Count


class Weights(WireFrame, frozen=True, tag="weights"):
    """A chunk of weights that have `size` bytes in all; 0 where the sender does not have them."""

    weights: Hash
    size: Count
    offset: Count
    data: memoryview


class Unattended(WireFrame, frozen=True, tag="unattended"):
    """Tells all survivors of the certified `weights` that the sender lost the server and may continue.

    `round` is the newest that it knows, `steward` whether it can lead, `measures` whether it has held-out
    examples.
    """

    round: Count
    weights: Hash
    steward: bool
    measures: bool


class SetOut(WireFrame, frozen=True, tag="set_out"):
    """From the leader: train `round` from `weights`; the peer `measures` evaluates them before it trains."""

    round: Count
    weights: Hash
    measures: Client | None


class Attended(WireFrame, frozen=True, tag="attended"):
    """The sender is connected to the server."""


class OfGroup(WireFrame, frozen=True):
    """The base of the messages within a group."""

    round: Count
    group: Count


class Begin(OfGroup, frozen=True, tag="begin"):
    """To all: the sender's weight in the mean, and its commitments: the SHA-256 of each encoded part.

    Where pieces are masked it commits to none, and `key` is its X25519 key for this group.
    """

    weight: float
    commitments: Annotated[list[Digest], Meta(max_length=MOST_IN_GROUP)]
    key: GroupKey


class Piece(OfGroup, frozen=True, tag="piece"):
    """The sender's piece of `part`, for its owner; in a ring the sum of `contributors`, the sender last.

    A masked piece is made for the sum over `contributors`, which ascend and include the sender.
    """

    part: Place
    contributors: Places
    offset: Count
    data: memoryview


class Mean(OfGroup, frozen=True, tag="mean"):
    """The mean of the pieces of `part` that `contributors` sent."""

    part: Place
    contributors: Places
    offset: Count
    data: memoryview


class Holds(OfGroup, frozen=True, tag="holds"):
    """To the leader of `view`: digests of the sender's means by part, since (view, step) `held`.

    With `held` = (view, step) it has all means of this step; (0, 0) means that it never had all of a step.
    `weights` are those of all members as the sender knows them; 0 where it does not.
    """

    view: Count
    step: Count
    held: tuple[Count, Count]
    parts: Held
    weights: MemberWeights


class Complain(OfGroup, frozen=True, tag="complain"):
    """To the leader: the member at `place` sends nothing usable; `reason` is for people."""

    place: Place
    fault: Fault
    reason: Text


class Ask(OfGroup, frozen=True, tag="ask"):
    """From the leader of `view` after a loss: report what you hold, and take part in no earlier step."""

    view: Count
    step: Count


class Config(OfGroup, frozen=True, tag="config"):
    """From the leader of `view`: the members that are alive at `step`, and the owners of the parts.

    `parts` are the digests of means that exist already; empty where the owner makes one from all pieces.
    `weights` are those of all members as far as any remaining member knows.
    """

    view: Count
    step: Count
    alive: Places
    owners: Places
    parts: Held
    weights: MemberWeights


class Give(OfGroup, frozen=True, tag="give"):
    """From the leader: send your mean of `part` to the members at `places`."""

    view: Count
    step: Count
    part: Place
    places: Places


class Change(OfGroup, frozen=True, tag="change"):
    """To all: the leader is silent, and `view` has the next one. The other fields are as in `holds`."""

    view: Count
    held: tuple[Count, Count]
    parts: Held
    weights: MemberWeights


class Decide(OfGroup, frozen=True, tag="decide"):
    """The group's result: the survivors, the means by part and their contributors.

    `weights` are those of all members by place; 0 where no remaining member knows.
    """

    view: Count
    step: Count
    survivors: Places
    parts: Annotated[list[Digest], Meta(max_length=MOST_IN_GROUP)]
    contributors: Annotated[list[Places], Meta(max_length=MOST_IN_GROUP)]
    weights: MemberWeights


class GiveUp(OfGroup, frozen=True, tag="give_up"):
    """The group has no result; `reason` is for people."""

    view: Count
    reason: Text


class Attest(OfGroup, frozen=True, tag="attest"):
    """To all survivors: the sender's signed weights (docs/reference/mesh.md, "Certificates")."""

    weights: Hash
    signature: Signature


GroupFrame = Begin | Piece | Mean | Holds | Complain | Ask | Config | Give | Change | Decide | GiveUp | Attest
# Rounds without the server: docs/decisions/0033-without-a-server.md.
OnwardFrame = Unattended | SetOut | Attended | Trained | Group | Evaluation
ByzantineGroupFrame = Say | Show
ByzantineFrame = ByzantineGroupFrame | AskState | TellState | TellEvidence
PeerFrame = Beat | Passing | Passed | Fetch | Weights | OnwardFrame | GroupFrame | ByzantineFrame
