"""A padded batch gives the short batch's step, whatever stands in the padding."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from converter.padding.batch_statistics import ExactPadding
from converter.padding.real_rows import Rows
from converter.refusal import Refusal
from tests.integration.converter.conftest import Convert
from tests.support.keras.native import metric_values, relative_error

pytestmark = pytest.mark.tensorflow
BATCH, ROWS = 8, 5
layers = keras.layers


def model() -> Any:
    keras.utils.set_random_seed(1)
    return keras.Sequential(
        [
            keras.Input((6, 6, 2)),
            layers.Conv2D(4, 3),
            layers.BatchNormalization(momentum=0.5),
            layers.ReLU(),
            layers.Flatten(),
            layers.Dense(6),
            layers.BatchNormalization(momentum=0.5, center=False),
            layers.Dense(3),
        ]
    )


@pytest.mark.parametrize("padding", [0.0, 1000.0])
def test_a_padded_batch_equals_keras_on_the_short_batch(convert: Convert, padding: float) -> None:
    keras_model = model()
    bundle = convert(keras_model, BATCH, metrics=("mae",))
    generator = np.random.default_rng(2)
    x = generator.normal(0.0, 1.0, (BATCH, 6, 6, 2)).astype(np.float32)
    y = generator.normal(0.0, 1.0, (BATCH, 3)).astype(np.float32)
    weight = np.array([1.0] * ROWS + [0.0] * (BATCH - ROWS), np.float32)
    x[ROWS:], y[ROWS:] = padding, -padding
    size = bundle.manifest["parameters"]["trainable"]
    vectors = {"trainable": bundle.weights[:size], "state": bundle.weights[size:]}
    padded = bundle.run("train", vectors | {"x_0": x, "y_0": y, "sample_weight": weight})
    evaluated = bundle.run("evaluate", vectors | {"x_0": x, "y_0": y, "sample_weight": weight})

    output = keras_model(x[:ROWS], training=False)
    expected = tf.reduce_mean(tf.square(output - y[:ROWS]))
    assert relative_error(evaluated["loss"], expected) <= 1e-5
    with tf.GradientTape() as tape:
        output = keras_model(x[:ROWS], training=True)
        loss = tf.reduce_mean(tf.square(output - y[:ROWS]))
    gradient = np.concatenate([g.numpy().ravel() for g in tape.gradient(loss, keras_model.trainable_weights)])
    state = np.concatenate([np.asarray(v).ravel() for v in keras_model.non_trainable_variables])
    assert relative_error(padded["loss"], loss) <= 1e-5
    mae = metric_values(bundle.manifest, padded)["mae"]
    assert relative_error(mae, tf.reduce_mean(tf.abs(output - y[:ROWS]))) <= 1e-5
    assert relative_error(padded["gradient"], gradient) <= 1e-4
    assert relative_error(padded["new_state"], state) <= 1e-6
    assert relative_error(state, vectors["state"]) > 0.01


def test_rows_folded_into_the_batch_keep_their_weight() -> None:
    layer = layers.BatchNormalization()
    weight = np.array([1.0, 0.0, 1.0], np.float32)
    x = np.random.default_rng(4).normal(0.0, 1.0, (3, 2, 5)).astype(np.float32)
    mean, variance = ExactPadding(Rows.of(tf.constant(weight))).moments(layer, tf.reshape(x, (6, 5)), None)
    kept = x[[0, 2]].reshape(4, 5)
    np.testing.assert_allclose(mean, kept.mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(variance, kept.var(0), rtol=1e-5, atol=1e-6)


def test_batch_statistics_over_other_rows_are_refused() -> None:
    moments = ExactPadding(Rows.of(tf.ones(4))).moments
    with pytest.raises(Refusal, match="padding"):
        moments(layers.BatchNormalization(), tf.ones((6, 3)), None)


def test_uneven_weights_make_a_weighted_mean(convert: Convert) -> None:
    bundle = convert(keras.Sequential([keras.Input((1,)), layers.Dense(1)]), 2)
    weights = np.array([0.25, 1.75], np.float32)
    x, y = np.array([[0.0], [0.0]], np.float32), np.array([[1.0], [3.0]], np.float32)
    inputs = {"trainable": np.zeros(2, np.float32), "x_0": x, "y_0": y, "sample_weight": weights}
    assert bundle.run("train", inputs)["loss"] == pytest.approx((0.25 * 1 + 1.75 * 9) / 2.0)
