"""The versions that the accepted updates make, computed again in plain numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.services.taskfile.server_optimizer import FedAvg, FedAvgM


@dataclass
class Replay:
    """Weights and server momentum, float32, after the updates so far."""

    weights: NDArray[np.float32]
    velocity: NDArray[np.float32] | None = None

    def step(self, updates: Sequence[tuple[bytes, int]], trainable: int, optimizer: FedAvg | FedAvgM) -> None:
        """One version: `updates` are vectors with their examples, `optimizer` what the task file says."""
        total = np.zeros(len(self.weights), np.float64)
        for vector, examples in updates:
            total += np.frombuffer(vector, "<f4").astype(np.float64) * examples
        mean = total / sum(examples for _, examples in updates)
        step = mean.copy()
        if isinstance(optimizer, FedAvgM):
            velocity = mean[:trainable]
            if self.velocity is not None:
                velocity = velocity + optimizer.momentum * self.velocity.astype(np.float64)
            self.velocity = velocity.astype(np.float32)
            step[:trainable] = velocity
        step[:trainable] *= optimizer.learning_rate
        self.weights = (self.weights.astype(np.float64) + step).astype(np.float32)
