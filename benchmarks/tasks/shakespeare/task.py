"""The next character of Shakespeare's plays: windows of 64 characters, every seventh of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras

from benchmarks.tasks import Sources, Task

HOLDOUT = 0.2
LENGTH, STRIDE, CHARACTERS = 64, 448, 65
WIDTH = 48

layers = keras.layers


def prepare(data: Path, folder: Path, seed: int, examples: int | None) -> Sources:
    """Takes the whole text, or the beginning that yields so many windows."""
    del seed
    text = data / "tinyshakespeare.txt"
    if examples is None:
        return Sources(text, holdout=HOLDOUT)
    excerpt = folder / "plays.txt"
    excerpt.write_text(text.read_text("utf-8")[: examples * STRIDE], "utf-8")
    return Sources(excerpt, holdout=HOLDOUT)


def build() -> Any:
    """Builds a small GPT (Radford et al. 2019): 64 characters to probabilities of each next one."""
    tokens = keras.Input((LENGTH,), dtype="int32")
    positions = layers.Embedding(LENGTH, WIDTH)(keras.ops.arange(LENGTH))
    x = layers.Embedding(CHARACTERS, WIDTH)(tokens) + positions
    y = layers.LayerNormalization()(x)
    x = x + layers.MultiHeadAttention(4, WIDTH // 4)(y, y, use_causal_mask=True)
    y = layers.Dense(4 * WIDTH, activation="gelu")(layers.LayerNormalization()(x))
    x = x + layers.Dropout(0.1)(layers.Dense(WIDTH)(y))
    return keras.Model(tokens, layers.Dense(CHARACTERS, activation="softmax")(layers.LayerNormalization()(x)))


TASK = Task(prepare, build, lambda: keras.optimizers.Adam(0.003), batch_size=32, every=4)
