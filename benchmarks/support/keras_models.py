"""The Keras models that benchmarks train, small enough for a GPU emulated on a processor.

digits   the gallery's task: 8x8 pixels, two convolutions
mlp      28x28 pixels, two hidden layers
cnn      28x28 pixels, two convolutions with pooling: a first real image classifier
resnet   16x16 pixels in colour, pre-activation residual blocks with BatchNormalization (He et al. 2016b)
gpt      32 tokens, two blocks of causal self-attention (Radford et al. 2019)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

layers = keras.layers


def digits() -> Any:
    stack = [layers.Conv2D(16, 3, padding="same", activation="relu")]
    stack += [layers.Conv2D(24, 3, padding="same", activation="relu"), layers.MaxPooling2D()]
    stack += [layers.Flatten(), layers.Dropout(0.25), layers.Dense(10, activation="softmax")]
    return keras.Sequential([keras.Input((8, 8, 1)), *stack])


def mlp() -> Any:
    stack = [layers.Flatten(), layers.Dense(256, activation="relu"), layers.Dense(128, activation="relu")]
    return keras.Sequential([keras.Input((28, 28, 1)), *stack, layers.Dense(10, activation="softmax")])


def cnn() -> Any:
    stack = [layers.Conv2D(16, 3, padding="same", activation="relu"), layers.MaxPooling2D()]
    stack += [layers.Conv2D(32, 3, padding="same", activation="relu"), layers.MaxPooling2D()]
    stack += [layers.Flatten(), layers.Dense(64, activation="relu")]
    return keras.Sequential([keras.Input((28, 28, 1)), *stack, layers.Dense(10, activation="softmax")])


def resnet() -> Any:
    x = inputs = keras.Input((16, 16, 3))
    x = layers.Conv2D(16, 3, padding="same", use_bias=False)(x)
    for filters, strides in ((16, 1), (32, 2)):
        y = layers.ReLU()(layers.BatchNormalization()(x))
        short = layers.Conv2D(filters, 1, strides=strides, use_bias=False)(y) if strides > 1 else x
        y = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)(y)
        y = layers.ReLU()(layers.BatchNormalization()(y))
        y = layers.Conv2D(filters, 3, padding="same", use_bias=False)(y)
        x = layers.Add()([short, y])
    x = layers.GlobalAveragePooling2D()(layers.ReLU()(layers.BatchNormalization()(x)))
    return keras.Model(inputs, layers.Dense(10, activation="softmax")(x))


def gpt() -> Any:
    length, width, vocabulary = 32, 32, 64
    tokens = keras.Input((length,), dtype="int32")
    positions = layers.Embedding(length, width)(keras.ops.arange(length))
    x = layers.Embedding(vocabulary, width)(tokens) + positions
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(4, width // 4)(y, y, use_causal_mask=True)
        y = layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dense(width)(y)
    x = layers.LayerNormalization()(x)
    return keras.Model(tokens, layers.Dense(vocabulary, activation="softmax")(x))


MODELS: dict[str, Callable[[], Any]] = {
    "digits": digits,
    "mlp": mlp,
    "cnn": cnn,
    "resnet": resnet,
    "gpt": gpt,
}
BATCH_SIZES = {"resnet": 16, "gpt": 8}
