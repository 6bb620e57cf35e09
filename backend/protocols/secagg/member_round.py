"""A member's knowledge of one masked round, and its reasons to refuse what the server sends in it.

A reason for refusal is a sentence for people, or None. A malicious server, too, learns the sum of at least
`minimum` clients' updates or nothing: docs/reference/masked-rounds.md justifies each refusal. The twin,
sentence by sentence, is member-round.ts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from backend.protocols.secagg.member_events import MakeReveal, Planned
from backend.protocols.secagg.terms import MOST_ACTIVE, NO_DEGREE, Degree, signers
from backend.wire.masked_messages import (
    ConsistencySignature,
    Dealt,
    Keys,
    Masking,
    Member,
    Reveal,
    Shares,
    Unmask,
)


@dataclass
class MemberRound:
    """A member's knowledge of one round. Owned by the machine."""

    planned: Planned
    masking: Masking
    keys: Keys | None = None
    members: list[Member] = field(default_factory=list)
    place: int = 0
    degree: Degree = NO_DEGREE
    neighbours: list[int] = field(default_factory=list)
    shares: Shares | None = None
    dealt: Dealt | None = None
    # The survivors that this member signed, or revealed shares for. There is one such list per round.
    alive: list[int] | None = None
    consistency_signature: ConsistencySignature | None = None
    reveal: Reveal | None = None
    # The client declined because it revealed shares for the version before.
    spent: bool = False

    @classmethod
    def from_plan(cls, planned: Planned, masking: Masking) -> MemberRound:
        """Returns the round of this plan, before anything was sent in it."""
        return cls(_without_seconds(planned), masking)

    def has_plan(self, planned: Planned) -> bool:
        """Whether `planned` repeats the round's plan.

        After a reconnection only the time that remains differs. A `minimum` that the volunteer changed
        meanwhile takes effect in the next round.
        """
        return replace(_without_seconds(planned), minimum=self.planned.minimum) == self.planned

    @property
    def number(self) -> int:
        """The round's number."""
        return self.planned.plan.round

    @property
    def active(self) -> bool:
        """Whether the server may lie."""
        return self.masking.server == "active"

    @property
    def signers(self) -> int:
        """The number of signatures that a list of survivors needs; 0 if the round has none."""
        return signers(len(self.members), self.masking.server)

    @property
    def minimum(self) -> int:
        """The minimum number of clients among which this one takes part."""
        return max(self.masking.min_clients, self.planned.minimum)

    @property
    def senders(self) -> list[int]:
        """The neighbours that sent shares."""
        return self.dealt.senders if self.dealt else []

    def sent(self) -> list[Keys | Shares | ConsistencySignature | Reveal]:
        """Returns all frames sent in the round so far, to repeat them."""
        frames = (self.keys, self.shares, self.consistency_signature, self.reveal)
        return [frame for frame in frames if frame]

    def reveal_for(self, alive: Sequence[int]) -> MakeReveal:
        """Reveals one share of each owner: of a survivor's seed, else of the private mask key."""
        owners = sorted([*self.senders, self.place])
        seeds = [place for place in owners if place in alive]
        mask_keys = [place for place in owners if place not in alive]
        return MakeReveal(self.number, self.planned.plan.version, seeds, mask_keys)

    def spent_refusal(self, spent: int) -> str | None:
        """Returns why this client takes no part if versions below `spent` are spent.

        Two sums of a version in which the same updates are could be subtracted from each other.
        """
        if self.planned.plan.version >= spent:
            return None
        return f"Its update of version {spent - 1} was summed before; it waits for version {spent}."

    def roster_refusal(self, members: Sequence[Member], keys: Keys) -> str | None:
        """Returns why this client, which sent `keys`, refuses a roster."""
        count, client = len(members), self.planned.client
        if count < self.minimum:
            return f"The round has {count} members; this client takes part among {self.minimum} at least."
        if self.active and count > MOST_ACTIVE:
            return f"The round has {count} members; where the server may lie, {MOST_ACTIVE} is the most."
        if len({member.client for member in members}) < count:
            return "A client is in the roster twice."
        own = Member(client, keys.mask_key, keys.share_key, keys.seed_hash, keys.identity, keys.signature)
        if own not in members:
            return "The roster does not have this client with the keys that it sent."
        exchanged = [key for member in members for key in (member.mask_key, member.share_key)]
        if len(set(exchanged)) < len(exchanged):
            return "Two clients of the roster have the same key."
        if len({member.seed_hash for member in members}) < count:
            return "Two clients of the roster have the same seed."
        if len({member.identity for member in members}) < count:
            return "Two clients of the roster have the same identity."
        return None

    def shares_refusal(self, dealt: Dealt) -> str | None:
        """Returns why this member refuses the shares sent to it."""
        threshold = self.degree.threshold
        if not ascend(dealt.senders, len(self.members)) or not set(dealt.senders) <= set(self.neighbours):
            return "Shares came from clients that are no neighbours."
        if len(dealt.sealed) != len(dealt.senders):
            return "Some of the shares are missing or have no sender."
        if len(dealt.senders) + 1 < threshold:
            return f"Only {len(dealt.senders) + 1} of at least {threshold} neighbours exchanged shares."
        return None

    def survivors_refusal(self, alive: Sequence[int]) -> str | None:
        """Returns why this member refuses a list of survivors."""
        threshold = self.degree.threshold
        if not ascend(alive, len(self.members)):
            return "The survivors are not a list of places in the roster."
        if len(alive) < self.minimum:
            return f"Only {len(alive)} updates would be added up; this client wants {self.minimum} at least."
        survivors = set(alive)
        if self.place not in survivors:
            return "This client is not among the survivors."
        if not survivors.isdisjoint(set(self.neighbours) - set(self.senders)):
            return "A survivor never exchanged shares with this client."
        holders = len(survivors.intersection(self.senders)) + 1
        if holders < threshold:
            return f"Only {holders} of at least {threshold} neighbours survived."
        return None

    def signatures_refusal(self, unmask: Unmask) -> str | None:
        """Returns why the list of signers is refused, before their signatures are checked."""
        needed = self.signers
        members = max(unmask.alive, default=-1) + 1
        if not ascend(unmask.vouchers, members) or not set(unmask.vouchers) <= set(unmask.alive):
            return "The vouchers are not among the survivors."
        if len(unmask.signatures) != len(unmask.vouchers):
            return "Some of the vouchers' signatures are missing."
        if len(unmask.vouchers) < needed:
            return f"Only {len(unmask.vouchers)} of at least {needed} clients vouch for the survivors."
        return None


def ascend(places: Sequence[int], members: int) -> bool:
    """Whether `places` are places of a roster of `members`, each once and in ascending order."""
    return all(place < after for place, after in zip([-1, *places], [*places, members], strict=True))


def _without_seconds(planned: Planned) -> Planned:
    """Returns the plan without its time, the only part that differs when it is repeated."""
    return replace(planned, plan=replace(planned.plan, seconds=0.0))
