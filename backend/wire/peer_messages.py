"""What two peers of a mesh say to each other over their link. MESH.md is the specification.

Vectors go in chunks: with `piece`, `mean` and `weights` the chunk's bytes begin at `offset`, in order.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

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
    """A sign of life. `sent` is the sender's clock, `echo` the last `sent` it heard, `since` seconds ago."""

    sent: float
    echo: float
    since: float


class Passing(WireFrame, frozen=True, tag="pass"):
    """Hand this signal on to the peer `client`, which the server cannot reach or is not there to."""

    client: Client
    data: Note


class Passed(WireFrame, frozen=True, tag="passed"):
    """A signal of the peer `client`, handed on by the sender."""

    client: Client
    data: Note


class Fetch(WireFrame, frozen=True, tag="fetch"):
    """Send me the weights whose SHA-256 is `weights`, from byte `offset` on."""

    weights: Hash
    offset: Count


class Weights(WireFrame, frozen=True, tag="weights"):
    """A chunk of them, of `size` bytes in all; 0 where the sender does not have them."""

    weights: Hash
    size: Count
    offset: Count
    data: memoryview


class Unattended(WireFrame, frozen=True, tag="unattended"):
    """To all survivors of the sender's certified `weights`: its server is away, and it would go on from them.

    `round` is the newest that it heard of, `steward` whether it can lead, `measures` whether it has held-out
    examples.
    """

    round: Count
    weights: Hash
    steward: bool
    measures: bool


class SetOut(WireFrame, frozen=True, tag="set_out"):
    """From the steward: train `round` from `weights`; the peer `measures` measures them before it does."""

    round: Count
    weights: Hash
    measures: Client | None


class Attended(WireFrame, frozen=True, tag="attended"):
    """The sender has the server."""


class OfGroup(WireFrame, frozen=True):
    """Base of what is said in one group."""

    round: Count
    group: Count


class Begin(OfGroup, frozen=True, tag="begin"):
    """To all: the sender's weight in the mean, and the SHA-256 of each of its encoded parts.

    Where pieces are masked it commits itself to none, and `key` is its X25519 key of this group.
    """

    weight: float
    commitments: Annotated[list[Digest], Meta(max_length=MOST_IN_GROUP)]
    key: GroupKey


class Piece(OfGroup, frozen=True, tag="piece"):
    """The sender's own part `part`, for its owner; in a ring the sum of `contributors`, the sender last.

    A masked piece is one for the sum over `contributors`, who ascend and of whom the sender is one.
    """

    part: Place
    contributors: Places
    offset: Count
    data: memoryview


class Mean(OfGroup, frozen=True, tag="mean"):
    """The mean of what `contributors` sent of `part`."""

    part: Place
    contributors: Places
    offset: Count
    data: memoryview


class Holds(OfGroup, frozen=True, tag="holds"):
    """To the leader of `view`: digests of the means that the sender has, by part, since (view, step) `held`.

    With `held` = (view, step) it has all that this step wants; (0, 0) says that it never had all of a step.
    `weights` are those of all members as the sender knows them; 0 where it does not.
    """

    view: Count
    step: Count
    held: tuple[Count, Count]
    parts: Held
    weights: MemberWeights


class Complain(OfGroup, frozen=True, tag="complain"):
    """To the leader: nothing usable comes from the member at `place`; `reason` is for people."""

    place: Place
    fault: Fault
    reason: Text


class Ask(OfGroup, frozen=True, tag="ask"):
    """From the leader of `view`: somebody is gone. Say what you hold, and take part in no earlier step."""

    view: Count
    step: Count


class Config(OfGroup, frozen=True, tag="config"):
    """From the leader of `view`: at `step`, these are left, and these own the parts.

    `parts` are the means that are made already; empty where the owner is to make one of what all have sent.
    `weights` are those of all members as far as anybody left knows.
    """

    view: Count
    step: Count
    alive: Places
    owners: Places
    parts: Held
    weights: MemberWeights


class Give(OfGroup, frozen=True, tag="give"):
    """From the leader: send your mean of `part` to these."""

    view: Count
    step: Count
    part: Place
    places: Places


class Change(OfGroup, frozen=True, tag="change"):
    """To all: the leader is silent, `view` has the next. The rest is as in `holds`."""

    view: Count
    held: tuple[Count, Count]
    parts: Held
    weights: MemberWeights


class Decide(OfGroup, frozen=True, tag="decide"):
    """The group's result: who has it, the means by part and their contributors.

    `weights` are those of all members by place; 0 where nobody left knows.
    """

    view: Count
    step: Count
    survivors: Places
    parts: Annotated[list[Digest], Meta(max_length=MOST_IN_GROUP)]
    contributors: Annotated[list[Places], Meta(max_length=MOST_IN_GROUP)]
    weights: MemberWeights


class GiveUp(OfGroup, frozen=True, tag="give_up"):
    """There is no result; `reason` is for people."""

    view: Count
    reason: Text


class Attest(OfGroup, frozen=True, tag="attest"):
    """To all survivors: the sender's weights after the round, and its signature (0025, "Certificates")."""

    weights: Hash
    signature: Signature


GroupFrame = Begin | Piece | Mean | Holds | Complain | Ask | Config | Give | Change | Decide | GiveUp | Attest
# Of rounds without the server: docs/decisions/0033-without-a-server.md.
OnwardFrame = Unattended | SetOut | Attended | Trained | Group | Evaluation
PeerFrame = Beat | Passing | Passed | Fetch | Weights | OnwardFrame | GroupFrame
