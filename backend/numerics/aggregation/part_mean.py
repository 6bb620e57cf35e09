"""Computes the mean of group members' pieces of a vector part: the same bits on every member.

Pieces are decoded to float32 and added up in the order of places; the mean is encoded in the same precision,
and all members adopt the decoded mean. The TypeScript twin is webapp/static/src/core/numerics/aggregation/;
tests/contract/vectors/averaging.json tests that both compute the same bits. docs/reference/mesh.md has the
rules under "What is averaged".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from backend.numerics.precision import Bytes, decode, encode, encoded_size, read_block, write_block
from backend.numerics.vectors import BLOCK_VALUES, Vector, blocks

# One in so many contributors is left out at either end of each value.
TRIMMED = 5
# Iterations of centered clipping; the paper's experiments need one to three.
_ITERATIONS = 3
# (a block of members' values [members, n], their shares) -> the mean [n].
_BlockMean: TypeAlias = Callable[[Vector, Sequence[np.float32]], Vector]


def shares(weights: Sequence[float]) -> list[np.float32]:
    """Returns each contributor's fraction of all `weights`, in the order of places.

    Raises ValueError if the sum of the weights is not positive and finite.
    """
    total = 0.0
    for weight in weights:  # In order: `sum` may round differently.
        total += weight
    if not 0.0 < total < float("inf"):
        raise ValueError(f"Weights that add up to {total} make no mean.")
    return [np.float32(weight / total) for weight in weights]


def reduce_part(
    pieces: Sequence[Bytes], weights: Sequence[float], values: int, precision: str, reducer: str
) -> Bytes:
    """Returns the encoded mean of `pieces`, each of `values` checked values (precision.py `checked`).

    `pieces` and `weights` are the contributors' in the order of places; robust reducers ignore weights.
    """
    if reducer == "centered_clip":
        decoded = np.stack([decode(piece, values, precision) for piece in pieces])
        return encode(centered_clip(decoded), precision)
    block_mean, fractions = _BLOCK_MEANS[reducer], shares(weights)
    mean = np.empty(encoded_size(values, precision), np.uint8)
    scratch = np.empty((len(pieces), min(values, BLOCK_VALUES)), np.float32)
    for part in blocks(values):
        block = scratch[:, : part.stop - part.start]
        for piece, row in zip(pieces, block, strict=True):
            read_block(piece, part, precision, row)
        write_block(block_mean(block, fractions), precision, mean, part)
    return mean


def weighted_mean(rows: Vector, fractions: Sequence[np.float32]) -> Vector:
    """Adds up `rows` [members, n] times their shares, in order. Overwrites `rows`."""
    for row, share in zip(rows, fractions, strict=True):
        row *= share
    mean: Vector = rows[0]
    mean += np.float32(0.0)  # Adding +0 turns -0 into +0: no mean is -0.
    for row in rows[1:]:
        mean += row
    return mean


def trimmed_mean(rows: Vector, _fractions: Sequence[np.float32] = ()) -> Vector:
    """Returns the mean of `rows` [members, n] without a fifth at either end (Yin et al. 2018, def. 2).

    With three members or more at least one value is left out at either end. The remaining values are added
    up in ascending order, then divided.
    """
    members = len(rows)
    cut = max(members // TRIMMED, 1 if members > 2 else 0)
    remaining = np.sort(rows, axis=0)[cut : members - cut]
    mean = np.zeros(rows.shape[1], np.float32)
    for row in remaining:
        mean += row
    mean /= np.float32(len(remaining))
    return mean


def centered_clip(rows: Vector) -> Vector:
    """Averages `rows` [members, n], clipped around the centre (Karimireddy et al. 2021, alg. 2).

    The centre begins at the median of each value; the radius is the median distance from it. Norms are
    float64.
    """
    centre: Vector = np.median(rows, axis=0).astype(np.float32)
    radius = float(np.median(_distances(rows, centre)))
    for _ in range(_ITERATIONS):
        factors = [
            min(1.0, radius / distance) if distance > 0.0 else 1.0 for distance in _distances(rows, centre)
        ]
        step = np.zeros_like(centre)
        for row, factor in zip(rows, factors, strict=True):
            step += (row - centre) * np.float32(factor / len(rows))
        centre = centre + step
    return centre


def _distances(rows: Vector, centre: Vector) -> list[float]:
    """Returns each row's distance from `centre`; squares are added up in float64, one after another."""
    scratch = np.empty(min(len(centre), BLOCK_VALUES), np.float64)

    def squared(row: Vector) -> float:
        total = 0.0
        for part in blocks(len(centre)):
            difference = row[part] - centre[part]
            squares = np.multiply(difference, difference, scratch[: len(difference)], dtype=np.float64)
            squares[0] += total
            # A plain sum, or a dot product, adds up in an order that depends on the machine.
            total = float(np.cumsum(squares, out=squares)[-1])
        return total

    return [squared(row) ** 0.5 for row in rows]


_BLOCK_MEANS: dict[str, _BlockMean] = {"mean": weighted_mean, "trimmed_mean": trimmed_mean}


def pass_on(before: Bytes | None, own: Vector, share: np.float32, precision: str) -> Bytes:
    """Returns the encoded sum that a ring's member sends on: `before` plus `own` [n] times its share.

    `before` is the received sum, None for the first member. `own` must not have been encoded.
    """
    total = np.zeros_like(own) if before is None else decode(before, len(own), precision)
    total += own * share
    return encode(total, precision)
