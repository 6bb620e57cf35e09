"""Tables and plain dense networks."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from tests.support.keras.cases import Case
from tests.support.keras.recipes import Recipe
from tests.support.keras.values import class_numbers, events, levels, numbers, tokens

layers = keras.layers


def mlp() -> Any:
    """Regression on two targets, weight decay in the loss, tanh and gelu."""
    decay = keras.regularizers.L2(0.01)
    return keras.Sequential(
        [
            keras.Input((12,)),
            layers.Dense(16, activation="tanh", kernel_regularizer=decay),
            layers.Dense(16, activation="gelu"),
            layers.Dense(2),
        ]
    )


def activations() -> Any:
    """Activations from elu to mish, PReLU and LeakyReLU, one after the other."""
    x = inputs = keras.Input((8,))
    for name in ("elu", "selu", "softplus", "softsign", "silu", "mish", "hard_sigmoid", "exponential"):
        x = layers.Dense(8, activation=name)(x)
    x = layers.LeakyReLU(0.2)(layers.PReLU()(layers.Dense(8)(x)))
    return keras.Model(inputs, layers.Dense(3, activation="softmax")(x))


def highway() -> Any:
    """Gated layers that carry part of their input through (Srivastava et al. 2015)."""
    x = inputs = keras.Input((10,))
    for _ in range(3):
        admission = layers.Dense(
            10, activation="sigmoid", bias_initializer=keras.initializers.Constant(-1.0)
        )(x)
        change = layers.Dense(10, activation="relu")(x)
        x = layers.Add()(
            [layers.Multiply()([admission, change]), layers.Multiply()([1.0 - admission, x])],
        )
    return keras.Model(inputs, layers.Dense(3)(x))


def mixture() -> Any:
    """A softmax gate over four experts (Jacobs et al. 1991), through `keras.ops`."""
    inputs = keras.Input((8,))
    admission = layers.Dense(4, activation="softmax")(inputs)
    experts = [layers.Dense(6, activation="tanh")(inputs) for _ in range(4)]
    stacked = keras.ops.stack(experts, axis=1)
    mixed = keras.ops.sum(stacked * keras.ops.expand_dims(admission, -1), axis=1)
    return keras.Model(inputs, layers.Dense(2)(mixed))


def preprocessing() -> Any:
    """Rescaling, Normalization, Discretization and CategoryEncoding inside the model."""
    pixels = keras.Input((6,), name="pixels")
    age = keras.Input((3,), name="age")
    kind = keras.Input((1,), dtype="int32", name="kind")
    mean, variance = np.linspace(-0.5, 0.5, 3), np.linspace(0.5, 2.0, 3)
    edges = layers.Discretization(bin_boundaries=[-1.0, 0.0, 1.0])(age)
    parts = [
        layers.Rescaling(1.0 / 127.5, offset=-1.0)(pixels),
        layers.Normalization(mean=mean, variance=variance)(age),
        layers.Flatten()(layers.Embedding(4, 2)(edges)),
        layers.CategoryEncoding(5, output_mode="one_hot")(kind),
    ]
    x = layers.Dense(12, activation="relu")(layers.Concatenate()(parts))
    return keras.Model([pixels, age, kind], layers.Dense(3, activation="softmax")(x))


def wide_and_deep() -> Any:
    """Linear and deep parts over embedded categories and numbers (Cheng et al. 2016)."""
    category = keras.Input((3,), dtype="int32", name="category")
    amounts = keras.Input((4,), name="amounts")
    embedded = layers.Flatten()(layers.Embedding(9, 3)(category))
    deep = layers.Concatenate()([embedded, amounts])
    for width in (12, 8):
        deep = layers.Dense(width, activation="relu")(deep)
    outputs = layers.Dense(1, activation="sigmoid")(layers.Concatenate()([deep, amounts]))
    return keras.Model({"category": category, "amounts": amounts}, outputs)


CASES = (
    Case("mlp", mlp, Recipe("mse", metrics=["mae", "mse"])),
    Case(
        "activations",
        activations,
        Recipe("sparse_categorical_crossentropy", metrics=["accuracy"]),
        y=(class_numbers,),
    ),
    Case("highway", highway, Recipe("mse", {"name": "momentum", "learning_rate": 0.05}, ["mae"])),
    Case("mixture", mixture, Recipe("mse", {"name": "adam", "learning_rate": 0.01}, ["mae"])),
    Case(
        "preprocessing",
        preprocessing,
        Recipe("sparse_categorical_crossentropy", {"name": "adam", "learning_rate": 0.01}, ["accuracy"]),
        x=(levels, numbers, tokens(5)),
        y=(class_numbers,),
    ),
    Case(
        "wide-and-deep",
        wide_and_deep,
        Recipe("binary_crossentropy", {"name": "adagrad", "learning_rate": 0.05}, ["accuracy"]),
        x=(numbers, tokens(9)),
        y=(events,),
    ),
)
