"""What came to a member of a group: weights and commitments, digests of pieces and means, and of whom nothing
counts any more. A part of the machine in allreduce.py, which owns it.
"""

from __future__ import annotations

import math

from backend.crypto.client_keys import usable
from backend.protocols.mesh.allreduce.group_events import MeanCame, PieceCame, Prepared, Reduced
from backend.protocols.mesh.allreduce.plan import Places
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import Begin


class Arrived:
    """What the member at `place` of the group of `order` has. By part: `means` are contributors by digest, in
    the order in which they came; `sources` say who sent, or made, which mean last; `reducing` are the
    contributors of means that the host makes; `sums` are those of a ring, to be passed on. `unfit` says why
    nothing of a member counts.
    """

    def __init__(self, order: Group, place: int) -> None:
        self._order, self._place = order, place
        parts = self._parts = len(order.bounds) - 1
        self.masked = order.precision == "masked"
        self.weights: dict[int, float] = {}
        self.commitments: dict[int, list[bytes]] = {}
        # By sender, and by whom a masked piece is for.
        self._pieces: list[dict[tuple[int, Places], bytes]] = [{} for _ in range(parts)]
        self.sums: dict[int, PieceCame] = {}
        self.means: list[dict[bytes, tuple[int, ...]]] = [{} for _ in range(parts)]
        self.sources: list[dict[int, bytes]] = [{} for _ in range(parts)]
        self.reducing: dict[int, list[int]] = {}
        self.unfit: dict[int, str] = {}

    def chain(self, part: int) -> list[int]:
        """In a ring, the way of a part's sum; its owner is the last. The mean goes on, round again."""
        count = len(self._order.members)
        return [(part + 1 + hop) % count for hop in range(count)]

    def misfit(self, begins: Prepared | Begin) -> str | None:
        """What is wrong with what a member begins with; None where nothing is."""
        if not (math.isfinite(begins.weight) and 0 < begins.weight <= self._order.most_weight):
            return "Its weight is not over 0, or it is over what the group allows."
        wanted = 0 if self._order.exchange == "ring" or self.masked else self._parts
        if len(begins.commitments) != wanted:
            return f"It committed itself to {len(begins.commitments)} pieces instead of {wanted}."
        if not (usable(begins.key) if self.masked else begins.key == b""):
            return "Its key is not what this group needs."
        return None

    def begun(self, place: int, frame: Begin) -> None:
        """Another member begins: the first time counts."""
        if place in self.weights:
            return
        reason = self.misfit(frame)
        if reason:
            self.refuse(place, reason)
            return
        self.weights[place], self.commitments[place] = frame.weight, frame.commitments
        for part in range(self._parts):
            self._check(place, part)

    def refuse(self, place: int, reason: str) -> None:
        """Nothing of that member counts any more."""
        self.unfit.setdefault(place, reason)
        self._pieces = [
            {(by, of): digest for (by, of), digest in pieces.items() if by != place}
            for pieces in self._pieces
        ]
        # A masked sum in hand is made: with another one it would tell whose piece is in only one of them.
        if not self.masked:
            self.reducing = {part: of for part, of in self.reducing.items() if place not in of}

    def piece_came(self, piece: PieceCame) -> None:
        """A piece is here, or in a ring a sum."""
        if piece.contributors and not self.masked:
            chain = self.chain(piece.part)
            at = chain.index(self._place)
            if piece.contributors == chain[:at] and chain[at - 1] == piece.place:
                self.sums[piece.part] = piece
            return
        if piece.place not in self.unfit:
            self._pieces[piece.part][piece.place, tuple(piece.contributors)] = piece.digest
            self._check(piece.place, piece.part)

    def has_piece(self, part: int, place: int, of: Places) -> bool:
        """Whether that member's piece of `part` is here; `of` are those whom it is masked for, or nobody."""
        return (place, of) in self._pieces[part]

    def keep(self, mean: MeanCame | Reduced, source: int) -> None:
        """A mean is here, of the member at `source`."""
        self.sources[mean.part][source] = mean.digest
        self.means[mean.part].setdefault(mean.digest, tuple(mean.contributors))

    def _check(self, place: int, part: int) -> None:
        """A piece must be what its sender committed itself to, be it here before the commitment or after."""
        digest, promised = self._pieces[part].get((place, ())), self.commitments.get(place)
        if digest is not None and promised and promised[part] != digest:
            self.refuse(place, "Its piece does not fit its commitment.")
