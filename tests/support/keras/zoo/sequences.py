"""Convolutions and pooling over time and text."""

from __future__ import annotations

from typing import Any

import keras

from tests.support.keras.cases import Case
from tests.support.keras.recipes import Recipe
from tests.support.keras.values import class_numbers, events, sentences

layers = keras.layers


def wavenet() -> Any:
    """Dilated causal convolutions, gated, with residual and skip paths (van den Oord et al. 2016)."""
    inputs = keras.Input((8, 2))
    x = layers.Conv1D(6, 1)(inputs)
    skips = []
    for dilation in (1, 2, 4):
        filtered = layers.Conv1D(6, 2, dilation_rate=dilation, padding="causal", activation="tanh")(x)
        admission = layers.Conv1D(6, 2, dilation_rate=dilation, padding="causal", activation="sigmoid")(x)
        y = layers.Multiply()([filtered, admission])
        skips.append(layers.Conv1D(6, 1)(y))
        x = layers.Add()([x, layers.Conv1D(6, 1)(y)])
    x = layers.ReLU()(layers.Add()(skips))
    return keras.Model(inputs, layers.Conv1D(2, 1)(x))


def residual_1d() -> Any:
    """A residual network over time with BatchNormalization (Wang et al. 2017)."""
    x = inputs = keras.Input((12, 2))
    for filters in (4, 6):
        y = layers.Conv1D(filters, 5, padding="same")(x)
        y = layers.ReLU()(layers.BatchNormalization(momentum=0.9)(y))
        y = layers.BatchNormalization(momentum=0.9)(layers.Conv1D(filters, 3, padding="same")(y))
        x = layers.ReLU()(layers.Add()([layers.Conv1D(filters, 1)(x), y]))
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(3, activation="softmax")(x))


def text_cnn() -> Any:
    """Filters of three widths over embedded words, each with its maximum (Kim 2014)."""
    inputs = keras.Input((8,), dtype="int32")
    x = layers.Embedding(14, 6)(inputs)
    found = [layers.GlobalMaxPooling1D()(layers.Conv1D(4, n, activation="relu")(x)) for n in (2, 3, 4)]
    x = layers.Dropout(0.3)(layers.Concatenate()(found))
    return keras.Model(inputs, layers.Dense(1, activation="sigmoid")(x))


def bag_of_words() -> Any:
    """The mean of the embedded words that are not masked."""
    inputs = keras.Input((6,), dtype="int32")
    x = layers.Embedding(14, 6, mask_zero=True)(inputs)
    x = layers.GlobalAveragePooling1D()(x)
    return keras.Model(inputs, layers.Dense(3, activation="softmax")(x))


_CLASSES = Recipe("sparse_categorical_crossentropy", {"name": "adam", "learning_rate": 0.01}, ["accuracy"])
_EVENTS = Recipe("binary_crossentropy", {"name": "rmsprop", "learning_rate": 0.01}, ["accuracy"])

CASES = (
    Case("wavenet", wavenet, Recipe("mse", {"name": "adam", "learning_rate": 0.005}, ["mae"]), batch_size=4),
    Case(
        "residual-1d",
        residual_1d,
        Recipe("sparse_categorical_crossentropy", {"name": "momentum", "learning_rate": 0.02}, ["accuracy"]),
        y=(class_numbers,),
        batch_size=6,
    ),
    Case("text-cnn", text_cnn, _EVENTS, x=(sentences(14),), y=(events,)),
    Case("bag-of-words", bag_of_words, _CLASSES, x=(sentences(14),), y=(class_numbers,)),
)
