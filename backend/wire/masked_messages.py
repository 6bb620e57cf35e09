"""The messages of secure aggregation in masked rounds (protocol: docs/reference/masked-rounds.md).

Clients have places in a round's roster, from 0 on; lists of places ascend.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from backend.wire.fields import Count, WireFrame

Aggregation = Literal["open", "masked"]
Server = Literal["honest", "active"]
Key = Annotated[bytes, Meta(min_length=32, max_length=32)]
Signature = Annotated[bytes, Meta(min_length=64, max_length=64)]
# A client's secrets for one neighbour, sealed.
Sealed = Annotated[bytes, Meta(min_length=1, max_length=256)]
# A roster of this size needs at most half a frame.
MOST_MEMBERS = 2048
Members = Annotated[list[Annotated[int, Meta(ge=0, lt=MOST_MEMBERS)]], Meta(max_length=MOST_MEMBERS)]


class Masking(Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of secure aggregation in a round; every value is part of the round's context.

    Sums are modulo 2^`bits`. An update is clipped to the L2 norm `clip` and has the weight its examples /
    `examples`, at most 1. `noise` is the standard deviation of the sum of all clients' noise shares, as a
    multiple of `clip`; 0 means no noise. All clients send the same fraction `share` of the parameters. No
    client takes part with fewer than `min_clients`.
    """

    bits: Annotated[int, Meta(ge=16, le=32)]
    clip: float
    examples: Annotated[int, Meta(ge=1, le=2**53 - 1)]
    noise: float
    share: Annotated[float, Meta(gt=0.0, le=1.0)]
    min_clients: Annotated[int, Meta(ge=3, le=MOST_MEMBERS)]
    server: Server


class AggregationTerms(Struct, frozen=True, forbid_unknown_fields=True):
    """What a masked task promises of every round.

    Updates are clipped to the L2 norm `clip`, and no sum is of fewer than `min_clients` of them. Against an
    `active` server members sign and verify.
    """

    clip: float
    min_clients: Annotated[int, Meta(ge=3, le=MOST_MEMBERS)]
    server: Server


# Client to server.


class Keys(WireFrame, frozen=True, tag="keys"):
    """Advertises this round's X25519 public keys, for masks and for sealing shares, signed by the identity.

    `seed_hash` is the SHA-256 of the self mask's seed, by which a recovered seed is verified.
    """

    round: Count
    mask_key: Key
    share_key: Key
    seed_hash: Key
    identity: Key
    signature: Signature


class Shares(WireFrame, frozen=True, tag="shares"):
    """Sends sealed shares of this client's two secrets, one for each neighbour, in the order of places."""

    round: Count
    sealed: Annotated[list[Sealed], Meta(max_length=MOST_MEMBERS)]


class ConsistencySignature(WireFrame, frozen=True, tag="vouch"):
    """The client's signature over the survivors that the server named, for the consistency check."""

    round: Count
    signature: Signature


class Reveal(WireFrame, frozen=True, tag="reveal"):
    """Reveals the shares that `unmask` requests: one of each sender of `dealt` and its own, by place.

    A sender's share is revealed as the key that opens its seal, the own one in the clear.
    """

    round: Count
    shares: Annotated[list[Key], Meta(max_length=MOST_MEMBERS)]


class Decline(WireFrame, frozen=True, tag="decline"):
    """The client leaves this round. The others continue without waiting for it.

    `spent` says that it revealed shares for the version before, which the server knows; other reasons stay
    with the client.
    """

    round: Count
    spent: bool


# Server to client.


class Member(Struct, frozen=True, forbid_unknown_fields=True):
    """A client's keys of a masked round, as it sent them."""

    client: str
    mask_key: Key
    share_key: Key
    seed_hash: Key
    identity: Key
    signature: Signature


class Roster(WireFrame, frozen=True, tag="roster"):
    """The clients whose updates of `round` are added up; a member's index is its place."""

    round: Count
    members: Annotated[list[Member], Meta(max_length=MOST_MEMBERS)]


class Dealt(WireFrame, frozen=True, tag="dealt"):
    """Delivers the shares for this client with their senders' places; other neighbours sent none."""

    round: Count
    senders: Members
    sealed: Annotated[list[Sealed], Meta(max_length=MOST_MEMBERS)]


class Survivors(WireFrame, frozen=True, tag="survivors"):
    """Names the survivors, whose updates arrived, by place; clients sign the list before they reveal."""

    round: Count
    alive: Members


class Unmask(WireFrame, frozen=True, tag="unmask"):
    """Requests the shares that the sum of `alive` needs; `signatures` are the `vouchers`' over that list."""

    round: Count
    alive: Members
    vouchers: Members
    signatures: Annotated[list[Signature], Meta(max_length=MOST_MEMBERS)]
