"""Survival on the Titanic: 891 passengers, three in ten held out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np

from benchmarks.tasks import Sources, Task

HOLDOUT = 0.3

layers = keras.layers


def prepare(data: Path, folder: Path, seed: int, examples: int | None) -> Sources:
    """Takes the whole table, or so many of its rows."""
    table = data / "titanic.csv"
    if examples is None:
        return Sources(table, holdout=HOLDOUT)
    # No cell of this table contains a line break.
    head, *rows = table.read_text("utf-8").splitlines(keepends=True)
    chosen = np.random.default_rng(seed).permutation(len(rows))[:examples]
    sample = folder / "titanic.csv"
    sample.write_text("".join([head, *(rows[number] for number in chosen)]), "utf-8")
    return Sources(sample, holdout=HOLDOUT)


def build() -> Any:
    """Builds a network from ten numbers about a passenger to the survival probability; 929 parameters."""
    stack = [layers.Dense(32, activation="relu"), layers.Dropout(0.2), layers.Dense(16, activation="relu")]
    return keras.Sequential([keras.Input((10,)), *stack, layers.Dense(1, activation="sigmoid")])


TASK = Task(prepare, build, lambda: keras.optimizers.Adam(0.001), batch_size=32, every=20)
