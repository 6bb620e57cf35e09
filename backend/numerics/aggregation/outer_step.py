"""The outer step that each peer of a mesh makes locally before averaging (docs/reference/mesh.md)."""

from __future__ import annotations

import numpy as np

from backend.numerics.aggregation.server_optimizers import SERVER_OPTIMIZERS
from backend.numerics.vectors import Vector

# Linear in the change: the mean of all peers' steps is the step with their mean momentum.
OUTER_KINDS = ("fedavg", "fedavgm", "nesterov")


def outer_step(
    kind: str, learning_rate: float, momentum: float, change: Vector, trainable: int, state: Vector
) -> tuple[Vector, Vector]:
    """Returns a peer's outer step [P] and its momentum after it (DiLoCo: Douillard et al. 2023).

    `change` [P] is what local training added to the weights; the first `trainable` values are optimized, the
    others keep their change. `state` is the momentum before: empty at first, and always for fedavg, else
    [trainable]. fedavg ignores `momentum`. Raises ValueError for a kind not in OUTER_KINDS.
    """
    if kind not in OUTER_KINDS:
        raise ValueError(f"Peers cannot make the outer step {kind}; it is one of {', '.join(OUTER_KINDS)}.")
    options = {} if kind == "fedavg" else {"momentum": momentum}
    step = SERVER_OPTIMIZERS[kind](learning_rate=learning_rate, **options)
    return step(np.zeros_like(change), change.astype(np.float64), state, trainable)
