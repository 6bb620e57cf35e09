"""The models of the conformance table: one per family of layers, tiny, with fixed weights and data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

SEED = 20
layers = keras.layers


Batch = tuple[NDArray[Any], NDArray[Any], NDArray[np.float32]]


@dataclass(frozen=True)
class Case:
    """A model, what its task file says under [model], and the same said to Keras.

    `classes` is the number of classes of integer labels, 2 for probabilities of one event, 0 for regression;
    `tokens` the size of the vocabulary where the inputs are token ids.
    """

    name: str
    build: Callable[[], Any]
    table: str
    loss: Callable[..., Any]
    metrics: tuple[Callable[..., Any], ...]
    optimizer: Callable[[], Any]
    batch_size: int = 8
    classes: int = 0
    tokens: int = 0

    def task_toml(self) -> str:
        """The smallest task file that the converter accepts for this case."""
        return f'name = "{self.name}"\n\n[model]\nbatch_size = {self.batch_size}\n{self.table}\n'

    def model(self) -> Any:
        """The model with the same first weights every time."""
        keras.utils.set_random_seed(SEED)
        model = self.build()
        # Zero biases and unit scales would hide mistakes in their gradients.
        generator = np.random.default_rng(SEED)
        for variable in model.trainable_variables:
            noise = generator.normal(0.0, 0.05, variable.shape).astype(np.float32)
            variable.assign(np.asarray(variable) + noise)
        return model

    def batches(self, count: int = 10) -> list[Batch]:
        """`count` batches x, y, sample_weight; the third is weighted unevenly, the fourth padded."""
        generator = np.random.default_rng(SEED + 1)
        model = self.build()
        return [
            self._batch(generator, model.inputs[0].shape[1:], model.outputs[0].shape[1:], i)
            for i in range(count)
        ]

    def _batch(self, generator: np.random.Generator, inputs: Any, outputs: Any, index: int) -> Batch:
        shape = (self.batch_size, *inputs)
        weight = np.ones(self.batch_size, np.float32)
        if self.tokens:
            x: NDArray[Any] = generator.integers(0, self.tokens, shape).astype(np.int32)
        else:
            x = generator.normal(0.0, 1.0, shape).astype(np.float32)
        if self.classes > 2:
            y: NDArray[Any] = generator.integers(0, self.classes, (self.batch_size, *outputs[:-1])).astype(
                np.int32
            )
        elif self.classes == 2:
            y = generator.integers(0, 2, (self.batch_size, *outputs)).astype(np.float32)
        else:
            y = generator.normal(0.0, 1.0, (self.batch_size, *outputs)).astype(np.float32)
        if index == 2:
            weight = generator.uniform(0.25, 2.0, self.batch_size).astype(np.float32)
        if index == 3:
            x[-3:], y[-3:], weight[-3:] = 0, 0, 0.0
        return x, y, weight


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
_losses, _metrics, _optimizers = keras.losses, keras.metrics, keras.optimizers
_ALL = (
    Case(
        "mlp",
        mlp,
        'loss = "mse"\nmetrics = ["mae", "mse"]\noptimizer = { name = "sgd", learning_rate = 0.05 }',
        _losses.MeanSquaredError,
        (_metrics.MeanAbsoluteError, _metrics.MeanSquaredError),
        lambda: _optimizers.SGD(0.05),
    ),
    Case(
        "cnn",
        cnn,
        _CLASSES + 'optimizer = { name = "adam", learning_rate = 0.002 }',
        _losses.SparseCategoricalCrossentropy,
        (_metrics.SparseCategoricalAccuracy,),
        lambda: _optimizers.Adam(0.002),
        classes=5,
    ),
    Case(
        "resnet",
        compiled_resnet,
        "",
        partial(_losses.SparseCategoricalCrossentropy, from_logits=True),
        (_metrics.SparseCategoricalAccuracy,),
        lambda: _optimizers.SGD(0.05, momentum=0.9, nesterov=True),
        classes=5,
    ),
    Case(
        "gpt",
        gpt,
        _CLASSES + 'optimizer = { name = "adamw", learning_rate = 0.002, weight_decay = 0.01 }',
        _losses.SparseCategoricalCrossentropy,
        (_metrics.SparseCategoricalAccuracy,),
        lambda: _optimizers.AdamW(0.002, weight_decay=0.01),
        batch_size=4,
        classes=20,
        tokens=20,
    ),
    Case(
        "lstm",
        lstm,
        'loss = "binary_crossentropy"\nmetrics = ["accuracy"]\n'
        'optimizer = { name = "adam", learning_rate = 0.01 }',
        _losses.BinaryCrossentropy,
        (_metrics.BinaryAccuracy,),
        lambda: _optimizers.Adam(0.01),
        classes=2,
    ),
    Case(
        "dropout",
        dropout,
        _CLASSES + 'optimizer = { name = "momentum", learning_rate = 0.05 }',
        _losses.SparseCategoricalCrossentropy,
        (_metrics.SparseCategoricalAccuracy,),
        lambda: _optimizers.SGD(0.05, momentum=0.9),
        classes=4,
    ),
)
CASES = {case.name: case for case in _ALL}
