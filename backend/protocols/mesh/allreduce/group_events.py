"""Events that the host of a group's member gives the all-reduce machine, and effects that it performs.

Events and effects are msgspec structs, so that a conversation is plain JSON. Places number the members. The
host has all bytes: own pieces, received ones, and means, which it keeps by part and digest.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from backend.wire.peer_messages import Ask, Begin, Change, Complain, Config, Decide, Give, GiveUp, Holds

# Frames that the machine sends and receives; pieces and means have events and effects of their own.
Control: TypeAlias = Begin | Holds | Complain | Ask | Config | Give | Change | Decide | GiveUp

# Events.


class Prepared(Struct, frozen=True, tag="prepared"):
    """This member's vector is encoded: its weight, and the SHA-256 of each piece (none in a ring).

    Where pieces are masked there is none either, but this member's public `key` of the group.
    """

    weight: float
    commitments: list[bytes]
    key: bytes = b""


class MemberFrameReceived(Struct, frozen=True, tag="heard"):
    """A frame of the member at `place` arrived."""

    place: int
    frame: Control


class PieceReceived(Struct, frozen=True, tag="piece_came"):
    """All bytes of a piece have arrived, with their SHA-256; `contributors` as in the frame `piece`.

    The host checks its values in `reduce` at the latest, and reports invalid ones as `unfit`.
    """

    place: int
    part: int
    contributors: list[int]
    digest: bytes


class MeanReceived(Struct, frozen=True, tag="mean_came"):
    """All bytes of a mean arrived; `digest` covers contributors and bytes (0025, "The group machine")."""

    place: int
    part: int
    contributors: list[int]
    digest: bytes


class Reduced(Struct, frozen=True, tag="reduced"):
    """The mean that `reduce` asked for is made and encoded; the host keeps it by `digest`."""

    part: int
    contributors: list[int]
    digest: bytes


class MemberUnfit(Struct, frozen=True, tag="unfit"):
    """Bytes of that member are invalid: a wrong length, NaN, garbage. `reason` is for people.

    With this member's own place: its vector cannot be averaged.
    """

    place: int
    reason: str


class MemberLinked(Struct, frozen=True, tag="linked"):
    """There is a link to that member, or it sends again after silence. At first no member is linked."""

    place: int


class MemberLost(Struct, frozen=True, tag="lost"):
    """The link is down, and the bytes on it are lost."""

    place: int


class MemberSilent(Struct, frozen=True, tag="silent"):
    """No byte came from that member for the patience; `linked` reports the next one."""

    place: int


class GroupTimePassed(Struct, frozen=True, tag="time_passed"):
    """The time that `timer` named has come."""


Event: TypeAlias = (
    Prepared
    | MemberFrameReceived
    | PieceReceived
    | MeanReceived
    | Reduced
    | MemberUnfit
    | MemberLinked
    | MemberLost
    | MemberSilent
    | GroupTimePassed
)

# Effects, performed in order.


class SendToMembers(Struct, frozen=True, tag="send"):
    """Send this frame to each of `places`; it may be lost where there is no link."""

    places: list[int]
    frame: Control


class SendPiece(Struct, frozen=True, tag="send_piece"):
    """Send this member's piece of `part`, from its first byte on, with `contributors` in the frame.

    They are empty where nothing is masked. Else the piece is masked for them, and `weights` are theirs: the
    values are multiplied by this member's share of these.
    """

    part: int
    place: int
    contributors: list[int]
    weights: list[float]


class AddPiece(Struct, frozen=True, tag="add_piece"):
    """In a ring: add this member's piece to the sum of `contributors` from `source`, and send that on.

    Where the ring of this part begins, `contributors` is empty and `source` None. This member's values are
    multiplied by `weight`. In the frame to `place`, `contributors` are these and this member's place.
    """

    part: int
    source: int | None
    contributors: list[int]
    weight: float
    place: int


class Reduce(Struct, frozen=True, tag="reduce"):
    """Make the mean of `part` of the pieces of `contributors` with these weights; answer `reduced`.

    In a ring `source` sent the sum of all others, and only this member's piece is added to it, last. Where a
    piece is invalid, answer `unfit` instead.
    """

    part: int
    contributors: list[int]
    weights: list[float]
    source: int | None


class SendMean(Struct, frozen=True, tag="send_mean"):
    """Send the mean of `part` that has this digest to each of `places`."""

    part: int
    digest: bytes
    places: list[int]


class CancelTransfers(Struct, frozen=True, tag="without"):
    """The group left that member out: drop the pieces and means that wait to be sent to it."""

    place: int


class FinishGroup(Struct, frozen=True, tag="finish"):
    """The result: by part, the digest of its mean (all have arrived) and its contributors.

    `survivors` all have it; `weights` are those of all members, by place, 0 where no member left knows it;
    `fraction` is the share of all weight in the result.
    """

    parts: list[bytes]
    contributors: list[list[int]]
    survivors: list[int]
    weights: list[float]
    fraction: float


class FailGroup(Struct, frozen=True, tag="fail"):
    """This member has no result of this group; `reason` is for people."""

    reason: str


Effect: TypeAlias = (
    SendToMembers | SendPiece | AddPiece | Reduce | SendMean | CancelTransfers | FinishGroup | FailGroup
)
