"""The bytes of one member of a group: its own pieces, those of others, and means.

What takes long (`prepare`, `read_piece`, `read_mean`, `reduce`, `add`, `result`) changes nothing that another
call of these needs, so that the exchange calls them on other threads; the rest belongs to the event loop.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from backend.crypto.commitments import mean_digest, piece_digest
from backend.numerics.aggregation.part_mean import pass_on, reduce_part, shares
from backend.numerics.precision import Bytes, checked, decode_into, encode, encoded_size
from backend.numerics.vectors import Vector
from backend.peer.mesh.sender import Data
from backend.protocols.mesh.allreduce.group_events import AddPiece, Reduce, SendPiece
from backend.wire.mesh_messages import Group


class PartBuffers:
    """Bytes of the member at `place`, whose vector is `vector` [P]. Raises ValueError for other bounds.

    Pieces are for all to see here; masked_part_buffers.py has those that are not.
    """

    # The public key of this group, where pieces are masked.
    key = b""

    def __init__(self, order: Group, place: int, vector: Vector) -> None:
        if order.bounds[0] != 0 or order.bounds[-1] != len(vector) or order.bounds != sorted(order.bounds):
            raise ValueError(f"The group's bounds are not those of {len(vector)} values.")
        self._order = order
        self._place = place
        self._vector = vector
        self._spans = [slice(*bounds) for bounds in pairwise(order.bounds)]
        self.own: list[Bytes] = []
        # By part, sender, and whom a masked piece is for.
        self.pieces: dict[tuple[int, int, tuple[int, ...]], Bytes] = {}
        self.sums: dict[tuple[int, int, frozenset[int]], Bytes] = {}
        self.means: dict[tuple[int, bytes], tuple[list[int], Bytes]] = {}
        self._mean = np.empty(len(vector), np.float32)
        self._decoding: set[int] = set()
        self._decoded: dict[int, bytes] = {}

    def values(self, part: int) -> int:
        """Values of a part."""
        return self._order.bounds[part + 1] - self._order.bounds[part]

    def size(self, part: int) -> int:
        """Bytes of a part."""
        return encoded_size(self.values(part), self._order.precision)

    def is_first_mean(self, part: int) -> bool:
        """Whether no mean of `part` was decoded yet: then this one may be, as it likely is in the result."""
        if part in self._decoding:
            return False
        self._decoding.add(part)
        return True

    def prepare(self) -> tuple[list[Bytes], list[bytes]]:
        """The own pieces and the digests that bind this member to them.

        Raises NotFiniteError when there is NaN or infinity in them.
        """
        pieces = [encode(self._vector[span], self._order.precision) for span in self._spans]
        # In a ring nobody is sent a piece alone.
        ring = self._order.exchange == "ring"
        return pieces, [] if ring else [piece_digest(piece.data) for piece in pieces]

    def met(self, place: int, key: bytes) -> None:
        """The member at `place` begins, with its public key."""

    def piece(self, todo: SendPiece) -> Data:
        """The own piece that is to be sent."""
        return self.own[todo.part]

    def read_piece(self, part: int, data: Bytes) -> bytes:
        """Digest of a piece. Raises UpdateRefusedError for one that cannot be averaged."""
        return piece_digest(checked(data, self.values(part), self._order.precision).data)

    def read_mean(self, part: int, contributors: list[int], data: Bytes, decode: bool) -> bytes:
        """Digest of a mean, decoded at once where `decode`. Raises UpdateRefusedError for what is none."""
        raw = self._checked_mean(data, self.values(part))
        digest = mean_digest(contributors, raw.data)
        if decode:
            self._decode(raw, self._mean[self._spans[part]])
            self._decoded[part] = digest
        return digest

    def add(self, todo: AddPiece) -> Bytes:
        """In a ring: what came, and the own values times their weight, encoded."""
        before = self._sum(todo.part, todo.source, todo.contributors)
        return self._passed_on(todo.part, before, np.float32(todo.weight))

    def reduce(self, todo: Reduce) -> tuple[bytes, Bytes]:
        """The mean that is asked for, and its digest. Raises NotFiniteError for one that cannot be."""
        if todo.source is None:
            mean = self._reduced(todo)
        else:
            others = [place for place in todo.contributors if place != self._place]
            share = shares(todo.weights)[todo.contributors.index(self._place)]
            mean = self._passed_on(todo.part, self._sum(todo.part, todo.source, others), share)
        return mean_digest(todo.contributors, mean.data), mean

    def let_go(self) -> None:
        """The group has ended: nobody is sent pieces or means any more."""
        self.own.clear()
        for held in (self.pieces, self.sums, self.means):
            held.clear()

    def result(self, digests: list[bytes]) -> Vector:
        """The mean of all parts [P], of which those with `digests` are held."""
        for part, digest in enumerate(digests):
            if self._decoded.get(part) != digest:
                _, raw = self.means[part, digest]
                self._decode(raw, self._mean[self._spans[part]])
        return self._mean

    def _checked_mean(self, data: Bytes, values: int) -> Bytes:
        return checked(data, values, self._order.precision)

    def _decode(self, mean: Bytes, out: Vector) -> None:
        decode_into(mean, self._order.precision, out)

    def _reduced(self, todo: Reduce) -> Bytes:
        part, order = todo.part, self._order
        pieces = [
            self.own[part] if place == self._place else self.pieces[part, place, ()]
            for place in todo.contributors
        ]
        return reduce_part(pieces, todo.weights, self.values(part), order.precision, order.reducer)

    def _sum(self, part: int, source: int | None, contributors: list[int]) -> Bytes | None:
        return None if source is None else self.sums[part, source, frozenset(contributors)]

    def _passed_on(self, part: int, before: Bytes | None, share: np.float32) -> Bytes:
        own = self._vector[self._spans[part]]
        return pass_on(before, own, share, self._order.precision)
