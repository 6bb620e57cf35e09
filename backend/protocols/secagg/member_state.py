"""What a member of a masked round knows of it, and what follows from that; member-state.ts is the mirror."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from backend.protocols.secagg import refusals
from backend.protocols.secagg.member_events import Effect, MakeReveal, Planned, SendMasked
from backend.wire.masked_messages import Dealt, Keys, Masking, Member, Reveal, Shares, Vouch


@dataclass
class MemberPart:
    """What the member of one round knows of it. Owned by the machine."""

    terms: Planned
    masking: Masking
    keys: Keys | None = None
    members: list[Member] = field(default_factory=list)
    place: int = 0
    degree: int = 0
    threshold: int = 0
    neighbours: list[int] = field(default_factory=list)
    shares: Shares | None = None
    dealt: Dealt | None = None
    # The survivors that were signed, or for whom something was revealed: there is one such list a round.
    alive: list[int] | None = None
    vouch: Vouch | None = None
    reveal: Reveal | None = None

    @classmethod
    def begun(cls, event: Planned, masking: Masking) -> MemberPart:
        """Nothing was said yet in the round of this plan."""
        return cls(_lasting(event), masking)

    def is_planned_by(self, event: Planned) -> bool:
        """Whether that repeats the round's plan.

        After a reconnection it has less time, and the same in all else. What the volunteer changed meanwhile
        holds from the next round on.
        """
        return replace(_lasting(event), minimum=self.terms.minimum) == self.terms

    @property
    def round(self) -> int:
        """Its number."""
        return self.terms.plan.round

    @property
    def active(self) -> bool:
        """Whether the server may lie."""
        return self.masking.server == "active"

    @property
    def least(self) -> int:
        """Among how many clients this one takes part."""
        return max(self.masking.min_clients, self.terms.minimum)

    @property
    def senders(self) -> list[int]:
        """The neighbours whose shares came."""
        return self.dealt.senders if self.dealt else []

    def said(self) -> list[Effect]:
        """All that was said in the round so far, to be said again."""
        return [SendMasked(frame) for frame in (self.keys, self.shares, self.vouch, self.reveal) if frame]

    def objection(self, alive: list[int]) -> str | None:
        """Why these survivors are refused."""
        return refusals.of_survivors(
            alive, self.place, len(self.members), self.neighbours, self.senders, self.threshold, self.least
        )

    def reveal_of(self, alive: list[int]) -> MakeReveal:
        """One share of each whose shares are held: of a survivor's seed, or else of the private mask key."""
        held = sorted([*self.senders, self.place])
        seeds = [place for place in held if place in alive]
        return MakeReveal(self.round, seeds, [place for place in held if place not in alive])


def _lasting(event: Planned) -> Planned:
    """What of a plan stays the same when it is repeated."""
    return replace(event, plan=replace(event.plan, seconds=0.0))
