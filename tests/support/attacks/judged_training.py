"""Splits and runs of trainings whose clients have a reputation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backend.lab.robustness.attacked_training import RobustnessLab
from backend.lab.robustness.judged_training import JudgedTraining


def with_rare_class(lab: RobustnessLab, clients: int, alpha: float, seed: int) -> list[NDArray[np.int64]]:
    """Returns the examples of each client: skewed, and those of the last one all of a class the others lack.

    The others have a third of that class at most.
    """
    labels = lab.task.train.y[0]
    rare = np.flatnonzero(labels == 9)
    own, taken = rare[:30], rare[:120]
    parts = lab.task.split(clients, alpha, seed)[:-1]
    return [*(np.setdiff1d(part, taken) for part in parts), own]


def run(training: JudgedTraining, rounds: int) -> float:
    """Trains so many rounds; returns the last held-out accuracy."""
    return [outcome.accuracy for outcome in training.run(rounds)][-1]
