"""Builds the Shakespeare task: a small GPT with its first weights. Volunteers bring the texts.

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

SEED = 9
LENGTH, CHARACTERS = 64, 65
BLOCKS, WIDTH, HEADS = 4, 128, 4

layers = keras.layers


def build_model() -> Any:
    """Builds a GPT (Radford et al. 2019): 64 characters to the probabilities of each next one."""
    keras.utils.set_random_seed(SEED)
    characters = keras.Input((LENGTH,), dtype="int32", name="characters")
    # Counted from the input, since a layer called on constants would be no part of the model.
    places = keras.ops.cumsum(keras.ops.ones_like(characters), axis=1) - 1
    positions = layers.Embedding(LENGTH, WIDTH, name="place")(places)
    x = layers.Embedding(CHARACTERS, WIDTH, name="character")(characters) + positions
    for number in range(1, BLOCKS + 1):
        x = block(x, f"block_{number}")
    x = layers.LayerNormalization(name="norm")(x)
    following = layers.Dense(CHARACTERS, activation="softmax", name="next")(x)
    return keras.Model(characters, following, name="shakespeare")


def block(x: Any, name: str) -> Any:
    """Adds causal self-attention, then a dense part, each with a residual connection."""
    y = layers.LayerNormalization(name=f"{name}_norm_1")(x)
    attention = layers.MultiHeadAttention(HEADS, WIDTH // HEADS, name=f"{name}_attention")
    x = x + attention(y, y, use_causal_mask=True)
    y = layers.LayerNormalization(name=f"{name}_norm_2")(x)
    y = layers.Dense(4 * WIDTH, activation="gelu", name=f"{name}_wide")(y)
    return x + layers.Dropout(0.1, name=f"{name}_dropout")(layers.Dense(WIDTH, name=f"{name}_narrow")(y))


def main() -> int:
    """Writes the model into the folder given as the only argument."""
    output = Path(sys.argv[1])
    output.mkdir(parents=True, exist_ok=True)
    build_model().save(output / "model.keras")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
