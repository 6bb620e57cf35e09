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
CLASSES = 2


def build_model() -> Any:
    """[64, 64, 3] pixels, about -2 to 2, to the probabilities of the classes."""
    keras.utils.set_random_seed(SEED)
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((64, 64, 3)),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(4),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(4),
            layers.Flatten(),
            layers.Dropout(0.2),
            layers.Dense(CLASSES, activation="softmax"),
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
