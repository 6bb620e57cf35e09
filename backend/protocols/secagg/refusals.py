"""What a member of a masked round refuses of what the server says; each answer is a sentence, or None.

Whatever the server wants, it learns the sum of at least `least` clients' updates or nothing: 0017 says why
each of these is needed. protocol/secagg/refusals.ts is the mirror, sentence by sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

from backend.protocols.secagg.terms import MOST_ACTIVE
from backend.wire.masked_messages import Dealt, Keys, Member, Unmask


def ascend(places: Sequence[int], members: int) -> bool:
    """Whether these are places of a roster of so many `members`, each once and in order."""
    return all(one < other for one, other in zip([-1, *places], [*places, members], strict=True))


def of_roster(members: Sequence[Member], client: str, keys: Keys, least: int, active: bool) -> str | None:
    """Of a roster for `client`, which sent `keys` and takes part among `least` clients."""
    if len(members) < least:
        return f"The round has {len(members)} members; this client takes part among {least} at least."
    if active and len(members) > MOST_ACTIVE:
        return f"The round has {len(members)} members; where the server may lie, {MOST_ACTIVE} is the most."
    if len({member.client for member in members}) < len(members):
        return "A client is in the roster twice."
    mine = Member(client, keys.mask_key, keys.share_key, keys.seed_hash, keys.identity, keys.signature)
    if mine not in members:
        return "The roster does not have this client with the keys that it sent."
    exchanged = [key for member in members for key in (member.mask_key, member.share_key)]
    if len(set(exchanged)) < len(exchanged):
        return "Two clients of the roster have the same key."
    if len({member.seed_hash for member in members}) < len(members):
        return "Two clients of the roster have the same seed."
    if len({member.identity for member in members}) < len(members):
        return "Two clients of the roster have the same identity."
    return None


def of_dealt(dealt: Dealt, neighbours: Sequence[int], members: int, threshold: int) -> str | None:
    """Of the shares that came for a member with these `neighbours`."""
    if not ascend(dealt.senders, members) or not set(dealt.senders) <= set(neighbours):
        return "Shares came from clients that are no neighbours."
    if len(dealt.sealed) != len(dealt.senders):
        return "Some of the shares are missing or have no sender."
    if len(dealt.senders) + 1 < threshold:
        return f"Only {len(dealt.senders) + 1} of at least {threshold} neighbours exchanged shares."
    return None


def of_survivors(
    alive: Sequence[int],
    place: int,
    members: int,
    neighbours: Sequence[int],
    senders: Sequence[int],
    threshold: int,
    least: int,
) -> str | None:
    """Of survivors named to the member at `place`, to whom `senders` among its `neighbours` dealt shares."""
    if not ascend(alive, members):
        return "The survivors are no list of places in the roster."
    if len(alive) < least:
        return f"Only {len(alive)} updates would be added up; this client wants {least} at least."
    survivors = set(alive)
    if place not in survivors:
        return "This client is not among the survivors."
    if not survivors.isdisjoint(set(neighbours) - set(senders)):
        return "A survivor never exchanged shares with this client."
    held = len(survivors.intersection(senders)) + 1
    if held < threshold:
        return f"Only {held} of at least {threshold} neighbours survived."
    return None


def of_vouchers(unmask: Unmask, threshold: int) -> str | None:
    """Of those who are said to have signed the survivors, before their signatures are looked at."""
    members = max(unmask.alive, default=-1) + 1
    if not ascend(unmask.vouchers, members) or not set(unmask.vouchers) <= set(unmask.alive):
        return "The vouchers are not among the survivors."
    if len(unmask.signatures) != len(unmask.vouchers):
        return "Some of the vouchers' signatures are missing."
    if len(unmask.vouchers) < threshold:
        return f"Only {len(unmask.vouchers)} of at least {threshold} clients vouch for the survivors."
    return None
