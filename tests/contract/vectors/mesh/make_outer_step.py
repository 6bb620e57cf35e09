"""Writes outer.json: outer steps one after the other, of which TypeScript makes the same bits.

Run `python -m tests.contract.vectors.mesh.make_outer_step` after a change that is meant, and look at the
difference.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from backend.numerics.aggregation.outer_step import OUTER_KINDS, outer_step
from backend.numerics.vectors import Vector
from tests.contract.vectors import write

FILE = Path(__file__).parents[1] / "outer.json"
VALUES, TRAINABLE, STEPS = 40, 33, 4


def vectors() -> list[dict[str, Any]]:
    """The content of outer.json; values are written so that float32 reads back the same."""
    return [_steps(kind) for kind in OUTER_KINDS]


def _steps(kind: str) -> dict[str, Any]:
    rate, momentum = (1.0, 0.0) if kind == "fedavg" else (0.7, 0.9)
    memory: Vector = np.zeros(0, np.float32)
    steps = []
    for number in range(STEPS):
        change = np.sin(np.arange(VALUES) + 0.5 * number).astype(np.float32)
        way, memory = outer_step(kind, rate, momentum, change, TRAINABLE, memory)
        steps.append({"change": change.tolist(), "way": way.tolist(), "memory": memory.tolist()})
    outer = {"kind": kind, "learning_rate": rate, "momentum": momentum}
    return {"outer": outer, "trainable": TRAINABLE, "steps": steps}


def files() -> dict[str, str]:
    """The content of each file."""
    return {FILE.name: json.dumps(vectors(), indent=1) + "\n"}


if __name__ == "__main__":
    write(files())
