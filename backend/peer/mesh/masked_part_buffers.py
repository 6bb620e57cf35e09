"""The bytes of a member of a group whose pieces are masked (docs/decisions/0032-masks-in-a-group.md).

The browser's twin is webapp/static/src/workers/averaging/.
"""

from __future__ import annotations

import secrets

from backend.crypto.client_keys import KEY_BYTES, agreement_key
from backend.crypto.commitments import piece_digest
from backend.crypto.keystream import add_keystreams
from backend.crypto.pads import PadContext, common_key, pads
from backend.errors import NotFiniteError
from backend.numerics.aggregation.part_mean import shares
from backend.numerics.aggregation.update_checks import all_finite
from backend.numerics.masking.masked_parts import (
    Words,
    add_words,
    checked_mean,
    checked_piece,
    mean_into,
    piece_words,
    to_bytes,
)
from backend.numerics.precision import Bytes
from backend.numerics.vectors import Vector
from backend.peer.mesh.part_buffers import PartBuffers
from backend.peer.mesh.sender import Data
from backend.protocols.mesh.allreduce.group_events import Reduce, SendPiece
from backend.wire.mesh_messages import Group


class MaskedHolding(PartBuffers):
    """As Holding; `task` and `bundle` (SHA-256) are what masks are bound to. Has keys of this group alone."""

    def __init__(self, order: Group, place: int, vector: Vector, task: str, bundle: str) -> None:
        super().__init__(order, place, vector)
        self._context = PadContext(task=task, bundle=bundle, round=order.round, group=order.group)
        self._private = secrets.token_bytes(KEY_BYTES)
        self.key = agreement_key(self._private)
        self._keys: dict[int, bytes] = {}
        self._common: dict[int, bytes] = {}
        # By part and set: the weights with which the own piece was masked.
        self._weighed: dict[tuple[int, tuple[int, ...]], list[float]] = {}

    def prepare(self) -> tuple[list[Bytes], list[bytes]]:
        """No pieces, since they are masked for those who are there, and nothing that binds this member."""
        if not all_finite(self._vector):
            raise NotFiniteError("The weights hold NaN or infinity. Lower the learning rate.")
        return [], []

    def met(self, place: int, key: bytes) -> None:
        """The member at `place` begins, with its public key: the first that it says counts."""
        self._keys.setdefault(place, key)

    def piece(self, todo: SendPiece) -> Data:
        """The own piece, masked for those whom it is to be added up with, when its turn comes."""
        return lambda: to_bytes(self._masked(todo.part, todo.contributors, todo.weights))

    def read_piece(self, part: int, data: Bytes) -> bytes:
        """Digest of a piece. Raises WrongLengthError; what is in it only its sender knows."""
        return piece_digest(checked_piece(data, self.values(part)).data)

    def _checked_mean(self, data: Bytes, values: int) -> Bytes:
        return checked_mean(data, values)

    def _decode(self, mean: Bytes, out: Vector) -> None:
        mean_into(mean, self._order.subject, out)

    def _reduced(self, todo: Reduce) -> Bytes:
        members, part = tuple(todo.contributors), todo.part
        total = self._masked(part, todo.contributors, todo.weights)
        add_words((self.pieces[part, place, members] for place in members if place != self._place), total)
        return checked_mean(to_bytes(total), self.values(part))

    def _masked(self, part: int, members: list[int], weights: list[float]) -> Words:
        # A pad hides one piece: whoever says other weights for the same set gets the same piece again.
        first = self._weighed.setdefault((part, tuple(members)), weights)
        share = shares(first)[members.index(self._place)]
        words = piece_words(self._vector[self._spans[part]], share, self._order.subject)
        common = {place: self._common_with(place) for place in members if place != self._place}
        add_keystreams(words, pads(self._place, common, part, members))
        return words

    def _common_with(self, place: int) -> bytes:
        if place not in self._common:
            key = self._keys[place]
            self._common[place] = common_key(self._private, key, self._place, place, self._context)
        return self._common[place]
