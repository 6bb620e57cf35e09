"""Writes small models of Keras 2 to the folder given, as .keras, .h5 and SavedModel, with predictions.

Run as a program of its own: tf_keras and Keras 3 do not mix in one process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras

layers = tf_keras.layers


def image() -> Any:
    model = tf_keras.Sequential(
        [
            layers.Conv2D(4, 3, padding="same", activation="relu", input_shape=(8, 8, 1)),
            layers.BatchNormalization(),
            layers.DepthwiseConv2D(3),
            layers.SeparableConv2D(3, 3, padding="same"),
            layers.LeakyReLU(0.1),
            layers.Conv2DTranspose(2, 2),
            layers.ThresholdedReLU(0.01),
            layers.MaxPooling2D(),
            layers.Dropout(0.2),
            layers.Flatten(),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile(tf_keras.optimizers.Adam(0.003), "sparse_categorical_crossentropy", ["accuracy"])
    return model


def branches() -> Any:
    left, right = tf_keras.Input((4,), name="left"), tf_keras.Input((4,), name="right")
    shared = layers.Dense(5, activation="tanh", kernel_regularizer="l2", name="shared")
    x = layers.Concatenate()([shared(left), shared(right)])
    x = layers.LayerNormalization()(x)
    # Two layers of one shape: an order mixed up on the way would go unseen by shapes alone.
    x = layers.Add()([layers.Dense(10)(x), layers.Dense(10)(x)])
    y = layers.Dense(1, name="y")(x)
    z = layers.Dense(3, activation="softmax", name="z")(x)
    model = tf_keras.Model([left, right], [y, z])
    model.compile(
        tf_keras.optimizers.RMSprop(0.01, rho=0.8),
        {"y": tf_keras.losses.Huber(0.7), "z": "categorical_crossentropy"},
        {"y": ["mae"], "z": ["accuracy"]},
        loss_weights={"y": 1.0, "z": 0.5},
    )
    return model


def sequence() -> Any:
    words = tf_keras.Input((6,), dtype="int32")
    x = layers.Embedding(11, 4, mask_zero=True)(words)
    x = layers.LSTM(3, return_sequences=True, recurrent_activation="hard_sigmoid")(x)
    x = layers.Bidirectional(layers.GRU(4))(x)
    x = layers.RepeatVector(3)(x)
    x, h, c = layers.LSTM(4, return_sequences=True, return_state=True)(x)
    x = layers.LSTM(4, return_sequences=True)(x, initial_state=[h, c])
    x = layers.GRU(4, return_sequences=True, reset_after=False, recurrent_activation="hard_sigmoid")(x)
    x = layers.TimeDistributed(layers.Dense(3, activation="hard_sigmoid"))(x)
    model = tf_keras.Model(words, layers.Dense(1, activation="sigmoid")(layers.SimpleRNN(3)(x)))
    model.compile("sgd", "binary_crossentropy", [tf_keras.metrics.BinaryAccuracy()])
    return model


def attention() -> Any:
    x = tf_keras.Input((5, 8))
    y = layers.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True)
    y = layers.LayerNormalization()(layers.Add()([x, y]))
    model = tf_keras.Model(x, layers.Dense(2)(layers.GlobalAveragePooling1D()(y)))
    schedule = tf_keras.optimizers.schedules.ExponentialDecay(0.01, 10, 0.9)
    model.compile(tf_keras.optimizers.AdamW(schedule, weight_decay=0.02), "mse")
    return model


def nested() -> Any:
    base = tf_keras.Sequential(
        [layers.Dense(4, activation="relu", input_shape=(3,)), layers.BatchNormalization()], name="base"
    )
    base.layers[0].trainable = False
    x = tf_keras.Input((3,))
    inner = tf_keras.Model(x, layers.Dense(4)(x), name="inner")
    y = tf_keras.Input((3,))
    model = tf_keras.Model(y, layers.Dense(2)(layers.Multiply()([base(y), inner(y)])))
    model.compile(tf_keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    return model


def prepared() -> Any:
    normal = layers.Normalization()
    normal.adapt(np.random.default_rng(3).random((20, 3)))
    model = tf_keras.Sequential([tf_keras.Input((3,)), layers.Rescaling(0.5), normal, layers.Dense(1)])
    model.compile(tf_keras.optimizers.Adagrad(0.02), "mae")
    return model


MODELS: tuple[Callable[[], Any], ...] = (image, branches, sequence, attention, nested, prepared)


def main(folder: Path) -> None:
    for build in MODELS:
        tf_keras.utils.set_random_seed(3)
        model, name = build(), build.__name__
        # Weights as after some training: fresh zeros and ones would hide a mixed-up order.
        for variable in model.weights:
            if not variable.name.startswith(("mean", "variance", "count")):
                values = variable + 0.3 * tf.random.normal(variable.shape)
                variable.assign(tf.abs(values) if "variance" in variable.name else values)
        numbers = np.random.default_rng(5)
        x = [
            numbers.integers(1, 9, (4, *t.shape[1:])).astype(t.dtype.as_numpy_dtype)
            / (1 if t.dtype == tf.int32 else 8)
            for t in model.inputs
        ]
        y = model(x if len(x) > 1 else x[0], training=False)
        y = y if isinstance(y, list) else [y]
        arrays = {f"x{i}": value for i, value in enumerate(x)} | {f"y{i}": value for i, value in enumerate(y)}
        np.savez(folder / f"{name}.npz", **arrays)
        model.save(folder / f"{name}.keras")
        model.save(folder / f"{name}.h5")
        if build not in (sequence, attention):  # slow to save, and nothing new
            model.save(folder / name, save_format="tf")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
