"""Writes butterfly.json: `python -m tests.contract.vectors.mesh.make_butterfly`."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from backend.numerics import philox
from backend.numerics.aggregation.result_agreement import Tolerance, likeness, shortest_compared
from backend.numerics.butterfly.clipped_mean import clipped_mean
from backend.numerics.butterfly.part_values import mean_of_part, part_numbers, part_values
from backend.numerics.butterfly.projection import projection_product
from backend.numerics.vectors import Vector
from tests.contract.vectors import write

# Members, liars among them, values of a part, and the radius.
CASES = [
    (1, 0, 3, 1.0),
    (2, 0, 1, 0.5),
    (4, 1, 1023, 5.0),
    (5, 2, 1024, 20.0),
    (16, 7, 1025, 2.0),
    (16, 7, 5615, 40.0),
    (15, 0, 70_000, 1000.0),
]


def drawn(seed: int, members: int, liars: int, values: int) -> Vector:
    """Pieces [members, values] in [-1, 1), those of liars times -1000."""
    rows = [2 * philox.uniform(seed, member, 0, values) - 1 for member in range(members)]
    pieces: Vector = np.stack(rows)
    pieces[:liars] *= np.float32(-1000.0)
    return pieces


def case(seed: int, members: int, liars: int, values: int, radius: float) -> dict[str, Any]:
    pieces = drawn(seed, members, liars, values)
    made = clipped_mean(pieces, radius)
    coin = (seed << 40) + 12_345
    products = [projection_product(piece, made.mean, radius, coin, seed) for piece in pieces]
    alike = likeness(pieces[0], made.mean)
    # Of the short mean and of nothing, which weights as large as the piece would round away.
    shortest = shortest_compared(pieces[0], 10, Tolerance(0.02, 0.99, 0.3))
    short = (made.mean * 1e-7).astype(np.float32)
    short_alike = likeness(short, np.zeros_like(short), shortest)
    return {
        "seed": seed,
        "members": members,
        "liars": liars,
        "values": values,
        "radius": radius,
        "coin": coin,
        "turns": made.turns,
        "sha256": hashlib.sha256(made.mean.astype("<f4").tobytes()).hexdigest(),
        "lengths": made.lengths,
        "products": products,
        "likeness": {"distance": _rounded(alike.distance), "cosine": _rounded(alike.cosine)},
        "shortest": _rounded(shortest),
        "short_likeness": {
            "distance": _rounded(short_alike.distance),
            "cosine": _rounded(short_alike.cosine),
        },
        "unmeasured": unmeasured(pieces, coin, seed),
    }


def _rounded(value: float) -> float:
    """A number of a norm, whose last digits depend on the processor: each adds up in an order of its own."""
    return round(value, 12)


def unmeasured(pieces: Vector, coin: int, part: int) -> dict[str, Any]:
    """The mean and numbers before the first radius was measured; the last piece is not finite."""
    size = pieces.shape[1]
    spoiled = pieces.copy()
    spoiled[-1, size // 2] = np.nan
    taken = [part_values(row.astype("<f4").tobytes(), size) for row in spoiled]
    mean = mean_of_part(taken, 0.0)
    products, lengths = part_numbers(taken, mean, 0.0, coin, part)
    return {
        "sha256": hashlib.sha256(mean.astype("<f4").tobytes()).hexdigest(),
        "products": products,
        "lengths": lengths,
    }


def files() -> dict[str, str]:
    """The golden file and its content."""
    cases = [case(seed, *each) for seed, each in enumerate(CASES)]
    return {"butterfly.json": json.dumps(cases, indent=1) + "\n"}


if __name__ == "__main__":
    write(files())
