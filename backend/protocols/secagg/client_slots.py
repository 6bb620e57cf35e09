"""The server's state of a masked round's clients: frames they sent, share graph, revealed shares.

docs/reference/masked-rounds.md says why a member shares with some neighbours only; terms.py how many.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from backend.crypto import client_keys
from backend.crypto.round_context import context_hash, keys_statement, ring, roster_hash
from backend.crypto.sealing import ShareKind, unseal
from backend.crypto.shamir import valid
from backend.errors import NotMaskedError, UnsealError
from backend.protocols.rounds.round_effects import ClientId
from backend.protocols.secagg.false_shares import false_sharers
from backend.protocols.secagg.server_effects import Exclude, Place, Recover
from backend.protocols.secagg.terms import NO_DEGREE, Degree, degree, neighbours
from backend.wire.masked_messages import Dealt, Keys, Member, Reveal, Roster, Server, Shares


@dataclass
class ClientSlot:
    """The frames of one client of the cohort, and whether the round still uses it. Owned by the machine."""

    client: str
    # The client takes part only among this number of clients or more.
    minimum: int
    keys: Keys | None = None
    shares: Shares | None = None
    # Its masked update counts.
    accepted: bool = False
    # Its signature over the survivors.
    consistency_signature: bytes | None = None
    reveal: Reveal | None = None
    # Excluded: late, refused, or gone. No later frame of it is used.
    is_excluded: bool = False
    lost_at: float | None = None

    def member(self) -> Member | None:
        """Returns its entry in the roster; None before it sent keys."""
        if self.keys is None:
            return None
        return Member(
            self.client,
            self.keys.mask_key,
            self.keys.share_key,
            self.keys.seed_hash,
            self.keys.identity,
            self.keys.signature,
        )


def unique_values(keys: Keys) -> set[bytes]:
    """Returns the values that no two clients of a round may have in common."""
    return {keys.mask_key, keys.share_key, keys.seed_hash, keys.identity}


def keys_refusal(keys: Keys, client: str, base: bytes, taken: Collection[bytes]) -> str | None:
    """Returns why other clients would refuse a roster with `keys`; None if they are valid.

    The round's signatures are bound to the hash `base`; `taken` are the `unique_values` of other clients.
    """
    statement = keys_statement(base, client, keys.mask_key, keys.share_key, keys.seed_hash)
    if not client_keys.verify(keys.identity, keys.signature, statement):
        return "The keys' signature is wrong; sign them for this round with the identity that you send."
    if len(unique_values(keys)) < len((keys.mask_key, keys.share_key, keys.seed_hash, keys.identity)):
        return "Two of the keys are the same; make one for masks and another one for shares."
    if not unique_values(keys).isdisjoint(taken):
        return "Another client sent one of the keys, or has the same identity; each needs its own."
    if not client_keys.usable(keys.mask_key) or not client_keys.usable(keys.share_key):
        return "One of the keys is not a valid X25519 public key; make new ones."
    return None


def exclude(slots: Iterable[ClientSlot], reason: str) -> list[Exclude]:
    """Excludes `slots` from the round; slots that are out already get no second message."""
    excluded = [slot for slot in slots if not slot.is_excluded]
    for slot in excluded:
        slot.is_excluded = True
    return [Exclude(slot.client, NotMaskedError(f"{reason} Wait for the next round.")) for slot in excluded]


def largest_group(slots: Iterable[ClientSlot]) -> list[ClientSlot]:
    """Returns the largest set of clients that satisfies each one's `minimum`, in the order of their ids."""
    by_minimum = sorted(slots, key=lambda slot: (slot.minimum, slot.client))
    while by_minimum and by_minimum[-1].minimum > len(by_minimum):
        by_minimum.pop()
    return sorted(by_minimum, key=lambda slot: slot.client)


@dataclass
class ShareGraph:
    """The members of a masked round by place, in the order of the roster; empty before the roster.

    Everything derived in the round is bound to `context`; `neighbours` has each member's neighbours. `pairs`
    has the neighbours that sent shares, by place, for each member that sent shares itself. Owned by the
    machine.
    """

    members: tuple[Member, ...] = ()
    places: Mapping[ClientId, Place] = field(default_factory=dict)
    degree: Degree = NO_DEGREE
    context: bytes = b""
    neighbours: Sequence[Sequence[Place]] = ()
    pairs: Mapping[Place, list[Place]] = field(default_factory=dict)

    @classmethod
    def from_roster(cls, base: bytes, members: Iterable[Member], server: Server) -> ShareGraph:
        """Builds the graph of a roster in the round of `base`; every member derives the same.

        Raises ValueError for more members than the graph allows.
        """
        roster = tuple(members)
        graph_degree = degree(len(roster), server)
        context = context_hash(base, roster_hash(base, roster), len(roster), *graph_degree)
        order = ring(context, [member.client for member in roster])
        places = {member.client: place for place, member in enumerate(roster)}
        return cls(roster, places, graph_degree, context, neighbours(order, graph_degree.neighbours))

    def clients(self, places: Iterable[Place]) -> tuple[ClientId, ...]:
        """Returns the clients at `places`."""
        return tuple(self.members[place].client for place in places)

    def shares_masks(self, client: ClientId) -> bool:
        """Whether an update of this client could be unmasked."""
        return self.places.get(client) in self.pairs

    def owners(self, holder: Place) -> list[Place]:
        """Returns the places whose shares `holder` has: neighbours that exchanged shares, and itself."""
        return sorted([*self.pairs[holder], holder])

    def roster_frame(self, number: int) -> Roster:
        """Returns the roster of round `number`, which all members get."""
        return Roster(round=number, members=list(self.members))

    def dealt_frame(self, number: int, client: ClientId, slots: Mapping[ClientId, ClientSlot]) -> Dealt:
        """Returns the shares that neighbours sealed for `client`, which must share masks."""
        place = self.places[client]
        senders = self.pairs[place]
        sealed = [self.sealed(sender, place, slots) for sender in senders]
        return Dealt(round=number, senders=senders, sealed=sealed)

    def sealed(self, owner: Place, holder: Place, slots: Mapping[ClientId, ClientSlot]) -> bytes:
        """Returns what `owner` sealed for its neighbour `holder`."""
        shares = slots[self.members[owner].client].shares
        return shares.sealed[bisect_left(self.neighbours[owner], holder)] if shares else b""

    def largest_recoverable(self, minima: Mapping[Place, int]) -> set[Place]:
        """Returns the largest set of places whose secrets can be recovered if all of them stay.

        `minima` has the places that sent shares, with the minimum number of clients that each requires.
        """
        remaining = set(minima)
        while leaving := {
            place
            for place in remaining
            if len(remaining.intersection([*self.neighbours[place], place])) < self.degree.threshold
            or minima[place] > len(remaining)
        }:
            remaining -= leaving
        return remaining

    def pair_up(self, places: Collection[Place]) -> None:
        """Pairs `places` with those of their neighbours that are among them; no other member shares masks."""
        self.pairs = {
            place: [other for other in self.neighbours[place] if other in places] for place in sorted(places)
        }

    def is_recoverable(self, alive: Collection[Place]) -> bool:
        """Whether the places in `alive` hold enough shares of every secret."""
        holders, threshold = set(alive), self.degree.threshold
        return all(len(holders.intersection(self.owners(place))) >= threshold for place in self.pairs)


@dataclass
class RevealedShares:
    """Revealed shares of the secrets of all members that share masks; `alive` are in the sum.

    `holders` counts the members that revealed shares; `recovering` says whether the host unmasks the sum now.
    `mismatched` are the owners whose shares did not rebuild their secrets at the last attempt. Owned by the
    machine.
    """

    graph: ShareGraph
    alive: tuple[Place, ...]
    slots: Mapping[ClientId, ClientSlot] = field(default_factory=dict, repr=False)
    holders: int = 0
    recovering: bool = False
    mismatched: tuple[Place, ...] = ()
    _alive: frozenset[Place] = field(init=False, repr=False)
    # By owner, the holders whose keys open nothing.
    _unopened: dict[Place, set[Place]] = field(init=False)
    # By owner and by holder; not in the representation, which may end in a log.
    _shares: dict[Place, dict[Place, bytes]] = field(init=False, repr=False)
    # The number of holders at the last attempt.
    _attempted: int = 0

    def __post_init__(self) -> None:
        self._shares = {place: {} for place in self.graph.pairs}
        self._unopened = {place: set() for place in self.graph.pairs}
        self._alive = frozenset(self.alive)

    @property
    def suffice(self) -> bool:
        """Whether each secret has as many shares as the threshold, whether they are correct or not."""
        return all(len(shares) >= self.graph.degree.threshold for shares in self._shares.values())

    def add(self, holder: Place, revealed: Iterable[bytes]) -> None:
        """Adds the reveals of `holder`: the key of each owner's share, and its own share."""
        self.holders += 1
        for owner, key in zip(self.graph.owners(holder), revealed, strict=True):
            share = key if owner == holder else self._opened(owner, holder, key)
            if valid(share):
                self._shares[owner][holder] = share
            else:
                self._unopened[owner].add(holder)

    def false_sharers(self) -> tuple[ClientId, ...]:
        """Returns the clients whose false shares explain why the secrets cannot be recovered.

        Too few reveals incriminate no client.
        """
        threshold = self.graph.degree.threshold
        unopened = {
            owner: self._unopened[owner]
            for owner, shares in self._shares.items()
            if len(shares) < threshold <= len(shares) + len(self._unopened[owner])
        }
        return self.graph.clients(sorted(false_sharers(self.mismatched, unopened)))

    def may_attempt(self, over: bool) -> bool:
        """Whether to unmask: first when the shares suffice; again if the stage is `over` and more came."""
        return self.suffice and (not self._attempted or (over and self.holders > self._attempted))

    def attempt(self, number: int) -> Recover:
        """Returns the order to unmask round `number` with all revealed shares."""
        self._attempted, self.recovering, self.mismatched = self.holders, True, ()
        graph = self.graph
        dead = [place for place in graph.pairs if place not in self.alive]
        return Recover(
            round=number,
            context=graph.context,
            members=graph.members,
            threshold=graph.degree.threshold,
            pairs=tuple(tuple(graph.pairs.get(place, ())) for place in range(len(graph.members))),
            alive=self.alive,
            seeds=self._of(self.alive),
            mask_keys=self._of(dead),
        )

    def _opened(self, owner: Place, holder: Place, key: bytes) -> bytes:
        """Returns the share that `owner` sealed for `holder`; no share where the key does not open it."""
        kind = ShareKind.SEED if owner in self._alive else ShareKind.MASK_KEY
        sealed = self.graph.sealed(owner, holder, self.slots)
        try:
            return unseal(key, self.graph.context, owner, holder, sealed, kind)
        except UnsealError:
            return b""

    def _of(self, owners: Collection[Place]) -> dict[Place, Mapping[Place, bytes]]:
        return {owner: dict(self._shares.get(owner, {})) for owner in sorted(owners)}
