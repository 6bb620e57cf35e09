"""Small models that together use all that `mutations` break."""

from __future__ import annotations

from typing import Any

import keras

layers = keras.layers
Model = Any


def several_outputs() -> Model:
    """Two outputs of one shape with a loss, a weight and a metric each, one frozen layer, regularization."""
    x = keras.Input((4,), name="x")
    hidden = layers.Dense(3, activation="relu", name="frozen", trainable=False)(x)
    hidden = layers.Dense(
        3, activation="tanh", name="hidden", kernel_regularizer="l2", activity_regularizer="l2"
    )(hidden)
    model = keras.Model(x, {"first": layers.Dense(2)(hidden), "second": layers.Dense(2)(hidden)})
    model.compile(
        "sgd",
        {"first": "mse", "second": "mae"},
        metrics={"first": "mae", "second": "mse"},
        loss_weights={"first": 0.3, "second": 2.0},
    )
    return model


def image() -> Model:
    """An image classifier with settings that are easily lost: momentum, epsilon, dilation, smoothing."""
    x = keras.Input((8, 8, 2))
    y = layers.Conv2D(4, 3, padding="same", dilation_rate=2)(x)
    y = layers.BatchNormalization(momentum=0.7, epsilon=0.01)(y)
    y = keras.ops.gelu(y, approximate=False)
    y = layers.UpSampling2D(2, interpolation="bilinear")(layers.AveragePooling2D(2, padding="same")(y))
    y = layers.LayerNormalization(epsilon=0.1)(layers.Flatten()(layers.MaxPooling2D(2)(y)))
    model = keras.Model(x, layers.Dense(3, activation="softmax")(y))
    model.compile("sgd", keras.losses.CategoricalCrossentropy(label_smoothing=0.2), metrics=["accuracy"])
    return model


def classes() -> Model:
    """Logits of classes that are named by numbers."""
    x = keras.Input((4,))
    y = layers.Discretization(bin_boundaries=[-0.5, 0.0, 0.5])(x)
    y = layers.Concatenate()([x, keras.ops.cast(y, "float32")])
    model = keras.Model(x, layers.Dense(3)(y))
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


def random() -> Model:
    """Draws of both kinds."""
    x = keras.Input((4,))
    y = layers.GaussianNoise(0.3)(layers.Dropout(0.3)(layers.Dense(6)(x)))
    model = keras.Model(x, layers.Dense(2)(y))
    model.compile("sgd", "mse")
    return model


def sequence() -> Model:
    """Masked words, read in both directions."""
    x = keras.Input((6,), dtype="int32")
    y = layers.Embedding(9, 4, mask_zero=True)(x)
    model = keras.Model(x, layers.Dense(2)(layers.Bidirectional(layers.LSTM(3, return_sequences=True))(y)))
    model.compile("sgd", "mse")
    return model


def optimized(optimizer: Any) -> Model:
    """A plain network, one of whose layers bounds its weights."""
    x = keras.Input((4,))
    bounded = layers.Dense(3, activation="tanh", kernel_constraint=keras.constraints.MaxNorm(0.5))(x)
    model = keras.Model(x, layers.Dense(2, name="last")(bounded))
    model.compile(optimizer, "mse")
    # Keras builds the optimizer on loading, and wants it as it was saved.
    model.optimizer.build(model.trainable_variables)
    return model
