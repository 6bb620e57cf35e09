"""The clients of a masked round as its server sees them, and which of them can be members."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from backend.crypto import client_keys
from backend.crypto.round_context import keys_statement
from backend.errors import NotMaskedError
from backend.protocols.secagg.server_effects import Exclude
from backend.wire.masked_messages import Keys, Member, Reveal, Shares


@dataclass
class ClientSlot:
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
    if not client_keys.verify(sent.identity, sent.signature, statement):
        return "The keys' signature is wrong; sign them for this round with the identity that you send."
    if len(own(sent)) < len((sent.mask_key, sent.share_key, sent.seed_hash, sent.identity)):
        return "Two of the keys are the same; make one for masks and another one for shares."
    if not own(sent).isdisjoint(taken):
        return "Another client sent one of the keys, or has the same identity; each needs its own."
    if not client_keys.usable(sent.mask_key) or not client_keys.usable(sent.share_key):
        return "One of the keys is no X25519 key that others can agree with; make new ones."
    return None


def exclude(seats: Iterable[ClientSlot], reason: str) -> list[Exclude]:
    """Nothing more of these is used; those of whom that is so already are not told again."""
    going = [seat for seat in seats if not seat.out]
    for seat in going:
        seat.out = True
    return [Exclude(seat.client, NotMaskedError(f"{reason} Wait for the next round.")) for seat in going]


def content(seats: Iterable[ClientSlot]) -> list[ClientSlot]:
    """The most clients of whom each wants to be among no more than they are, in the order of their ids."""
    modest = sorted(seats, key=lambda seat: (seat.minimum, seat.client))
    while modest and modest[-1].minimum > len(modest):
        modest.pop()
    return sorted(modest, key=lambda seat: seat.client)
