"""The means and numbers of one round, computed once for all members of a process: all get the same bits."""

from __future__ import annotations

import hashlib

import numpy as np

from backend.numerics.butterfly.clipped_mean import clipped_mean, distance
from backend.numerics.butterfly.projection import projection_product
from backend.numerics.vectors import Vector
from backend.protocols.mesh.byzantine.drawn_work import coin_seed


def digest_of(vector: Vector) -> bytes:
    """Returns the SHA-256 of a vector's bytes."""
    return hashlib.sha256(np.ascontiguousarray(vector).tobytes()).digest()


class RoundArithmetic:
    """Keeps the bytes of a round by their SHA-256, and what was computed of them.

    Without `shared` every member computes for itself, as in processes of their own. Radii are those of
    parts, 0 where none was measured yet.
    """

    def __init__(self, shared: bool = True) -> None:
        self._shared = shared
        self._vectors = dict[bytes, Vector]()
        self._means = dict[tuple[tuple[bytes, ...], float], bytes]()
        self._numbers = dict[tuple[bytes, bytes, bytes, int], tuple[float, float]]()

    def keep(self, vector: Vector) -> bytes:
        """Keeps a vector; returns its digest."""
        digest = digest_of(vector)
        self._vectors[digest] = vector
        return digest

    def vector(self, digest: bytes) -> Vector:
        """Returns what was kept. Raises KeyError for an unknown digest."""
        return self._vectors[digest]

    def mean(self, pieces: tuple[bytes, ...], radius: float) -> bytes:
        """Returns the digest of the clipped mean of `pieces`."""
        known = self._means.get((pieces, radius)) if self._shared else None
        if known is None:
            stacked = np.stack([self._vectors[one] for one in pieces])
            known = self.keep(clipped_mean(stacked, radius or 1.0).mean)
            self._means[pieces, radius] = known
        return known

    def numbers(
        self, piece: bytes, mean: bytes, radius: float, coin: bytes, part: int
    ) -> tuple[float, float]:
        """Returns a piece's product with the random vector of its part, and its distance from the mean."""
        key = piece, mean, coin, part
        known = self._numbers.get(key) if self._shared else None
        if known is None:
            one, other = self._vectors[piece], self._vectors[mean]
            product = projection_product(one, other, radius or 1.0, coin_seed(coin), part)
            known = product, distance(one, other)
            self._numbers[key] = known
        return known
