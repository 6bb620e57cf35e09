"""Builds the Titanic task: a small network with its first weights. Volunteers bring the passengers.

Usage: python build.py OUTPUT, which writes model.keras into the folder OUTPUT.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras

SEED = 12


def build_model() -> Any:
    """Builds a network from ten numbers about a passenger to a survival probability; 897 parameters."""
    keras.utils.set_random_seed(SEED)
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((10,), name="passenger"),
            layers.Dense(32, activation="relu", name="hidden_1"),
            layers.Dropout(0.2, name="dropout"),
            layers.Dense(16, activation="relu", name="hidden_2"),
            layers.Dense(1, activation="sigmoid", name="survived"),
        ],
        name="titanic",
    )


def main() -> int:
    """Writes the model into the folder given as the only argument."""
    output = Path(sys.argv[1])
    output.mkdir(parents=True, exist_ok=True)
    build_model().save(output / "model.keras")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
