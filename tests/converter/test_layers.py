"""Layers beyond the conformance table: their traced loss and gradient equal Keras'."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.conformance.native import relative_error
from tests.converter.conftest import Convert

pytestmark = pytest.mark.tensorflow
layers = keras.layers
IMAGE, SEQUENCE = (8, 8, 3), (6, 4)

MODELS: dict[str, tuple[tuple[int, ...], list[Any]]] = {
    "one filter": (IMAGE, [layers.Conv2D(1, 3), layers.Flatten()]),
    "depthwise": (IMAGE, [layers.DepthwiseConv2D(3), layers.Flatten()]),
    "separable": (IMAGE, [layers.SeparableConv2D(4, 3), layers.Flatten()]),
    "transposed": (IMAGE, [layers.Conv2DTranspose(4, 3, strides=2), layers.Flatten()]),
    "dilated": (IMAGE, [layers.Conv2D(4, 3, dilation_rate=2), layers.Flatten()]),
    "causal": (SEQUENCE, [layers.Conv1D(4, 3, padding="causal"), layers.Flatten()]),
    "average pooling": (IMAGE, [layers.Conv2D(4, 3), layers.AveragePooling2D(2), layers.Flatten()]),
    "global pooling": (IMAGE, [layers.Conv2D(4, 3), layers.GlobalMaxPooling2D()]),
    "group normalization": (IMAGE, [layers.Conv2D(4, 3), layers.GroupNormalization(2), layers.Flatten()]),
    "gru": (SEQUENCE, [layers.GRU(3)]),
    "simple rnn": (SEQUENCE, [layers.SimpleRNN(3)]),
    "bidirectional": (SEQUENCE, [layers.Bidirectional(layers.LSTM(3))]),
    "convolutional lstm": ((3, 6, 6, 2), [layers.ConvLSTM2D(2, 3), layers.Flatten()]),
    "normalized time steps": (
        (3, 6, 6, 2),
        [layers.TimeDistributed(layers.BatchNormalization()), layers.Flatten()],
    ),
    "activations": (
        SEQUENCE,
        [layers.Dense(4, name) for name in ("swish", "elu", "selu", "softplus", "softsign", "relu6", "mish")]
        + [layers.PReLU(), layers.LeakyReLU(), layers.Flatten()],
    ),
    "upsampling": (IMAGE, [layers.Conv2D(2, 3), layers.UpSampling2D(), layers.Flatten()]),
    "padding": (
        IMAGE,
        [layers.Conv2D(2, 3), layers.ZeroPadding2D(1), layers.Cropping2D(2), layers.Flatten()],
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_loss_and_gradient_equal_keras(convert: Convert, name: str) -> None:
    shape, parts = MODELS[name]
    model = keras.Sequential([keras.Input(shape), *parts, layers.Dense(2)])
    bundle = convert(model)
    generator = np.random.default_rng(6)
    x = generator.normal(0.0, 1.0, (4, *shape)).astype(np.float32)
    y = generator.normal(0.0, 1.0, (4, 2)).astype(np.float32)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    expected = [
        tf.convert_to_tensor(g).numpy().ravel() for g in tape.gradient(loss, model.trainable_variables)
    ]
    size = bundle.manifest["parameters"]["trainable"]
    inputs = {"trainable": bundle.weights[:size], "state": bundle.weights[size:], "x_0": x, "y_0": y}
    out = bundle.run("train", inputs | {"sample_weight": np.ones(4, np.float32)})
    assert relative_error(out["loss"], loss) <= 1e-5
    assert relative_error(out["gradient"], np.concatenate(expected)) <= 1e-5


def test_recurrent_dropout_draws_in_training_only(convert: Convert) -> None:
    model = keras.Sequential([keras.Input((3, 2)), layers.LSTM(4, dropout=0.2, recurrent_dropout=0.2)])
    bundle = convert(model)
    assert len(bundle.manifest["random"]) >= 2
    names = [spec["name"] for spec in bundle.manifest["signatures"]["evaluate"]["inputs"]]
    assert names == ["trainable", "x_0", "y_0", "sample_weight"]
