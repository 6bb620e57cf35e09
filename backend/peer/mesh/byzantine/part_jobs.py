"""The calculations that a round's machine asks for, on bytes that this peer holds.

They are slow and run on other threads; `read` is all that they need of the peer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

import numpy as np

from backend.numerics.aggregation.outer_step import outer_step
from backend.numerics.butterfly.part_values import mean_of_part, part_numbers, part_values
from backend.numerics.vectors import Vector
from backend.peer.mesh.byzantine.mesh_states import RoundWork
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


def hashed(contents: Iterable[bytes]) -> list[tuple[bytes, bytes]]:
    """Returns each of `contents` after its SHA-256."""
    return [(sha256(content), content) for content in contents]


def part_sizes(size: int, parts: int) -> list[int]:
    """Returns how many of the `size` values of a vector each of so many parts has.

    Part k has every so-manieth value from k on: so each has values of all layers, and one radius fits all.
    """
    return [(size - part + parts - 1) // parts for part in range(parts)]


def part_bounds(size: int, parts: int) -> list[int]:
    """Returns the sizes of so many parts, added up from 0 on."""
    return [0, *accumulate(part_sizes(size, parts))]


def cut(vector: Vector, parts: int) -> list[bytes]:
    """Returns the pieces of a vector [P], little-endian float32."""
    return [vector[part::parts].astype("<f4", copy=False).tobytes() for part in range(parts)]


def joined(pieces: Sequence[Vector]) -> Vector:
    """Returns the vector of these pieces."""
    vector = np.empty(sum(map(len, pieces)), np.float32)
    for part, piece in enumerate(pieces):
        vector[part :: len(pieces)] = piece
    return vector


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
    before: Vector = np.frombuffer(slots, "<f4").astype(np.float32, copy=False)
    change = joined(parts)
    step, velocity = outer_step(outer.kind, outer.learning_rate, outer.momentum, change, trainable, before)
    weights = np.add(np.frombuffer(base, "<f4"), step, out=step)
    return weights.astype("<f4", copy=False).tobytes(), velocity.astype("<f4", copy=False).tobytes()


def numbers_are_right(work: RoundWork, target: str, sizes: Sequence[int], read: Read) -> bool:
    """Whether what a worker said of all means is what its pieces have.

    Gorbunov et al. 2022, CheckComputations: colluders hide a wrong mean by false numbers. Raises KeyError
    where bytes are missing.
    """
    said, coin = work.checks[target], coin_seed(work.coin)
    for part, (digest, mean, size) in enumerate(zip(work.pieces[target], work.means, sizes, strict=True)):
        piece, radius = part_values(read(digest), size), part_radius(work.base.radius, size)
        found = part_numbers([piece], part_values(read(mean), size), radius, coin, part)
        if found != ([said.products[part]], [said.lengths[part]]):
            return False
    return True


def mean_is_right(work: RoundWork, part: int, size: int, read: Read) -> bool:
    """Whether the mean of a part is that of its pieces. Raises KeyError where bytes are missing."""
    pieces = [part_values(read(work.pieces[worker][part]), size) for worker in work.workers]
    mean = mean_of_part(pieces, part_radius(work.base.radius, size))
    return sha256(mean.astype("<f4", copy=False).tobytes()) == work.means[part]
