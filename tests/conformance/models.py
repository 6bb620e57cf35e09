"""The models of the conformance table: one per family of layers, tiny, with fixed weights and data."""

from __future__ import annotations

from typing import Any

import keras

from tests.conformance.cases import Case, class_numbers, events, tokens

layers = keras.layers


def mlp() -> Any:
    """Regression on two targets with weight decay in the loss."""
    decay = keras.regularizers.L2(0.01)
    return keras.Sequential(
        [
            keras.Input((12,)),
            layers.Dense(16, activation="tanh", kernel_regularizer=decay),
            layers.Dense(16, activation="gelu"),
            layers.Dense(2),
        ]
    )


def cnn() -> Any:
    """Convolution, pooling, dense: the digits task's relatives."""
    return keras.Sequential(
        [
            keras.Input((12, 12, 3)),
            layers.Conv2D(8, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(12, 3, strides=2, activation="relu"),
            layers.Flatten(),
            layers.Dense(5, activation="softmax"),
        ]
    )


def resnet() -> Any:
    """Pre-activation residual blocks with BatchNormalization (He et al. 2016b)."""
    x = inputs = keras.Input((8, 8, 3))
    x = layers.Conv2D(8, 3, padding="same", use_bias=False)(x)
    for filters, strides in ((8, 1), (12, 2)):
        y = layers.ReLU()(layers.BatchNormalization(momentum=0.9)(x))
        short = layers.Conv2D(filters, 1, strides=strides, use_bias=False)(y) if strides > 1 else x
        y = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)(y)
        y = layers.ReLU()(layers.BatchNormalization(momentum=0.9)(y))
        y = layers.Conv2D(filters, 3, padding="same", use_bias=False)(y)
        x = layers.Add()([short, y])
    x = layers.ReLU()(layers.BatchNormalization(momentum=0.9)(x))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(5)(x))


def gpt() -> Any:
    """A causal transformer: next-token classes at every position (Radford et al. 2019, pre-normalization)."""
    length, width, vocabulary = 10, 16, 20
    tokens = keras.Input((length,), dtype="int32")
    x = layers.Embedding(vocabulary, width)(tokens)
    places = layers.Embedding(length, width)(keras.ops.arange(length))
    x = x + places
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        y = layers.MultiHeadAttention(2, width // 2)(y, y, use_causal_mask=True)
        x = x + y
        y = layers.LayerNormalization()(x)
        y = layers.Dense(4 * width, activation="gelu")(y)
        x = x + layers.Dense(width)(y)
    x = layers.LayerNormalization()(x)
    return keras.Model(tokens, layers.Dense(vocabulary, activation="softmax")(x))


def lstm() -> Any:
    """Two recurrent layers; the converter unrolls them."""
    return keras.Sequential(
        [
            keras.Input((6, 5)),
            layers.LSTM(8, return_sequences=True),
            layers.LSTM(8),
            layers.Dense(1, activation="sigmoid"),
        ]
    )


def dropout() -> Any:
    """Dropout, dropout of whole channels and additive noise."""
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


def compiled_resnet() -> Any:
    """The ResNet with logits; here the compiled model says what the task file is silent about."""
    model = resnet()
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        optimizer=keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True),
    )
    return model


_CLASSES = 'loss = "sparse_categorical_crossentropy"\nmetrics = ["accuracy"]\n'
_CLASSIFY: dict[str, Any] = {"loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]}
_optimizers = keras.optimizers
_ALL = (
    Case(
        "mlp",
        mlp,
        'loss = "mse"\nmetrics = ["mae", "mse"]\noptimizer = { name = "sgd", learning_rate = 0.05 }',
        lambda: {"loss": "mse", "metrics": ["mae", "mse"], "optimizer": _optimizers.SGD(0.05)},
    ),
    Case(
        "cnn",
        cnn,
        _CLASSES + 'optimizer = { name = "adam", learning_rate = 0.002 }',
        lambda: _CLASSIFY | {"optimizer": _optimizers.Adam(0.002)},
        y=(class_numbers,),
    ),
    Case("resnet", compiled_resnet, "", y=(class_numbers,)),
    Case(
        "gpt",
        gpt,
        _CLASSES + 'optimizer = { name = "adamw", learning_rate = 0.002, weight_decay = 0.01 }',
        lambda: _CLASSIFY | {"optimizer": _optimizers.AdamW(0.002, weight_decay=0.01)},
        x=(tokens(20),),
        y=(class_numbers,),
        batch_size=4,
    ),
    Case(
        "lstm",
        lstm,
        'loss = "binary_crossentropy"\nmetrics = ["accuracy"]\n'
        'optimizer = { name = "adam", learning_rate = 0.01 }',
        lambda: {
            "loss": "binary_crossentropy",
            "metrics": ["accuracy"],
            "optimizer": _optimizers.Adam(0.01),
        },
        y=(events,),
    ),
    Case(
        "dropout",
        dropout,
        _CLASSES + 'optimizer = { name = "momentum", learning_rate = 0.05 }',
        lambda: _CLASSIFY | {"optimizer": _optimizers.SGD(0.05, momentum=0.9)},
        y=(class_numbers,),
    ),
)
CASES = {case.name: case for case in _ALL}
