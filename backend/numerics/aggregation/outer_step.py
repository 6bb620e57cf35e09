"""The outer step that each peer of a mesh makes locally before averaging (docs/reference/mesh.md).

The TypeScript twin is webapp/static/src/core/numerics/aggregation/outer-step.ts;
tests/contract/vectors/outer.json tests that both compute the same bits.
"""

from __future__ import annotations

import numpy as np

from backend.numerics.vectors import Vector, blocks

# Linear in the change: the mean of all peers' steps is the step with their mean momentum.
OUTER_KINDS = ("fedavg", "fedavgm", "nesterov")


def outer_step(
    kind: str, learning_rate: float, momentum: float, change: Vector, trainable: int, state: Vector
) -> tuple[Vector, Vector]:
    """Returns a peer's outer step [P] and its momentum after it (DiLoCo: Douillard et al. 2023).

    `change` [P] is what local training added to the weights; the first `trainable` values are optimized, the
    others keep their change. `state` is the momentum before: empty at first, and always for fedavg, else
    [trainable]. fedavg ignores `momentum`. Each operation rounds to float32, and values too large for it
    become infinite. Raises ValueError for a kind not in OUTER_KINDS.
    """
    if kind not in OUTER_KINDS:
        raise ValueError(f"Peers cannot make the outer step {kind}; it is one of {', '.join(OUTER_KINDS)}.")
    rate, mu = np.float32(learning_rate), np.float32(momentum)
    step: Vector = np.empty_like(change)
    step[trainable:] = change[trainable:]
    velocity: Vector = np.empty(0 if kind == "fedavg" else trainable, np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        # Block by block: fresh memory for whole vectors costs more than the arithmetic.
        for part in blocks(trainable):
            stepped = trained = change[part]
            if kind != "fedavg":
                moved = mu * state[part] if len(state) else np.zeros(len(trained), np.float32)
                moved += trained
                velocity[part] = moved
                stepped = trained + mu * moved if kind == "nesterov" else moved
            np.multiply(stepped, rate, out=step[part])
    return step, velocity
