"""Layers and losses of an owner: what padding would change is refused, the rest is exact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from converter.refusal import Refusal
from tests.integration.converter.conftest import Convert
from tests.integration.converter.padding import custom_layers
from tests.support.keras.native import relative_error

pytestmark = pytest.mark.tensorflow
layers = keras.layers
CUSTOM = Path(custom_layers.__file__)
ROWS, BATCH = 5, 8
WEIGHT = np.array([1.0] * ROWS + [0.0] * (BATCH - ROWS), np.float32)


@pytest.fixture(autouse=True)
def seed() -> None:
    keras.utils.set_random_seed(3)


def around(layer: Any) -> Any:
    x = keras.Input((4,))
    return keras.Model(x, layers.Dense(1)(layer(layers.Dense(3)(x))))


def autoencoder() -> Any:
    """A variational autoencoder whose divergence is added as a loss."""
    x = keras.Input((4,))
    hidden = layers.Dense(5, activation="tanh")(x)
    drawn = custom_layers.Sampling()([layers.Dense(2)(hidden), layers.Dense(2)(hidden)])
    return keras.Model(x, layers.Dense(4)(drawn))


def numbers(*shape: int) -> Any:
    return np.random.default_rng(1).normal(0.0, 1.0, (BATCH, *shape)).astype(np.float32)


def train(bundle: Any, **arrays: Any) -> Any:
    size = bundle.manifest["parameters"]["trainable"]
    vectors = {"trainable": bundle.weights[:size], "state": bundle.weights[size:]}
    return bundle.run("train", vectors | {"sample_weight": WEIGHT} | arrays)


@pytest.mark.parametrize(
    "layer", [custom_layers.Shuffling(), custom_layers.BySize(), custom_layers.LargeOnly()]
)
def test_a_layer_that_padding_changes_is_refused(convert: Convert, layer: Any) -> None:
    with pytest.raises(Refusal, match=r"mixes the examples of a batch.*keras\.ops\.mean"):
        convert(around(layer), BATCH, custom=CUSTOM)


def test_ops_between_layers_are_tried_as_well(convert: Convert) -> None:
    x = keras.Input((4,))
    mixed = layers.Dense(3)(x) + keras.ops.max(x, axis=0, keepdims=True)[:, :3]
    with pytest.raises(Refusal, match="mixes the examples"):
        convert(keras.Model(x, mixed), BATCH)


def test_a_mean_over_the_batch_counts_rows_that_exist(convert: Convert) -> None:
    model = around(custom_layers.Centred())
    bundle = convert(model, BATCH, custom=CUSTOM)
    x, y = numbers(4), numbers(1)
    done = train(bundle, x_0=x, y_0=y)
    expected = tf.reduce_mean(tf.square(model(x[:ROWS]) - y[:ROWS]))
    assert relative_error(done["loss"], expected) <= 1e-5


def test_a_mean_over_the_batch_is_known_by_an_axis_counted_from_the_end_too(convert: Convert) -> None:
    x = keras.Input((4,))
    hidden = layers.Dense(3)(x)
    model = keras.Model(x, layers.Dense(1)(hidden - keras.ops.mean(hidden, axis=-2, keepdims=True)))
    values, y = numbers(4), numbers(1)
    done = train(convert(model, BATCH), x_0=values, y_0=y)
    expected = tf.reduce_mean(tf.square(model(values[:ROWS]) - y[:ROWS]))
    assert relative_error(done["loss"], expected) <= 1e-5


def test_a_loss_added_by_a_layer_counts_rows_that_exist(convert: Convert) -> None:
    model = autoencoder()
    bundle = convert(model, BATCH, custom=CUSTOM)
    x = numbers(4)
    # Draws of 1 - 1e-7 and 0.25 make the normal number 0 whatever the first is.
    draws = {r["name"]: np.full(r["shape"], 0.25, np.float32) for r in bundle.manifest["random"]}
    done = train(bundle, x_0=x, y_0=x, **draws)
    hidden = model.layers[1](x[:ROWS])
    mean, log_variance = model.layers[2](hidden), model.layers[3](hidden)
    output = model.layers[-1](mean)
    divergence = tf.reduce_sum(1.0 + log_variance - tf.square(mean) - tf.exp(log_variance), -1)
    expected = tf.reduce_mean(tf.square(output - x[:ROWS])) - 0.05 * tf.reduce_mean(divergence)
    assert relative_error(done["loss"], expected) <= 1e-5


def test_an_own_loss_is_traced_unless_it_compares_rows(convert: Convert) -> None:
    model = keras.Sequential([keras.Input((4,)), layers.Dense(2)])
    model.compile(loss=custom_layers.cubic)
    bundle = convert(model, BATCH, custom=CUSTOM, loss=None)
    x, y = numbers(4), numbers(2)
    expected = tf.reduce_mean(tf.abs(model(x[:ROWS]) - y[:ROWS]) ** 3)
    assert relative_error(train(bundle, x_0=x, y_0=y)["loss"], expected) <= 1e-5


def test_an_own_loss_that_compares_rows_is_refused(convert: Convert) -> None:
    model = keras.Sequential([keras.Input((4,)), layers.Dense(2)])
    model.compile(loss=custom_layers.spread)
    with pytest.raises(Refusal, match="mixes the examples"):
        convert(model, BATCH, custom=CUSTOM, loss=None)


def test_an_own_metric_that_compares_rows_is_refused(convert: Convert) -> None:
    model = keras.Sequential([keras.Input((4,)), layers.Dense(2)])
    model.compile(loss="mse", metrics=[custom_layers.large_error])
    with pytest.raises(Refusal, match="metric mixes the examples"):
        convert(model, BATCH, custom=CUSTOM, loss=None)


def test_outputs_of_one_number_need_no_column(convert: Convert) -> None:
    x = keras.Input((4,))
    model = keras.Model(x, layers.Reshape(())(layers.Dense(1)(x)))
    bundle = convert(model, BATCH, metrics=["mae"])
    x_0, y = numbers(4), numbers()
    done = train(bundle, x_0=x_0, y_0=y)
    error = model(x_0)[:ROWS] - y[:ROWS]
    assert relative_error(done["loss"], tf.reduce_mean(tf.square(error))) <= 1e-5
    assert relative_error(done["metrics"][0], [tf.reduce_sum(tf.abs(error)), ROWS]) <= 1e-5


def test_the_accuracy_of_outputs_of_one_number_needs_a_name(convert: Convert) -> None:
    x = keras.Input((4,))
    model = keras.Model(x, layers.Reshape(())(layers.Dense(1, activation="sigmoid")(x)))
    with pytest.raises(Refusal, match=r"accuracy does not say .*name binary_accuracy"):
        convert(model, BATCH, loss="binary_crossentropy", metrics=["accuracy"])
