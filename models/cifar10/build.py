"""Builds the CIFAR-10 task: a small CNN with its first weights. Volunteers bring the pictures.

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

SEED = 10


def build_model() -> Any:
    """Builds a CNN, [32, 32, 3] standardized pixels to ten class probabilities; 89,834 parameters.

    It has no BatchNormalization, whose statistics would differ between volunteers.
    """
    keras.utils.set_random_seed(SEED)
    layers = keras.layers
    stack: list[Any] = [keras.Input((32, 32, 3), name="pixels")]
    for number, filters in enumerate((16, 32, 64), start=1):
        stack.append(layers.Conv2D(filters, 3, padding="same", activation="relu", name=f"conv_{number}"))
        stack.append(layers.MaxPooling2D(name=f"pool_{number}"))
    stack += [layers.Flatten(name="flatten"), layers.Dropout(0.3, name="dropout_1")]
    stack += [layers.Dense(64, activation="relu", name="dense"), layers.Dropout(0.3, name="dropout_2")]
    return keras.Sequential([*stack, layers.Dense(10, activation="softmax", name="kind")], name="cifar10")


def main() -> int:
    """Writes the model into the folder given as the only argument."""
    output = Path(sys.argv[1])
    output.mkdir(parents=True, exist_ok=True)
    build_model().save(output / "model.keras")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
