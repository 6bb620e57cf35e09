"""What is said in masked rounds besides; docs/reference/masked-rounds.md has the protocol.

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
# A roster of so many fits into a frame twice.
MOST_MEMBERS = 2048
Members = Annotated[list[Annotated[int, Meta(ge=0, lt=MOST_MEMBERS)]], Meta(max_length=MOST_MEMBERS)]


class Masking(Struct, frozen=True, forbid_unknown_fields=True):
    """How a masked round adds up updates; every value is part of the round's context.

    Sums are modulo 2^`bits`. An update is clipped to the L2 norm `clip` and weighs its examples / `examples`,
    at most 1. `noise` is the standard deviation, as a multiple of `clip`, of the noise that all clients'
    shares of it add up to; 0 without. Of the parameters the share `share` is sent, the same ones by all
    clients. No client takes part among fewer than `min_clients`.
    """

    bits: Annotated[int, Meta(ge=16, le=32)]
    clip: float
    examples: Annotated[int, Meta(ge=1, le=2**53 - 1)]
    noise: float
    share: Annotated[float, Meta(gt=0.0, le=1.0)]
    min_clients: Annotated[int, Meta(ge=3, le=MOST_MEMBERS)]
    server: Server


# Client to server.


class Keys(WireFrame, frozen=True, tag="keys"):
    """This round's X25519 public keys, for masks and for sealing shares, signed by the client's identity.

    `seed_hash` is the SHA-256 of the seed of its own mask, by which a recovered one is known to be right.
    """

    round: Count
    mask_key: Key
    share_key: Key
    seed_hash: Key
    identity: Key
    signature: Signature


class Shares(WireFrame, frozen=True, tag="shares"):
    """Sealed shares of this client's two secrets, one for each neighbour, by their places in the roster."""

    round: Count
    sealed: Annotated[list[Sealed], Meta(max_length=MOST_MEMBERS)]


class ConsistencySignature(WireFrame, frozen=True, tag="vouch"):
    """The client's signature over the survivors that the server named."""

    round: Count
    signature: Signature


class Reveal(WireFrame, frozen=True, tag="reveal"):
    """What `unmask` asked for: one share of each neighbour dealt with and of its own, by their places."""

    round: Count
    shares: Annotated[list[Key], Meta(max_length=MOST_MEMBERS)]


class Decline(WireFrame, frozen=True, tag="decline"):
    """The client takes no further part in this round; it says nothing of why. The others go on at once."""

    round: Count


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
    """The clients whose updates of `round` are added up together; their places in it are their numbers."""

    round: Count
    members: Annotated[list[Member], Meta(max_length=MOST_MEMBERS)]


class Dealt(WireFrame, frozen=True, tag="dealt"):
    """The shares for this client, with the places of the neighbours whose they are. Others' did not come."""

    round: Count
    senders: Members
    sealed: Annotated[list[Sealed], Meta(max_length=MOST_MEMBERS)]


class Survivors(WireFrame, frozen=True, tag="survivors"):
    """Whose updates came, by their places: to be vouched for before anything is revealed."""

    round: Count
    alive: Members


class Unmask(WireFrame, frozen=True, tag="unmask"):
    """Reveal what the sum of the updates of `alive` needs. `signatures` are `vouchers`' over that list."""

    round: Count
    alive: Members
    vouchers: Members
    signatures: Annotated[list[Signature], Meta(max_length=MOST_MEMBERS)]
