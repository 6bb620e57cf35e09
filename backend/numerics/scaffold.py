"""Control variates of SCAFFOLD (Karimireddy et al. 2020, alg. 1, option II), on trainable values."""

from __future__ import annotations

import numpy as np

from backend.numerics.vectors import Vector, Vector64, blocks


def control_change(server: Vector, update: Vector, steps: int, learning_rate: float) -> Vector:
    """How a client's control variate [T] changes by `steps` steps of plain gradient descent.

    `server` [T] is the server's control variate c and `update` [T] local minus global weights, so that
    c_i+ - c_i = -c - update / (steps * learning_rate).
    """
    return -server - update / np.float32(steps * learning_rate)


class ControlChanges:
    """Sum of the changes that a round's clients make to their own control variates (algorithm 1, line 17).

    All that a change depends on is known to the server, so clients need not send it. Owns one float64
    accumulator [T]. `server` [T] is the server's control variate, `learning_rate` the clients'.
    """

    def __init__(self, server: Vector, learning_rate: float) -> None:
        self._server = server
        self._rate = learning_rate
        self._sum: Vector64 = np.zeros(len(server), np.float64)

    def add(self, update: Vector, steps: int) -> None:
        """Counts the change of a client whose `update` [at least T] took `steps` > 0 steps."""
        for part in blocks(len(self._server)):
            self._sum[part] += control_change(self._server[part], update[part], steps, self._rate)

    def next_server(self, before: int, now: int) -> Vector:
        """The server's next control variate [T]: the mean of all clients' own.

        `before` clients had one until this round, `now` > 0 with those that are new; theirs began at zero.
        With `before` = `now` = N this is the paper's c + sum / N.
        """
        mean: Vector64 = (before * self._server.astype(np.float64) + self._sum) / now
        return mean.astype(np.float32)
