"""Writes averaging.json: `python -m tests.contract.vectors.mesh.make_averaging`."""

from __future__ import annotations

import hashlib
import json
from typing import get_args

import numpy as np

from backend.numerics import philox
from backend.numerics.aggregation.part_mean import pass_on, reduce_part, shares
from backend.numerics.precision import checked, decode, encode
from backend.numerics.vectors import Vector
from backend.wire.mesh_fields import Reducer
from tests.contract.vectors import write

PRECISIONS = ("float32", "float16", "int8")
REDUCERS = get_args(Reducer)
# Zeros, subnormals of both kinds, ties, and what is too large for a float16, an average or a scale.
SPECIAL = [
    *(
        0.0,
        -0.0,
        1e-45,
        -1e-45,
        2.0**-126,
        2.0**-149,
        2.0**-24,
        2.0**-25,
        3 * 2.0**-25,
        2.0**-14,
        -(2.0**-14),
    ),
    *(1.0, 1 + 2.0**-11, 1 + 3 * 2.0**-11, -1 - 2.0**-11, 0.1, -1 / 3, 65504.0, 65519.0, 65520.0, -70000.0),
    *(2.0**100, -(2.0**100), 2.0**101, -3e38, 2.0**127),
]
# Values of a part, members, and how large they are at most.
MEANS = [(1, 2, 1.0), (5, 3, 1e-6), (1024, 4, 0.01), (1025, 5, 0.02), (2500, 8, 3.0), (70_000, 4, 1e-3)]
# Bytes of a longer result that are kept; its SHA-256 tells all.
KEPT = 64


def drawn(seed: int, member: int, values: int, most: float) -> Vector:
    """What this member of case `seed` sends: float32(float32(2 u - 1) * most) of uniform u."""
    unit: Vector = 2 * philox.uniform(seed, member, 0, values) - 1
    unit *= np.float32(most)
    return unit


def halves_and_ties() -> Vector:
    """For each float16 from bits 0 to 0x7bfe the middle to the next one, between the floats around it."""
    bits = np.arange(0x7BFF, dtype="<u2")
    low, high = (one.view("<f2").astype(np.float32) for one in (bits, bits + np.uint16(1)))
    middle: Vector = (low + high) / 2
    around = [np.nextafter(middle, np.float32(0)), middle, np.nextafter(middle, np.float32(np.inf))]
    values: Vector = np.stack(around, axis=1).reshape(-1)
    return values


def _told(data: bytes) -> dict[str, object]:
    return {"bytes": len(data), "first": data[:KEPT].hex(), "sha256": hashlib.sha256(data).hexdigest()}


def _encoded(values: Vector) -> dict[str, object]:
    told = {}
    for precision in PRECISIONS:
        data = encode(values, precision)
        decoded = decode(data, len(values), precision)
        told[precision] = {"data": data.tobytes().hex(), "decoded": decoded.tobytes().hex()}
    return {"values": values.tobytes().hex(), **told}


def _ties() -> dict[str, object]:
    every = decode(np.arange(0x7C00, dtype="<u2").view(np.uint8), 0x7C00, "float16")
    return {
        "encoded": _told(encode(halves_and_ties(), "float16").tobytes()),
        "decoded": _told(every.tobytes()),
    }


def _mean(seed: int, values: int, members: int, most: float) -> dict[str, object]:
    rows = [drawn(seed, member, values, most) for member in range(members)]
    weights = [float(word % 1000 + 1) / 3 for word in philox.words(seed, 99, 0, members).tolist()]
    each = shares(weights)
    told: dict[str, object] = {}
    for precision in PRECISIONS:
        pieces = [checked(encode(row, precision), values, precision) for row in rows]
        made: dict[str, object] = {
            reducer: _told(reduce_part(pieces, weights, values, precision, reducer).tobytes())
            for reducer in REDUCERS
        }
        travelling = None
        for row, share in zip(rows, each, strict=True):
            travelling = pass_on(travelling, row, share, precision)
        assert travelling is not None
        told[precision] = {
            "pieces": [_told(piece.tobytes()) for piece in pieces],
            **made,
            "ring": _told(travelling.tobytes()),
        }
    return {
        "seed": seed,
        "values": values,
        "most": most,
        "weights": weights,
        "shares": [float(share) for share in each],
        **told,
    }


def files() -> dict[str, str]:
    """The content of each file."""
    special = np.array(SPECIAL, np.float32)
    golden = {
        # Three whole scales and a short one, each of its own size.
        "encoded": [_encoded(special), _encoded(special[:17]), _encoded(drawn(7, 0, 1100, 0.25))],
        "ties": _ties(),
        "means": [_mean(seed, *case) for seed, case in enumerate(MEANS, 1)],
    }
    return {"averaging.json": json.dumps(golden, indent=1) + "\n"}


if __name__ == "__main__":
    write(files())
