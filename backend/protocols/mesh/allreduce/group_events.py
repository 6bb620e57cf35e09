"""What the host of a group's member tells the machine, and what the machine asks of it.

Events and effects are msgspec structs, so that a conversation is plain JSON. Members are named by their
places. The host has all bytes: own pieces, those that came, and means, which it keeps by part and digest.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from backend.wire.peer_messages import Ask, Begin, Change, Complain, Config, Decide, Give, GiveUp, Holds

# What the machine says and hears; pieces and means are bytes, and have events and effects of their own.
Control: TypeAlias = Begin | Holds | Complain | Ask | Config | Give | Change | Decide | GiveUp

# Events.


class Prepared(Struct, frozen=True, tag="prepared"):
    """The own vector is encoded: its weight in the mean, and the SHA-256 of each piece (none in a ring).

    Where pieces are masked there is none either, but the own public `key` of this group.
    """

    weight: float
    commitments: list[bytes]
    key: bytes = b""


class MemberHeard(Struct, frozen=True, tag="heard"):
    """The member at `place` said something."""

    place: int
    frame: Control


class PieceCame(Struct, frozen=True, tag="piece_came"):
    """All bytes of a piece are here, with their SHA-256; `contributors` as in the frame `piece`.

    Values are looked at in `reduce` at the latest: what is wrong with them is told by `unfit`.
    """

    place: int
    part: int
    contributors: list[int]
    digest: bytes


class MeanCame(Struct, frozen=True, tag="mean_came"):
    """All bytes of a mean are here; `digest` covers contributors and bytes (0025, "The group machine")."""

    place: int
    part: int
    contributors: list[int]
    digest: bytes


class Reduced(Struct, frozen=True, tag="reduced"):
    """What `reduce` asked for is made and encoded; the host keeps it by `digest`."""

    part: int
    contributors: list[int]
    digest: bytes


class Unfit(Struct, frozen=True, tag="unfit"):
    """Bytes of that member are of no use: a wrong length, NaN, garbage. `reason` is for people.

    With the own place: its own vector cannot be averaged.
    """

    place: int
    reason: str


class MemberLinked(Struct, frozen=True, tag="linked"):
    """There is a link to that member, or it is heard of again after silence. At first nobody is linked."""

    place: int


class MemberLost(Struct, frozen=True, tag="lost"):
    """The link is down, and with it what was on its way on it."""

    place: int


class Silent(Struct, frozen=True, tag="silent"):
    """Not a byte came from that member for the patience; `linked` when one comes again."""

    place: int


class GroupTimePassed(Struct, frozen=True, tag="time_passed"):
    """The time that `timer` named has come."""


Event: TypeAlias = (
    Prepared
    | MemberHeard
    | PieceCame
    | MeanCame
    | Reduced
    | Unfit
    | MemberLinked
    | MemberLost
    | Silent
    | GroupTimePassed
)

# Effects, performed in order.


class SendToMembers(Struct, frozen=True, tag="send"):
    """Say this to each of `places`; it may be lost where there is no link."""

    places: list[int]
    frame: Control


class SendPiece(Struct, frozen=True, tag="send_piece"):
    """Send the own piece of `part`, from its first byte on, with `contributors` in the frame.

    They are empty where nothing is masked. Else they are the set that the piece is masked for, and `weights`
    are theirs: the own values are multiplied by the own share of them.
    """

    part: int
    place: int
    contributors: list[int]
    weights: list[float]


class AddPiece(Struct, frozen=True, tag="add_piece"):
    """In a ring: send on the sum of `contributors` that came from `source`, with the own piece added to it.

    Where the ring of this part begins, `contributors` is empty and `source` None. Own values are multiplied
    by `weight`. In the frame that goes to `place`, `contributors` are these and the own place.
    """

    part: int
    source: int | None
    contributors: list[int]
    weight: float
    place: int


class Reduce(Struct, frozen=True, tag="reduce"):
    """Make the mean of `part` of the pieces of `contributors` with these weights; answer `reduced`.

    In a ring `source` is whom the sum of all others came from, and only the own piece is to be added, last.
    Where a piece is of no use, answer `unfit` instead.
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


class Without(Struct, frozen=True, tag="without"):
    """The group goes on without that member: what waits to be sent to it need not go."""

    place: int


class FinishGroup(Struct, frozen=True, tag="finish"):
    """The result: by part, the digest of its mean (all are here) and who is in it.

    `survivors` all have it; `weights` are those of all members, by place, 0 where nobody left knows;
    `fraction` is how much of all weight is in the result.
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
    SendToMembers | SendPiece | AddPiece | Reduce | SendMean | Without | FinishGroup | FailGroup
)
