"""What members of a Byzantine mesh sign in a round: the bodies of their statements, one for each phase.

docs/decisions/0101-byzantine-rounds.md has the protocol. A body is encoded once, by the member that signs it.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from backend.wire.fields import Count
from backend.wire.mesh_fields import MOST_IN_GROUP, Client, Digest, Place, Places

Digests = Annotated[list[Digest], Meta(max_length=MOST_IN_GROUP)]
# SHA-256, or empty where a member has none.
MaybeDigest = Annotated[bytes, Meta(max_length=32)]
Numbers = Annotated[list[float], Meta(max_length=MOST_IN_GROUP)]
MOST_NAMED = 1024
TurnPhaseName = Literal["commit", "made", "reveal", "check", "verdict"]
# What a validator found: the same work, too near a limit to say, other work, or nothing to compare; or that
# it is unable to do the work, by no fault of the target's.
Judged = Literal["same", "doubtful", "other", "missing", "unable"]


class WorkFinding(Struct, frozen=True, forbid_unknown_fields=True):
    """What a validator or the court found about the work of `target` in `round`."""

    target: Client
    round: Count
    found: Judged


class CommitBody(Struct, frozen=True, tag="commit", forbid_unknown_fields=True):
    """The SHA-256 of each of this member's pieces (none of a validator), and of its part of the coin."""

    pieces: Digests
    coin: Digest
    judgements: Annotated[list[WorkFinding], Meta(max_length=2 * MOST_IN_GROUP)] = []


class SeenWork(Struct, frozen=True, forbid_unknown_fields=True):
    """A newcomer's `commit` statement, by its digest."""

    client: Client
    identity: Digest
    commit: Digest


class MadeBody(Struct, frozen=True, tag="made", forbid_unknown_fields=True):
    """The SHA-256 of the mean that this member made of its part (empty of a validator); seen newcomers."""

    mean: MaybeDigest
    newcomers: Annotated[list[SeenWork], Meta(max_length=MOST_NAMED)] = []


class RevealBody(Struct, frozen=True, tag="reveal", forbid_unknown_fields=True):
    """This member's part of the coin, with the salt of its commitment."""

    coin: Digest
    salt: Digest


class CheckBody(Struct, frozen=True, tag="check", forbid_unknown_fields=True):
    """By part, this member's product and the distance of its piece from the mean; none of a validator."""

    products: Numbers
    lengths: Numbers


class VerdictBody(Struct, frozen=True, tag="verdict", forbid_unknown_fields=True):
    """The digest of the state that this member computed."""

    state: Digest


class CallBody(Struct, frozen=True, tag="call", forbid_unknown_fields=True):
    """Calls for all statements, in the `phase` that this member has come to.

    It says which bytes it lacks, by digest, and which parts' means it doubts.
    """

    phase: TurnPhaseName
    lacks: Annotated[list[Digest], Meta(max_length=2 * MOST_IN_GROUP)]
    disputed: Places


class PartFinding(Struct, frozen=True, forbid_unknown_fields=True):
    """The mean of `part`, made again: places of workers whose numbers are `wrong`, and whether the mean is.

    None where this member did not get all pieces.
    """

    part: Place
    wrong: Places | None
    wrong_mean: bool = False


class ShownBody(Struct, frozen=True, tag="shown", forbid_unknown_fields=True):
    """Which of the bytes that any member lacks this one has, and what it found about disputed parts."""

    holds: Annotated[list[Digest], Meta(max_length=MOST_NAMED)]
    findings: Annotated[list[PartFinding], Meta(max_length=MOST_IN_GROUP)]


Body: TypeAlias = CommitBody | MadeBody | RevealBody | CheckBody | VerdictBody | CallBody | ShownBody

_decoder: msgspec.msgpack.Decoder[Body] = msgspec.msgpack.Decoder(Body)


def encode_body(body: Body) -> bytes:
    """Returns the bytes that are signed."""
    return msgspec.msgpack.encode(body)


def decode_body(data: bytes) -> Body | None:
    """Returns the body; None for bytes that `encode_body` does not write, or with an infinite number or NaN.

    Members that read a body in two languages must agree whether it is one.
    """
    try:
        body = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    numbers = (*body.products, *body.lengths) if isinstance(body, CheckBody) else ()
    return body if all(map(math.isfinite, numbers)) and encode_body(body) == data else None
