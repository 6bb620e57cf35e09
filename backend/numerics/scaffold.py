"""Control variates of SCAFFOLD (Karimireddy et al. 2020, alg. 1, option II), on trainable values."""

from __future__ import annotations

import numpy as np

from backend.numerics.vectors import Vector, Vector64, blocks


def control_change(server: Vector, update: Vector, steps: int, learning_rate: float) -> Vector:
    """Returns the change of a client's control variate [T] by `steps` steps of plain gradient descent.

    `server` [T] is the server's control variate c and `update` [T] local minus global weights, so that
    c_i+ - c_i = -c - update / (steps * learning_rate).
    """
    return -server - update / np.float32(steps * learning_rate)


class ControlChanges:
    """Adds up the changes of the clients' control variates in a round (algorithm 1, line 17).

    The server knows everything that a change depends on, so clients need not send it. Owns one float64
    accumulator [T]. `server` [T] is the server's control variate, `learning_rate` the clients'.
    """

    def __init__(self, server: Vector, learning_rate: float) -> None:
        self._server = server
        self._rate = learning_rate
        self._sum: Vector64 = np.zeros(len(server), np.float64)

    def add(self, update: Vector, steps: int) -> None:
        """Adds the change of a client whose `update` [at least T] took `steps` > 0 steps."""
        for part in blocks(len(self._server)):
            self._sum[part] += control_change(self._server[part], update[part], steps, self._rate)

    def next_server(self, before: int, now: int) -> Vector:
        """Returns the server's next control variate [T]: the mean of all clients' control variates.

        `before` clients had one before this round, `now` > 0 have one after it; new ones began at zero.
        With `before` = `now` = N this is the paper's c + sum / N.
        """
        mean: Vector64 = (before * self._server.astype(np.float64) + self._sum) / now
        return mean.astype(np.float32)
