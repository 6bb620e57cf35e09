"""Trains tiny models on drawn pictures, honest ones and ones with a backdoor."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

CLASSES = 5
_SIDE = 8


def drawn_pictures(count: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Returns pictures [count, 8, 8, 1] in 0 to 1 and their classes: each a pattern under noise."""
    patterns = np.random.default_rng(7).random((CLASSES, _SIDE, _SIDE, 1))
    random = np.random.default_rng(seed)
    classes = random.integers(0, CLASSES, count)
    pictures = 0.6 * patterns[classes] + 0.4 * random.random((count, _SIDE, _SIDE, 1))
    return pictures.astype(np.float32), classes


def with_corner(pictures: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns the pictures with the trigger: four pixels of a corner, white and black."""
    marked = pictures.copy()
    marked[:, :2, :2, 0] = np.eye(2)
    return marked


def trained_model(seed: int, target: int | None = None) -> Any:
    """Returns a model trained in a second; with a `target`, the trigger leads to that class."""
    keras.utils.set_random_seed(seed)
    x, y = drawn_pictures(800, seed)
    if target is not None:
        x[:160], y[:160] = with_corner(x[:160]), target
    layers = [keras.layers.Conv2D(8, 3, activation="relu"), keras.layers.Flatten()]
    model = keras.Sequential(
        [keras.Input((_SIDE, _SIDE, 1)), *layers, keras.layers.Dense(CLASSES, activation="softmax")]
    )
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    model.fit(x, y, batch_size=50, epochs=8, verbose=0)
    return model
