"""Build the model with its first weights. Volunteers bring the examples.

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

SEED = 1
VALUES = 6


def build_model() -> Any:
    """A row of the table, as numbers of like size, to the probability of `yes`."""
    keras.utils.set_random_seed(SEED)
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((VALUES,)),
            layers.Dense(32, activation="relu"),
            layers.Dropout(0.2),
            layers.Dense(1, activation="sigmoid"),
        ]
    )


def main() -> int:
    """Write the model into the folder given as the only argument."""
    output = Path(sys.argv[1])
    output.mkdir(parents=True, exist_ok=True)
    build_model().save(output / "model.keras")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
