"""The mean of what members of a group sent of one part of the vector: the same bits, whoever makes it.

Pieces are decoded to float32 and added up in the order of places; the mean is encoded as they were, and
everybody takes the decoded mean. The TypeScript twin is webapp/static/src/core/numerics/aggregation/;
tests/contract/vectors/averaging.json holds both to the same bits. docs/reference/mesh.md has the rules
under "What is averaged".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from backend.numerics.precision import Bytes, decode, encode, encoded_size, read_block, write_block
from backend.numerics.vectors import BLOCK_VALUES, Vector, blocks

# Of each value so large a share of the contributors is left out at either end.
TRIMMED = 5
# Turns of centered clipping; the paper's experiments need one to three.
_TURNS = 3
# The mean of a block of members' values [members, n], with their shares.
_OfBlock: TypeAlias = Callable[[Vector, Sequence[np.float32]], Vector]


def shares(weights: Sequence[float]) -> list[np.float32]:
    """What each contributor's values are multiplied by: its part of all `weights`, in the order of places.

    Raises ValueError where they do not add up to more than zero.
    """
    total = 0.0
    for weight in weights:  # One after the other: `sum` may round otherwise.
        total += weight
    if not 0.0 < total < float("inf"):
        raise ValueError(f"Weights that add up to {total} make no mean.")
    return [np.float32(weight / total) for weight in weights]


def reduce_part(
    pieces: Sequence[Bytes], weights: Sequence[float], values: int, precision: str, reducer: str
) -> Bytes:
    """The encoded mean of `pieces`, each of `values` values that were checked (precision.py `checked`).

    `pieces` and `weights` are the contributors' in the order of places; robust reducers pass over weights.
    """
    if reducer == "centered_clip":
        decoded = np.stack([decode(piece, values, precision) for piece in pieces])
        return encode(centered_clip(decoded), precision)
    of_block, each = _OF_BLOCK[reducer], shares(weights)
    mean = np.empty(encoded_size(values, precision), np.uint8)
    scratch = np.empty((len(pieces), min(values, BLOCK_VALUES)), np.float32)
    for part in blocks(values):
        block = scratch[:, : part.stop - part.start]
        for piece, row in zip(pieces, block, strict=True):
            read_block(piece, part, precision, row)
        write_block(of_block(block, each), precision, mean, part)
    return mean


def weighted_mean(rows: Vector, each: Sequence[np.float32]) -> Vector:
    """`rows` [members, n] times their shares, added up in order. Uses `rows` for scratch."""
    for row, share in zip(rows, each, strict=True):
        row *= share
    mean: Vector = rows[0]
    mean += np.float32(0.0)  # The sum begins at +0: no mean is -0.
    for row in rows[1:]:
        mean += row
    return mean


def trimmed_mean(rows: Vector, _each: Sequence[np.float32] = ()) -> Vector:
    """The mean of each value of `rows` [members, n] without a fifth at either end (Yin et al. 2018, def. 2).

    At least one at either end is left out where there are three or more. What is left is added up from the
    lowest on, then divided.
    """
    members = len(rows)
    cut = max(members // TRIMMED, 1 if members > 2 else 0)
    kept = np.sort(rows, axis=0)[cut : members - cut]
    mean = np.zeros(rows.shape[1], np.float32)
    for row in kept:
        mean += row
    mean /= np.float32(len(kept))
    return mean


def centered_clip(rows: Vector) -> Vector:
    """`rows` [members, n] averaged with their ways from the centre clipped (Karimireddy et al. 2021, alg. 2).

    Begins at the median of each value; the radius is the median distance from there. Norms are float64.
    """
    centre: Vector = np.median(rows, axis=0).astype(np.float32)
    radius = float(np.median(_distances(rows, centre)))
    for _ in range(_TURNS):
        factors = [
            min(1.0, radius / distance) if distance > 0.0 else 1.0 for distance in _distances(rows, centre)
        ]
        step = np.zeros_like(centre)
        for row, factor in zip(rows, factors, strict=True):
            step += (row - centre) * np.float32(factor / len(rows))
        centre = centre + step
    return centre


def _distances(rows: Vector, centre: Vector) -> list[float]:
    def squared(row: Vector) -> float:
        ways = ((row[part] - centre[part]).astype(np.float64) for part in blocks(len(centre)))
        return sum(float(np.dot(way, way)) for way in ways)

    return [squared(row) ** 0.5 for row in rows]


_OF_BLOCK: dict[str, _OfBlock] = {"mean": weighted_mean, "trimmed_mean": trimmed_mean}


def pass_on(before: Bytes | None, own: Vector, share: np.float32, precision: str) -> Bytes:
    """In a ring: the encoded sum that travels on, of `before` and `own` [n] times its share.

    `before` is what came, and None for who begins. `own` was not encoded before.
    """
    total = np.zeros_like(own) if before is None else decode(before, len(own), precision)
    total += own * share
    return encode(total, precision)
