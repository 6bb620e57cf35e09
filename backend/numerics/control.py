"""Control variates of SCAFFOLD (Karimireddy et al. 2020, alg. 1, option II), on trainable values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


def control_change(server: Vector, update: Vector, steps: int, learning_rate: float) -> Vector:
    """How a client's control variate [T] changes by `steps` steps of plain gradient descent.

    `server` [T] is the server's control variate c and `update` [T] local minus global weights, so that
    c_i+ - c_i = -c - update / (steps * learning_rate).
    """
    return -server - update / np.float32(steps * learning_rate)
