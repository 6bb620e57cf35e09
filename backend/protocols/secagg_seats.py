"""The members of a masked round as its server sees them, and who among them can go on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from backend.crypto import keys
from backend.crypto.context import keys_statement
from backend.wire.masked import Keys, Member, Reveal, Shares


@dataclass
class Seat:
    """One client of the cohort: what it said, and whether it is to be waited for. Owned by the machine."""

    client: str
    # Among how many the client wants to be at least.
    minimum: int
    keys: Keys | None = None
    shares: Shares | None = None
    accepted: bool = False
    signature: bytes | None = None
    reveal: Reveal | None = None
    # Nothing more of it is used: it is late, wrong, or left.
    out: bool = False
    lost_at: float | None = None

    def member(self) -> Member | None:
        """Its entry in the roster, once it sent keys."""
        sent = self.keys
        if sent is None:
            return None
        return Member(
            self.client, sent.mask_key, sent.share_key, sent.seed_hash, sent.identity, sent.signature
        )


def own(sent: Keys) -> set[bytes]:
    """What no two clients of a round have in common."""
    return {sent.mask_key, sent.share_key, sent.seed_hash, sent.identity}


def bad_keys(sent: Keys, client: str, base: bytes, taken: Collection[bytes]) -> str | None:
    """Why keys would make all others refuse the roster; None if they are good. Others' are `taken`."""
    statement = keys_statement(base, client, sent.mask_key, sent.share_key, sent.seed_hash)
    if not keys.verify(sent.identity, sent.signature, statement):
        return "The keys' signature is wrong; sign them for this round with the identity that you send."
    if len(own(sent)) < len((sent.mask_key, sent.share_key, sent.seed_hash, sent.identity)):
        return "Two of the keys are the same; make one for masks and another one for shares."
    if not own(sent).isdisjoint(taken):
        return "Another client sent one of the keys, or has the same identity; each needs its own."
    if not keys.usable(sent.mask_key) or not keys.usable(sent.share_key):
        return "One of the keys is no X25519 key that others can agree with; make new ones."
    return None


def content(seats: Iterable[Seat]) -> list[Seat]:
    """The most clients of whom each wants to be among no more than they are, in the order of their ids."""
    modest = sorted(seats, key=lambda seat: (seat.minimum, seat.client))
    while modest and modest[-1].minimum > len(modest):
        modest.pop()
    return sorted(modest, key=lambda seat: seat.client)


def recoverable(
    owners: Iterable[int], holders: Collection[int], around: Sequence[Sequence[int]], threshold: int
) -> bool:
    """Whether `threshold` of each owner's neighbours and itself are among `holders`."""
    held = set(holders)
    return all(len(held.intersection([*around[owner], owner])) >= threshold for owner in owners)


def dealing(
    shared: Collection[int],
    around: Sequence[Sequence[int]],
    threshold: int,
    content_with: Callable[[int, int], bool],
) -> set[int]:
    """The most places among `shared` whose secrets can be recovered if all of these stay.

    Of a place and their number, `content_with` says whether it goes on among so many.
    """
    going = set(shared)
    while leaving := {
        place
        for place in going
        if len(going.intersection([*around[place], place])) < threshold or not content_with(place, len(going))
    }:
        going -= leaving
    return going


def by_owner(
    owners: Collection[int], revealed: Mapping[int, Mapping[int, bytes]]
) -> dict[int, Mapping[int, bytes]]:
    """What was revealed of `owners`, by owner and by holder."""
    return {owner: dict(revealed.get(owner, {})) for owner in sorted(owners)}
