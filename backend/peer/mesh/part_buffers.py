"""Keeps the bytes of one member of a group: its own pieces, those of others, and means.

The slow methods (`prepare`, `read_piece`, `read_mean`, `reduce`, `add`, `result`) change nothing that another
one of them needs, so the exchange calls them on other threads; all others belong to the event loop.
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
    """The bytes of the member at `place`, whose vector is `vector` [P].

    Pieces are not masked; masked_part_buffers.py has masked ones. Raises ValueError if the order's bounds do
    not fit the vector.
    """

    # This member's public key for the group, where pieces are masked.
    key = b""

    def __init__(self, order: Group, place: int, vector: Vector) -> None:
        if order.bounds[0] != 0 or order.bounds[-1] != len(vector) or order.bounds != sorted(order.bounds):
            raise ValueError(f"The group's bounds are not those of {len(vector)} values.")
        self._order = order
        self._place = place
        self._vector = vector
        self._spans = [slice(*bounds) for bounds in pairwise(order.bounds)]
        self.own: list[Bytes] = []
        # By part, sender, and the contributors that a masked piece is for.
        self.pieces: dict[tuple[int, int, tuple[int, ...]], Bytes] = {}
        self.sums: dict[tuple[int, int, frozenset[int]], Bytes] = {}
        self.means: dict[tuple[int, bytes], tuple[list[int], Bytes]] = {}
        self._mean = np.empty(len(vector), np.float32)
        self._decoding: set[int] = set()
        self._decoded: dict[int, bytes] = {}

    def values(self, part: int) -> int:
        """Returns the number of values of a part."""
        return self._order.bounds[part + 1] - self._order.bounds[part]

    def size(self, part: int) -> int:
        """Returns the number of bytes of a part."""
        return encoded_size(self.values(part), self._order.precision)

    def is_first_mean(self, part: int) -> bool:
        """Whether this mean of `part` is the first, which is decoded: it is likely that of the result."""
        if part in self._decoding:
            return False
        self._decoding.add(part)
        return True

    def prepare(self) -> tuple[list[Bytes], list[bytes]]:
        """Returns the own pieces, and their digests as commitments (none in a ring).

        Raises NotFiniteError for a vector with NaN or infinity.
        """
        pieces = [encode(self._vector[span], self._order.precision) for span in self._spans]
        # In a ring, no single piece is sent.
        ring = self._order.exchange == "ring"
        return pieces, [] if ring else [piece_digest(piece.data) for piece in pieces]

    def add_key(self, place: int, key: bytes) -> None:
        """Takes the public key of the member at `place`."""

    def piece(self, effect: SendPiece) -> Data:
        """Returns the own piece that is to be sent."""
        return self.own[effect.part]

    def read_piece(self, part: int, data: Bytes) -> bytes:
        """Returns the digest of a piece. Raises UpdateRefusedError for one that cannot be averaged."""
        return piece_digest(checked(data, self.values(part), self._order.precision).data)

    def read_mean(self, part: int, contributors: list[int], data: Bytes, decode: bool) -> bytes:
        """Returns the digest of a mean, decoded if `decode`. Raises UpdateRefusedError if it is invalid."""
        raw = self._checked_mean(data, self.values(part))
        digest = mean_digest(contributors, raw.data)
        if decode:
            self._decode(raw, self._mean[self._spans[part]])
            self._decoded[part] = digest
        return digest

    def add(self, effect: AddPiece) -> Bytes:
        """Returns a ring's received sum plus the own values times their weight, encoded."""
        received = self._sum(effect.part, effect.source, effect.contributors)
        return self._with_own(effect.part, received, np.float32(effect.weight))

    def reduce(self, effect: Reduce) -> tuple[bytes, Bytes]:
        """Returns the digest of a mean, and the mean. Raises NotFiniteError if it has NaN or infinity."""
        if effect.source is None:
            mean = self._reduced(effect)
        else:
            others = [place for place in effect.contributors if place != self._place]
            share = shares(effect.weights)[effect.contributors.index(self._place)]
            mean = self._with_own(effect.part, self._sum(effect.part, effect.source, others), share)
        return mean_digest(effect.contributors, mean.data), mean

    def clear(self) -> None:
        """Drops all pieces and means after the group's end, when none is sent any more."""
        self.own.clear()
        for received in (self.pieces, self.sums, self.means):
            received.clear()

    def result(self, digests: list[bytes]) -> Vector:
        """Returns the mean of all parts [P]: of each part the one with the digest in `digests`."""
        for part, digest in enumerate(digests):
            if self._decoded.get(part) != digest:
                _, raw = self.means[part, digest]
                self._decode(raw, self._mean[self._spans[part]])
        return self._mean

    def _checked_mean(self, data: Bytes, values: int) -> Bytes:
        return checked(data, values, self._order.precision)

    def _decode(self, mean: Bytes, out: Vector) -> None:
        decode_into(mean, self._order.precision, out)

    def _reduced(self, effect: Reduce) -> Bytes:
        part, order = effect.part, self._order
        pieces = [
            self.own[part] if place == self._place else self.pieces[part, place, ()]
            for place in effect.contributors
        ]
        return reduce_part(pieces, effect.weights, self.values(part), order.precision, order.reducer)

    def _sum(self, part: int, source: int | None, contributors: list[int]) -> Bytes | None:
        return None if source is None else self.sums[part, source, frozenset(contributors)]

    def _with_own(self, part: int, received: Bytes | None, share: np.float32) -> Bytes:
        own = self._vector[self._spans[part]]
        return pass_on(received, own, share, self._order.precision)
