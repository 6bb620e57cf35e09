"""Writes skellam.json: `python -m tests.contract.vectors.secagg.make_skellam`."""

from __future__ import annotations

import json

import numpy as np

from backend.numerics.philox import words
from backend.numerics.privacy.skellam import Skellam
from tests.contract.vectors import write

VARIANCES = [0.01, 1.0, 37.5, 1e4, 3.3e6]
SEED, VALUES = 7, 40


def files() -> dict[str, str]:
    """The content of each file."""
    drawn = words(SEED, 1, 0, 2 * VALUES)
    drawn[:8] = [0] * 4 + [0xFFFFFFFF] * 4
    skellam = []
    for variance in VARIANCES:
        sampler = Skellam(variance)
        # Where a wrong rounding would show first: at thresholds, and one below.
        edges = sampler.thresholds[:: max(1, len(sampler.thresholds) // 4)]
        shown = np.concatenate([edges, edges - np.uint64(1)])
        pairs = np.stack([(shown >> np.uint64(31)) & np.uint64(0xFFFFFFFE), shown & np.uint64(0xFFFFFFFF)], 1)
        given = np.concatenate([drawn, pairs.astype(np.uint32).ravel()])
        skellam.append(
            {
                "variance": variance,
                "entries": len(sampler.thresholds),
                "words": given.tolist(),
                "values": sampler.draw(given).tolist(),
            }
        )
    return {"skellam.json": json.dumps(skellam) + "\n"}


if __name__ == "__main__":
    write(files())
