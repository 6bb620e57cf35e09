"""The calculations that a round's machine asks for, on bytes that this peer holds.

They are slow and run on other threads; `read` is all that they need of the peer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from backend.numerics.aggregation.outer_step import outer_step
from backend.numerics.butterfly.part_values import mean_of_part, part_numbers, part_values
from backend.numerics.vectors import Vector
from backend.protocols.mesh.byzantine.checks import part_radius
from backend.protocols.mesh.byzantine.drawn_work import coin_seed
from backend.protocols.mesh.byzantine.round_events import (
    CheckMeans,
    MakeMean,
    MeanRemade,
    MeansChecked,
    RemakeMean,
)
from backend.wire.mesh_fields import Outer

# Returns the bytes of a SHA-256. Raises KeyError.
Read = Callable[[bytes], bytes]


def sha256(content: bytes) -> bytes:
    """Returns the SHA-256, 32 bytes."""
    return hashlib.sha256(content).digest()


def part_bounds(size: int, parts: int) -> list[int]:
    """Returns the limits of so many parts of a vector of `size` values, alike but for one value."""
    return [size * part // parts for part in range(parts + 1)]


def cut(vector: Vector, bounds: Sequence[int]) -> list[bytes]:
    """Returns the pieces of a vector [P], little-endian float32."""
    return [vector[a:b].astype("<f4", copy=False).tobytes() for a, b in pairwise(bounds)]


def made_mean(effect: MakeMean, size: int, read: Read) -> bytes:
    """Returns the bytes of the mean of the own part, of `size` values."""
    pieces = [part_values(read(digest), size) for digest in effect.pieces]
    return mean_of_part(pieces, effect.radius).astype("<f4", copy=False).tobytes()


def checked_means(
    effect: CheckMeans,
    sizes: Sequence[int],
    own: Sequence[bytes],
    part: int,
    pieces: Sequence[bytes],
    read: Read,
) -> MeansChecked:
    """Returns the numbers of the `own` pieces for all means, and of all `pieces` of the own `part`.

    `sizes` are those of the parts; pieces are given by digest.
    """
    coin, means = (
        coin_seed(effect.coin),
        [part_values(read(digest), size) for digest, size in zip(effect.means, sizes, strict=True)],
    )
    products, lengths = list[float](), list[float]()
    for number, (mean, size) in enumerate(zip(means, sizes, strict=True)):
        piece = part_values(read(own[number]), size)
        one, other = part_numbers([piece], mean, part_radius(effect.radius, size), coin, number)
        products, lengths = products + one, lengths + other
    size = sizes[part]
    mine = [part_values(read(digest), size) for digest in pieces]
    return MeansChecked(
        products, lengths, *part_numbers(mine, means[part], part_radius(effect.radius, size), coin, part)
    )


def remade_mean(effect: RemakeMean, size: int, read: Read) -> MeanRemade:
    """Returns a disputed mean, of `size` values, with all numbers about it."""
    pieces = [part_values(read(digest), size) for digest in effect.pieces]
    mean = mean_of_part(pieces, effect.radius)
    digest = sha256(mean.astype("<f4", copy=False).tobytes())
    numbers = part_numbers(pieces, mean, effect.radius, coin_seed(effect.coin), effect.part)
    return MeanRemade(effect.part, digest, *numbers)


def outer_stepped(
    outer: Outer,
    base: bytes,
    slots: bytes,
    trainable: int,
    means: Sequence[bytes],
    sizes: Sequence[int],
    read: Read,
) -> tuple[bytes, bytes]:
    """Returns weights and momentum after the outer step by the means of all parts; as before for none."""
    if not means:
        return base, slots
    parts = [part_values(read(digest), size) for digest, size in zip(means, sizes, strict=True)]
    before: Vector = np.frombuffer(slots, "<f4").astype(np.float32)
    change = np.concatenate(parts)
    step, velocity = outer_step(outer.kind, outer.learning_rate, outer.momentum, change, trainable, before)
    weights = np.frombuffer(base, "<f4") + step
    return weights.astype("<f4", copy=False).tobytes(), velocity.astype("<f4", copy=False).tobytes()
