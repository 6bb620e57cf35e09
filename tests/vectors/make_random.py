"""Writes philox.json and batches.json: `python -m tests.vectors.make_random`."""

from __future__ import annotations

import json
from pathlib import Path

from backend.numerics.philox import batches, uniform

HERE = Path(__file__).parent
DRAWS = [(0, 1, 0, 5), (7, 1, 0, 16), (7, 2, 0, 9), (7, 1, 3, 8), (2**53 - 1, 2**31 + 5, 2**32 - 2, 7)]
ORDERS = [(7, 1, 10, 4), (7, 2, 10, 4), (0, 1, 1, 32), (12345678901, 1, 100, 32), (3, 1, 64, 64)]


def main() -> None:
    draws = [
        {"seed": seed, "step": step, "stream": stream, "values": uniform(seed, step, stream, n).tolist()}
        for seed, step, stream, n in DRAWS
    ]
    (HERE / "philox.json").write_text(json.dumps(draws, indent=1) + "\n")
    orders = [
        {
            "seed": seed,
            "epoch": epoch,
            "examples": n,
            "batch_size": size,
            "batches": [rows.tolist() for rows in batches(seed, epoch, n, size)],
        }
        for seed, epoch, n, size in ORDERS
    ]
    (HERE / "batches.json").write_text(json.dumps(orders) + "\n")


if __name__ == "__main__":
    main()
