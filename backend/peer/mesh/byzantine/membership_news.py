"""Says in words what a new state of a Byzantine mesh means for this peer, and who was banned."""

from __future__ import annotations

from dataclasses import dataclass, field

from backend.protocols.mesh.byzantine.membership import MeshMembership
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.wire.byzantine_messages import ByzantineTerms


@dataclass(frozen=True)
class MembershipNews:
    """One report: its event, a sentence, and fields for programs."""

    event: str
    sentence: str
    fields: dict[str, int | str] = field(default_factory=dict)


def membership_news(
    client: str, identity: bytes, terms: ByzantineTerms, before: AgreedState | None, after: AgreedState
) -> list[MembershipNews]:
    """Returns what changed from one state to the next; `before` is None for the first one known."""
    old = before.membership if before else MeshMembership(())
    news = [_own(client, identity, terms, old, after)]
    for banned in after.membership.banned:
        if banned not in old.banned and banned != identity:
            name = next((one for one, key in old.identities().items() if key == banned), banned.hex()[:16])
            sentence = f"{name[:6]} is banned: its work or its words were proven wrong."
            news.append(MembershipNews("banned", sentence, {"client": name, "identity": banned.hex()}))
    return [one for one in news if one is not None]


def _own(
    client: str, identity: bytes, terms: ByzantineTerms, old: MeshMembership, after: AgreedState
) -> MembershipNews | None:
    new = after.membership
    had, has = _has_seat(old, client), _has_seat(new, client)
    if identity in new.banned and identity not in old.banned:
        return MembershipNews("ban", "This peer is banned: the members found its work or its words wrong.")
    if has and not had:
        return MembershipNews("seat", f"This peer has one of {len(new.seats)} seats: its work counts.")
    if had and not has:
        return MembershipNews(
            "seat_lost", "This peer lost its seat: it was away too often, or kept data back."
        )
    before = next((one for one in old.newcomers if one.client == client), None)
    now = next((one for one in new.newcomers if one.client == client), None)
    if now is not None and now != before:
        sentence = (
            f"On probation: {now.rounds} of {terms.probation} rounds, "
            f"{len(now.audits)} of {new.audits_needed(terms.audits)} members found its work right."
        )
        return MembershipNews("probation", sentence, {"rounds": now.rounds, "audits": len(now.audits)})
    return None


def _has_seat(membership: MeshMembership, client: str) -> bool:
    return any(seat.client == client for seat in membership.seats)
