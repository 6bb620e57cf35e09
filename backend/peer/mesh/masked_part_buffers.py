"""Keeps the bytes of a member of a group with masked pieces (docs/decisions/0032-masks-in-a-group.md).

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


class MaskedPartBuffers(PartBuffers):
    """The PartBuffers of a group with masks, with keys of this group alone.

    `task` and `bundle` (SHA-256) are what masks are bound to.
    """

    def __init__(self, order: Group, place: int, vector: Vector, task: str, bundle: str) -> None:
        super().__init__(order, place, vector)
        self._context = PadContext(task=task, bundle=bundle, round=order.round, group=order.group)
        self._private = secrets.token_bytes(KEY_BYTES)
        self.key = agreement_key(self._private)
        self._keys: dict[int, bytes] = {}
        self._common_keys: dict[int, bytes] = {}
        # By part and contributors: the weights with which the own piece was masked.
        self._piece_weights: dict[tuple[int, tuple[int, ...]], list[float]] = {}

    def prepare(self) -> tuple[list[Bytes], list[bytes]]:
        """Returns no pieces and no commitments: a piece is masked later, for its contributors.

        Raises NotFiniteError for a vector with NaN or infinity.
        """
        if not all_finite(self._vector):
            raise NotFiniteError("The weights hold NaN or infinity. Lower the learning rate.")
        return [], []

    def add_key(self, place: int, key: bytes) -> None:
        """Takes the public key of the member at `place`; the first one counts."""
        self._keys.setdefault(place, key)

    def piece(self, effect: SendPiece) -> Data:
        """Returns a function that makes the own piece, masked for its contributors, when it is sent."""
        return lambda: to_bytes(self._masked(effect.part, effect.contributors, effect.weights))

    def read_piece(self, part: int, data: Bytes) -> bytes:
        """Returns the digest of a piece. Raises WrongLengthError; masked values cannot be checked."""
        return piece_digest(checked_piece(data, self.values(part)).data)

    def _checked_mean(self, data: Bytes, values: int) -> Bytes:
        return checked_mean(data, values)

    def _decode(self, mean: Bytes, out: Vector) -> None:
        mean_into(mean, self._order.subject, out)

    def _reduced(self, effect: Reduce) -> Bytes:
        members, part = tuple(effect.contributors), effect.part
        total = self._masked(part, effect.contributors, effect.weights)
        add_words((self.pieces[part, place, members] for place in members if place != self._place), total)
        return checked_mean(to_bytes(total), self.values(part))

    def _masked(self, part: int, members: list[int], weights: list[float]) -> Words:
        # A pad hides one piece only: other weights for the same contributors give the same piece again.
        first_weights = self._piece_weights.setdefault((part, tuple(members)), weights)
        share = shares(first_weights)[members.index(self._place)]
        words = piece_words(self._vector[self._spans[part]], share, self._order.subject)
        common = {place: self._common_key(place) for place in members if place != self._place}
        add_keystreams(words, pads(self._place, common, part, members))
        return words

    def _common_key(self, place: int) -> bytes:
        if place not in self._common_keys:
            key = self._keys[place]
            self._common_keys[place] = common_key(self._private, key, self._place, place, self._context)
        return self._common_keys[place]
