"""The messages between members of a Byzantine mesh, and the rules that all of them share.

docs/reference/mesh-on-the-wire.md is the specification, docs/decisions/0101-byzantine-rounds.md the protocol.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from backend.wire.fields import Count, Hash, WireFrame
from backend.wire.mesh_fields import MOST_IN_GROUP, Digest, Key, Outer, Signature
from backend.wire.messages import Shard

# A statement that names this many newcomers, or pieces, is shorter.
MOST_BODY = 48 * 1024
# A state of 32 members with a seat, all newcomers and many bans is shorter.
MOST_STATE = 64 * 1024
MOST_PUBLIC_SHARDS = 4096
# Longer evidence is fetched. A frame has room for it, and for its other fields.
MOST_INLINE = 32 * 1024
# The pieces of a part have as many bytes together as the model; this is a model of 64 M values.
MOST_EVIDENCE = 1 << 28
PhaseName = Annotated[str, Meta(max_length=16, pattern=r"^[a-z]+(-[0-9]{1,2})?\Z")]
Body = Annotated[bytes, Meta(min_length=1, max_length=MOST_BODY)]


class ByzantineTerms(Struct, frozen=True, forbid_unknown_fields=True):
    """The section `[coordination.byzantine]`, and the times of a round in seconds.

    `radius` is per root of a part's size, None to measure it. A frame takes at most half of `patience`.
    """

    validators: int = 1
    radius: float | None = None
    far: float = 4.0
    probation: int = 100
    audits: int = 17
    seconds: float = 60.0
    patience: float = 5.0


class WorkTolerance(Struct, frozen=True, forbid_unknown_fields=True):
    """How far the same work may be apart on two devices (numerics/aggregation/result_agreement.py)."""

    distance: float
    cosine: float
    blame: float


class ByzantineRules(Struct, frozen=True, forbid_unknown_fields=True):
    """What the members of a Byzantine mesh must have in common to check each other's work.

    Their states contain its digest, so that members with other rules never form one mesh. `run` names the
    run of the task; each round does `steps` of `batch_size` rows of one of the public `shards`. Without a
    `tolerance` the same work has the same bits on all devices.
    """

    terms: ByzantineTerms
    bundle: Hash
    run: Hash
    outer: Outer
    steps: Annotated[int, Meta(ge=1, le=64)]
    batch_size: Count
    learning_rate: float
    tolerance: WorkTolerance | None
    shards: Annotated[list[Shard], Meta(min_length=1, max_length=MOST_PUBLIC_SHARDS)]


class Said(Struct, frozen=True, forbid_unknown_fields=True):
    """A signed statement (crypto/statements.py); `body` is one of byzantine_bodies.py."""

    identity: Key
    phase: PhaseName
    before: Digest
    body: Body
    signature: Signature


class PassedOn(Struct, frozen=True, forbid_unknown_fields=True):
    """The signature of a member that passed a statement on."""

    identity: Key
    signature: Signature


class Say(WireFrame, frozen=True, tag="say"):
    """To all: a statement of the sender in `turn` of this round, or of another member, passed on."""

    round: Count
    group: Count
    turn: Annotated[int, Meta(ge=1, le=MOST_IN_GROUP)]
    said: Said
    passed_on: Annotated[list[PassedOn], Meta(max_length=MOST_IN_GROUP)]


class Show(WireFrame, frozen=True, tag="show"):
    """A chunk of a piece or mean of `size` bytes in all, by its SHA-256."""

    round: Count
    group: Count
    digest: Digest
    size: Count
    offset: Count
    data: memoryview


class AskState(WireFrame, frozen=True, tag="ask_state"):
    """Requests the newest state that the receiver knows, if it is one after round `after`."""

    after: Count


class TellState(WireFrame, frozen=True, tag="tell_state"):
    """To a peer or the server: the newest state that the sender knows, an encoded AgreedState.

    Its form is that of protocols/mesh/byzantine/state.py.

    `attempt` (round and group), `turn` and `active` name the turn in which members signed it in `verdicts`;
    nothing of the first state.
    """

    state: Annotated[bytes, Meta(max_length=MOST_STATE)]
    attempt: tuple[Count, Count]
    turn: Annotated[int, Meta(ge=0, le=MOST_IN_GROUP)]
    active: Annotated[
        list[Annotated[str, Meta(min_length=16, max_length=16)]], Meta(max_length=MOST_IN_GROUP)
    ]
    verdicts: Annotated[list[Said], Meta(max_length=MOST_IN_GROUP)]


class TellEvidence(WireFrame, frozen=True, tag="tell_evidence"):
    """Evidence that bans `identity`, an encoded BanEvidence (wire/ban_evidence.py), by SHA-256 and `size`.

    `data` are its bytes, or none: who lacks it sends `fetch`.
    """

    identity: Key
    digest: Digest
    size: Annotated[int, Meta(ge=1, le=MOST_EVIDENCE)]
    data: memoryview
