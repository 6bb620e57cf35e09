"""Normalization, dropout and noise."""

from __future__ import annotations

from typing import Any

import keras

from tests.support.keras.cases import Case
from tests.support.keras.recipes import Recipe
from tests.support.keras.values import class_numbers

layers = keras.layers


def batch_normalization() -> Any:
    """BatchNormalization over features, channels and an outer axis, with and without scale."""
    return keras.Sequential(
        [
            keras.Input((6, 6, 3)),
            layers.BatchNormalization(momentum=0.8),
            layers.Conv2D(4, 3),
            layers.BatchNormalization(axis=1, scale=False),
            layers.Flatten(),
            layers.Dense(8),
            layers.BatchNormalization(center=False),
            layers.Dense(4, activation="softmax"),
        ]
    )


def layer_normalization() -> Any:
    """LayerNormalization over one and two axes, RMSNormalization, UnitNormalization."""
    return keras.Sequential(
        [
            keras.Input((5, 6)),
            layers.LayerNormalization(),
            layers.Dense(6, activation="gelu"),
            layers.LayerNormalization(axis=(1, 2)),
            layers.Dense(6),
            layers.RMSNormalization(),
            layers.Flatten(),
            layers.UnitNormalization(),
            layers.Dense(4, activation="softmax"),
        ]
    )


def group_normalization() -> Any:
    """GroupNormalization with two groups, one group, and one for each channel."""
    return keras.Sequential(
        [
            keras.Input((6, 6, 3)),
            layers.Conv2D(6, 3),
            layers.GroupNormalization(groups=2),
            layers.Activation("swish"),
            layers.Conv2D(4, 2),
            layers.GroupNormalization(groups=-1),
            layers.Conv2D(4, 2),
            layers.GroupNormalization(groups=1),
            layers.Flatten(),
            layers.Dense(4, activation="softmax"),
        ]
    )


def frozen() -> Any:
    """Fine-tuning: a frozen, normalized base inside the model, and a head that learns."""
    base = keras.Sequential(
        [keras.Input((6, 6, 2)), layers.Conv2D(6, 3, activation="relu"), layers.BatchNormalization()],
        name="base",
    )
    base.trainable = False
    inputs = keras.Input((6, 6, 2))
    x = layers.GlobalAveragePooling2D()(base(inputs, training=False))
    x = layers.Dense(8, activation="relu")(x)
    return keras.Model(inputs, layers.Dense(4, activation="softmax")(x))


def dropout() -> Any:
    """Dropout, SpatialDropout and GaussianNoise."""
    return keras.Sequential(
        [
            keras.Input((8, 8, 2)),
            layers.Conv2D(6, 3, activation="relu"),
            layers.SpatialDropout2D(0.25),
            layers.Flatten(),
            layers.GaussianNoise(0.1),
            layers.Dropout(0.5),
            layers.Dense(4, activation="softmax"),
        ]
    )


def noise() -> Any:
    """GaussianDropout, SpatialDropout1D and a second GaussianNoise on one path."""
    return keras.Sequential(
        [
            keras.Input((6, 4)),
            layers.GaussianNoise(0.2),
            layers.Conv1D(6, 2, activation="tanh"),
            layers.SpatialDropout1D(0.3),
            layers.Flatten(),
            layers.GaussianDropout(0.2),
            layers.Dense(4, activation="softmax"),
        ]
    )


def constraints() -> Any:
    """Weights held by MaxNorm, NonNeg and UnitNorm, orthogonal and L1 regularization."""
    return keras.Sequential(
        [
            keras.Input((8,)),
            layers.Dense(8, "tanh", kernel_constraint=keras.constraints.MaxNorm(1.0)),
            layers.Dense(
                8, "tanh", kernel_constraint="non_neg", bias_regularizer=keras.regularizers.L1(0.01)
            ),
            layers.Dense(
                8,
                "tanh",
                kernel_constraint=keras.constraints.UnitNorm(),
                kernel_regularizer=keras.regularizers.OrthogonalRegularizer(0.01),
            ),
            layers.Dense(4, activation="softmax"),
        ]
    )


_CLASSES = Recipe(
    "sparse_categorical_crossentropy", {"name": "momentum", "learning_rate": 0.05}, ["accuracy"]
)


def _case(build: Any) -> Case:
    return Case(build.__name__.replace("_", "-"), build, _CLASSES, y=(class_numbers,))


CASES = tuple(
    _case(build)
    for build in (
        batch_normalization,
        layer_normalization,
        group_normalization,
        frozen,
        dropout,
        noise,
        constraints,
    )
)
