"""Who is whose neighbour in a masked round, and who shares masks with whom, as its server knows it.

docs/decisions/0017-masked-rounds.md says why a member has some neighbours only; terms.py how many.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from backend.crypto.round_context import context_hash, ring, roster_hash
from backend.protocols.rounds.round_effects import ClientId
from backend.protocols.secagg.client_slots import ClientSlot
from backend.protocols.secagg.server_effects import Place
from backend.protocols.secagg.terms import Degree, degree, neighbours
from backend.wire.masked_messages import Dealt, Member, Roster, Server

NOTHING = Degree(0, 0)


@dataclass
class Graph:
    """The members of a masked round by place, in the order of the roster; none before there is one.

    `context` is what everything derived in the round is bound to, and `around` has each member's neighbours.
    `pairs` are the neighbours whose shares came, by place; nothing for one whose own did not come. Owned by
    the machine.
    """

    members: tuple[Member, ...] = ()
    places: Mapping[ClientId, Place] = field(default_factory=dict)
    degree: Degree = NOTHING
    context: bytes = b""
    around: Sequence[Sequence[Place]] = ()
    pairs: Mapping[Place, list[Place]] = field(default_factory=dict)

    @classmethod
    def drawn(cls, base: bytes, members: Iterable[Member], server: Server) -> Graph:
        """The graph of this roster in the round of `base`; every member works it out for itself.

        Raises ValueError where they are more than a graph is made for.
        """
        roster = tuple(members)
        count = degree(len(roster), server)
        context = context_hash(base, roster_hash(base, roster), len(roster), *count)
        order = ring(context, [member.client for member in roster])
        places = {member.client: place for place, member in enumerate(roster)}
        return cls(roster, places, count, context, neighbours(order, count.neighbours))

    def clients(self, places: Iterable[Place]) -> tuple[ClientId, ...]:
        """Who these are."""
        return tuple(self.members[place].client for place in places)

    def shares_masks(self, client: ClientId) -> bool:
        """Whether an update of this client could be unmasked."""
        return self.places.get(client) in self.pairs

    def held(self, place: Place) -> list[Place]:
        """Of whom this member holds a share: of each neighbour that dealt with it, and of itself."""
        return sorted([*self.pairs[place], place])

    def roster(self, number: int) -> Roster:
        """What all members of round `number` are told of each other."""
        return Roster(round=number, members=list(self.members))

    def dealt(self, number: int, client: ClientId, seats: Mapping[ClientId, ClientSlot]) -> Dealt:
        """What its neighbours sealed for one who shares masks."""
        place = self.places[client]
        senders = self.pairs[place]
        sealed = []
        for sender in senders:
            shares = seats[self.members[sender].client].shares
            sealed.append(shares.sealed[bisect_left(self.around[sender], place)] if shares else b"")
        return Dealt(round=number, senders=senders, sealed=sealed)

    def dealing(self, minima: Mapping[Place, int]) -> set[Place]:
        """The most places whose secrets can be recovered if all of these stay.

        `minima` has those whose shares came, and among how many each of them wants to be at least.
        """
        going = set(minima)
        while leaving := {
            place
            for place in going
            if len(going.intersection([*self.around[place], place])) < self.degree.threshold
            or minima[place] > len(going)
        }:
            going -= leaving
        return going

    def pair(self, going: Collection[Place]) -> None:
        """From now on these share masks with their neighbours, and nobody else does."""
        self.pairs = {
            place: [other for other in self.around[place] if other in going] for place in sorted(going)
        }

    def recoverable(self, alive: Collection[Place]) -> bool:
        """Whether those who are `alive` hold enough shares of every secret."""
        holders, threshold = set(alive), self.degree.threshold
        return all(len(holders.intersection(self.held(place))) >= threshold for place in self.pairs)
