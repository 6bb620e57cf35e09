"""Writes philox.json, batches.json, walks.json, pace.json and unit_buffer.json: `python -m
tests.contract.vectors.data.make_random`."""

from __future__ import annotations

import json

from backend.numerics.philox import batches, uniform
from backend.numerics.walk import Walk
from backend.protocols.client.training_pace import Pace
from backend.protocols.client.unit_buffer import buffered_slots
from tests.contract.vectors import write

DRAWS = [(0, 1, 0, 5), (7, 1, 0, 16), (7, 2, 0, 9), (7, 1, 3, 8), (2**53 - 1, 2**31 + 5, 2**32 - 2, 7)]
ORDERS = [(7, 1, 10, 4), (7, 2, 10, 4), (0, 1, 1, 32), (12345678901, 1, 100, 32), (3, 1, 64, 64)]
# Epochs, steps, batch size, examples, first step.
WALKS = [
    (2, 0, 4, 10, 0),
    (0, 7, 4, 10, 0),
    (0, 2, 4, 10, 0),
    (3, 0, 32, 5, 0),
    (0, 3, 8, 8, 0),
    (0, 1, 4, 1, 0),
    (2, 0, 4, 10, 2),
    (0, 2, 4, 10, 1),
    (0, 4, 4, 10, 3),
]
# Uploads before (bytes, seconds), seconds of the round, bytes of the update.
PACES = [
    ([], 60.0, 4_000_000),
    ([], 10.0, 400_000_000),
    ([], 1.0, 40),
    ([(4_000_000, 2.0)], 60.0, 4_000_000),
    ([(4_000_000, 2.0), (4_000_000, 8.0)], 60.0, 4_000_000),
    ([(4_000_000, 40.0)], 30.0, 4_000_000),
    ([(40, 0.0)], 600.0, 40),
    ([(1_000, 1.0)], 5.0, 0),
]
# Seconds offline, units at once, seconds of a unit, bytes of a result and of the memory.
BUFFERS = [
    (0.0, 1, 12.5, 4_000_000, 2**30),
    (3600.0, 1, 0.0, 4_000_000, 2**30),
    (3600.0, 1, 120.0, 4_000_000, 2**30),
    (3600.0, 2, 120.0, 4_000_000, 2**30),
    (3600.0, 1, 120.0, 20_000_000, 2**28),
    (3600.0, 1, 120.0, 400_000_000, 2**28),
    (86_400.0, 1, 1.0, 40, 2**30),
    (900.0, 1, 7.3, 0, 2**27),
    (0.0, 64, 1.0, 40, 2**30),
]


def _pace(uploads: list[tuple[int, float]], seconds: float, size: int) -> dict[str, object]:
    pace = Pace()
    for one in uploads:
        pace = pace.uploaded(*one)
    training = pace.training_seconds(seconds, size)
    return {"uploads": uploads, "seconds": seconds, "size": size, "rate": pace.rate, "training": training}


def files() -> dict[str, str]:
    """The content of each file."""
    draws = [
        {"seed": seed, "step": step, "stream": stream, "values": uniform(seed, step, stream, n).tolist()}
        for seed, step, stream, n in DRAWS
    ]
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
    walks = [
        {
            "seed": 7,
            "epochs": epochs,
            "steps": steps,
            "batch_size": size,
            "first_step": first,
            "examples": n,
            "batches": [rows.tolist() for rows in Walk(7, epochs, steps, size, first).batches(n)],
        }
        for epochs, steps, size, n, first in WALKS
    ]
    paces = [_pace(*case) for case in PACES]
    names = ("offline", "at_once", "unit_seconds", "result_bytes", "memory_bytes")
    buffers = [{**dict(zip(names, case, strict=True)), "slots": buffered_slots(*case)} for case in BUFFERS]
    return {
        "philox.json": json.dumps(draws, indent=1) + "\n",
        "batches.json": json.dumps(orders) + "\n",
        "walks.json": json.dumps(walks) + "\n",
        "pace.json": json.dumps(paces, indent=1) + "\n",
        "unit_buffer.json": json.dumps(buffers, indent=1) + "\n",
    }


if __name__ == "__main__":
    write(files())
