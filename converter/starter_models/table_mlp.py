"""Builds a multilayer perceptron for rows of tables."""

from __future__ import annotations

from typing import Any

from keras import Model, layers

from converter.starter_models.shape import StarterShape

_WIDTHS = (64, 32)


def build(shape: StarterShape) -> Any:
    """Two dense layers with dropout."""
    row = shape.input_layer()
    x = row
    for number, width in enumerate(_WIDTHS, 1):
        x = layers.Dense(width, activation="relu", name=f"dense_{number}")(x)
        x = layers.Dropout(0.1, name=f"dropout_{number}")(x)
    return Model(row, shape.answer(x), name="table_mlp")
