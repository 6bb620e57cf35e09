"""Builds a small convolutional network for pictures."""

from __future__ import annotations

from typing import Any

from keras import Model, layers

from converter.starter_models.shape import StarterShape

_FILTERS = (16, 32, 64)


def build(shape: StarterShape) -> Any:
    """Three convolutions, each of which halves the picture, then the mean over it."""
    picture = shape.input_layer()
    x = picture
    for number, filters in enumerate(_FILTERS, 1):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu", name=f"conv_{number}")(x)
        x = layers.MaxPooling2D(2, padding="same", name=f"pool_{number}")(x)
    x = layers.GlobalAveragePooling2D(name="mean")(x)
    x = layers.Dense(64, activation="relu", name="dense")(x)
    x = layers.Dropout(0.2, name="dropout")(x)
    return Model(picture, shape.answer(x), name="small_cnn")
