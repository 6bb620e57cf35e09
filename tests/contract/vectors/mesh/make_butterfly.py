"""Writes butterfly.json: `python -m tests.contract.vectors.mesh.make_butterfly`."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from backend.numerics import philox
from backend.numerics.butterfly.clipped_mean import clipped_mean
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
    }


def files() -> dict[str, str]:
    """The golden file and its content."""
    cases = [case(seed, *each) for seed, each in enumerate(CASES)]
    return {"butterfly.json": json.dumps(cases, indent=1) + "\n"}


if __name__ == "__main__":
    write(files())
