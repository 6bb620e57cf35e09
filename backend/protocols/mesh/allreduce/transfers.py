"""Tracks what one member of a group sent to the others on its links, and received from them.

Places number the members; times are seconds of the host's clock. The twin is protocol/allreduce/transfers.ts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from backend.protocols.mesh.allreduce.group_events import (
    CancelTransfers,
    Control,
    Effect,
    MeanReceived,
    PieceReceived,
    Prepared,
    Reduced,
    SendToMembers,
)
from backend.protocols.mesh.allreduce.plan import Places, begin_error
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import Begin

# A message's type, and what distinguishes it from others of that type.
MessageKey: TypeAlias = tuple[object, ...]
_TRANSFERS = ("piece", "sum", "mean")


class MemberLinks:
    """Links to the `others`, what was sent on each, and the effects that the host performs next.

    What was sent on a link that failed counts as never sent. A member is lost `grace` seconds after its link,
    `patience` seconds after the beginning if it never had one, and immediately when it is silent or gives up.
    """

    def __init__(self, others: list[int], grace: float, patience: float, now: float) -> None:
        self.now = now
        self.others = others
        self.effects: list[Effect] = []
        self._grace = grace
        self._sent: dict[int, set[MessageKey]] = {place: set() for place in others}
        self._linked: set[int] = set()
        self._lost_at = dict.fromkeys(others, now + patience)
        self._ended: set[int] = set()

    def connect(self, place: int) -> None:
        """A link is up, or its member sends again after silence."""
        self._linked.add(place)
        self._lost_at.pop(place, None)

    def disconnect(self, place: int) -> None:
        """The link is down."""
        self._linked.discard(place)
        self._sent[place].clear()
        self._lost_at.setdefault(place, self.now + self._grace)

    def mark_silent(self, place: int) -> None:
        """No byte came from that member for too long."""
        self._lost_at[place] = min(self.now, self._lost_at.get(place, self.now))

    def mark_ended(self, place: int) -> None:
        """That member gave up, and takes nothing any more."""
        self._ended.add(place)

    def is_lost(self, place: int) -> bool:
        """Whether nothing can be expected from that member."""
        return place in self._ended or self.now >= self._lost_at.get(place, self.now + 1)

    def reachable(self) -> int:
        """Returns the number of members that can talk to this one, itself included."""
        return 1 + sum(not self.is_lost(place) for place in self.others)

    def take_unsent(self, key: MessageKey, places: Iterable[int]) -> list[int]:
        """Returns the linked of `places` that did not get this message yet; marks it as sent to them."""
        unsent = [place for place in places if place in self._linked and key not in self._sent[place]]
        for place in unsent:
            self._sent[place].add(key)
        return unsent

    def send(self, key: MessageKey, places: Iterable[int], frame: Control) -> None:
        """Sends a frame to those of `places` that did not get it on their present link."""
        unsent = self.take_unsent(key, places)
        if unsent:
            self.effects.append(SendToMembers(unsent, frame))

    def cancel_transfers(self, place: int) -> None:
        """Drops the bytes that wait to be sent to that member."""
        self._sent[place] = {key for key in self._sent[place] if key[0] not in _TRANSFERS}
        self.effects.append(CancelTransfers(place))

    def deadlines(self) -> Iterable[float]:
        """Returns the times at which members without a link are lost."""
        return self._lost_at.values()


class ReceivedParts:
    """Keeps what the member at `place` received: weights, commitments, digests of pieces and of means.

    By part: `means` are contributors by digest, in order of arrival; `sources` the last digest by sender, or
    maker; `reducing` the contributors of means that the host makes; `sums` those of a ring, to be passed on.
    `unfit` is why nothing of a member counts. `key` is this member's own, if the group masks.
    """

    def __init__(self, order: Group, place: int) -> None:
        self._order, self._place = order, place
        parts = self._parts = len(order.bounds) - 1
        self.masked = order.precision == "masked"
        self.key = b""
        self.weights: dict[int, float] = {}
        self.commitments: dict[int, list[bytes]] = {}
        # By sender, and by whom a masked piece is for.
        self._pieces: list[dict[tuple[int, Places], bytes]] = [{} for _ in range(parts)]
        self.sums: dict[int, PieceReceived] = {}
        self.means: list[dict[bytes, tuple[int, ...]]] = [{} for _ in range(parts)]
        self.sources: list[dict[int, bytes]] = [{} for _ in range(parts)]
        self.reducing: dict[int, list[int]] = {}
        self.unfit: dict[int, str] = {}

    def ring(self, part: int) -> list[int]:
        """The places that a part's sum visits in a ring, its owner last; the mean takes the same way."""
        count = len(self._order.members)
        return [(part + 1 + hop) % count for hop in range(count)]

    def prepare(self, event: Prepared) -> str | None:
        """Takes this member's own weight, commitments and key; returns why that is impossible."""
        error = begin_error(self._order, event.weight, event.commitments, event.key)
        if error is None:
            self.weights[self._place], self.commitments[self._place] = event.weight, event.commitments
            self.key = event.key
        return error

    def add_begin(self, place: int, frame: Begin) -> None:
        """Another member begins; its first `begin` counts."""
        if place in self.weights:
            return
        error = begin_error(self._order, frame.weight, frame.commitments, frame.key)
        if error:
            self.mark_unfit(place, error)
            return
        self.weights[place], self.commitments[place] = frame.weight, frame.commitments
        for part in range(self._parts):
            self._check_commitment(place, part)

    def mark_unfit(self, place: int, reason: str) -> None:
        """Nothing of that member counts any more."""
        self.unfit.setdefault(place, reason)
        self._pieces = [
            {(sender, members): digest for (sender, members), digest in pieces.items() if sender != place}
            for pieces in self._pieces
        ]
        # A masked sum that was begun is finished: the difference to another one would be one member's piece.
        if not self.masked:
            self.reducing = {part: members for part, members in self.reducing.items() if place not in members}

    def add_piece(self, piece: PieceReceived) -> None:
        """A piece, or in a ring a sum, is complete."""
        if piece.contributors and not self.masked:
            ring = self.ring(piece.part)
            at = ring.index(self._place)
            if piece.contributors == ring[:at] and ring[at - 1] == piece.place:
                self.sums[piece.part] = piece
            return
        if piece.place not in self.unfit:
            self._pieces[piece.part][piece.place, tuple(piece.contributors)] = piece.digest
            self._check_commitment(piece.place, piece.part)

    def has_piece(self, part: int, place: int, members: Places) -> bool:
        """Whether that member's piece of `part` has arrived, masked for `members` (empty: not masked)."""
        return (place, members) in self._pieces[part]

    def add_mean(self, mean: MeanReceived | Reduced, source: int) -> None:
        """A mean is complete; `source` sent or made it."""
        self.sources[mean.part][source] = mean.digest
        self.means[mean.part].setdefault(mean.digest, tuple(mean.contributors))

    def _check_commitment(self, place: int, part: int) -> None:
        """A piece must have the digest that its sender committed itself to, whichever comes first."""
        digest, commitments = self._pieces[part].get((place, ())), self.commitments.get(place)
        if digest is not None and commitments and commitments[part] != digest:
            self.mark_unfit(place, "Its piece does not fit its commitment.")
