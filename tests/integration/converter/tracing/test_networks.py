"""Parts of networks in wide use: normalized tensors read twice, adapted statistics, integers as state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras.src.applications import convnext, inception_resnet_v2

from converter.refusal import Refusal
from tests.integration.converter.conftest import Convert, OwnFile
from tests.integration.converter.tracing.layer_cases import Case
from tests.integration.converter.tracing.traced_model import traced_errors
from tests.support.keras.native import relative_error

pytestmark = pytest.mark.tensorflow
layers = keras.layers
BATCH, SHAPE = 4, (6, 6, 3)
TOLERANCE = 1e-5


def images() -> Any:
    return np.random.default_rng(2).uniform(0.0, 8.0, (BATCH, *SHAPE)).astype(np.float32)


def headed(inputs: Any, x: Any) -> Any:
    return keras.Model(inputs, layers.Dense(2)(layers.GlobalAveragePooling2D()(x)))


def normalized_twice_read() -> Any:
    """Inverted residuals read the output of a BatchNormalization twice (Sandler et al. 2018)."""
    inputs = keras.Input(SHAPE)
    x = layers.BatchNormalization(momentum=0.5)(layers.Conv2D(4, 3, padding="same")(inputs))
    y = layers.Conv2D(4, 3, padding="same", activation="relu")(x)
    return headed(inputs, layers.Add()([x, layers.BatchNormalization()(y)]))


def adapted() -> Any:
    """Normalization counts what it has seen in an int64, and keeps its mean and variance as state."""
    normalization = layers.Normalization()
    normalization.adapt(np.random.default_rng(3).uniform(0.0, 9.0, (20, *SHAPE)).astype(np.float32))
    inputs = keras.Input(SHAPE)
    return headed(inputs, layers.Conv2D(3, 3)(normalization(inputs)))


def scaled() -> Any:
    """Layers that Keras' applications define themselves."""
    inputs = keras.Input(SHAPE)
    x = layers.Conv2D(4, 3, padding="same")(inputs)
    y = convnext.LayerScale(0.1, 4)(layers.DepthwiseConv2D(3, padding="same")(x))
    x = layers.Add()([x, convnext.StochasticDepth(0.0)(y)])
    y = layers.Conv2D(4, 1)(x)
    return headed(inputs, inception_resnet_v2.CustomScaleLayer(0.2)([x, y]))


@pytest.mark.parametrize("build", [normalized_twice_read, adapted, scaled])
def test_a_step_is_that_of_keras(convert: Convert, build: Callable[[], Any]) -> None:
    keras.utils.set_random_seed(6)
    model = build()
    bundle = convert(model, BATCH)
    size = bundle.manifest["parameters"]["trainable"]
    assert sum(layer["parameters"] for layer in bundle.manifest["layers"]) == len(bundle.weights)
    x, y = images(), np.random.default_rng(4).normal(0.0, 1.0, (BATCH, 2)).astype(np.float32)
    fed = {"trainable": bundle.weights[:size], "state": bundle.weights[size:], "x_0": x}
    predicted = bundle.run("predict", fed)["output_0"]
    assert relative_error(predicted, model.predict_on_batch(x)) <= TOLERANCE
    # A rate of 0 keeps everything, whatever is drawn.
    fed |= {draw["name"]: np.full(draw["shape"], 0.5, np.float32) for draw in bundle.manifest["random"]}
    done = bundle.run("train", fed | {"y_0": y, "sample_weight": np.ones(BATCH, np.float32)})
    model.compile(keras.optimizers.SGD(1.0), "mse")
    before = [np.asarray(v) for v in model.trainable_variables]
    assert relative_error(done["loss"], model.train_on_batch(x, y)) <= TOLERANCE
    moved = [np.ravel(old - new) for old, new in zip(before, model.trainable_variables, strict=True)]
    assert relative_error(done["gradient"], np.concatenate(moved)) <= TOLERANCE
    state = [np.ravel(v) for v in model.non_trainable_variables if v.dtype == "float32"]
    if state:
        assert relative_error(done["new_state"], np.concatenate(state)) <= TOLERANCE


def test_stochastic_depth_drops_what_keras_drops() -> None:
    case = Case("StochasticDepth", (SHAPE,), lambda x: convnext.StochasticDepth(0.5)(x))
    errors = traced_errors(case.model(), case)
    assert max(errors.values()) <= TOLERANCE, errors


OWN = """
import keras


class Table(keras.layers.Layer):
    def build(self, shape):
        self.order = self.add_weight(
            shape=(3,), dtype="int32", trainable=False, name="order",
            initializer=lambda shape, dtype: [2, 0, 1])

    def call(self, x):
        return keras.ops.take(x, self.order, axis=-1)


class Counter(keras.layers.Layer):
    kind = "int32"

    def build(self, shape):
        self.seen = self.add_weight(
            shape=(), dtype=self.kind, trainable=False, initializer="zeros", name="seen")

    def call(self, x, training=False):
        if training:
            self.seen.assign_add(1)
        return x * (1.0 + keras.ops.cast(self.seen, "float32"))


class FloatCounter(Counter):
    kind = "float32"


class Learned(keras.layers.Layer):
    def build(self, shape):
        self.places = self.add_weight(shape=(), dtype="int32", initializer="zeros", name="places")

    def call(self, x):
        return x + keras.ops.cast(self.places, "float32")
"""


@pytest.fixture
def own(own_file: OwnFile) -> tuple[Path, Any]:
    """The owner's Python file with layers that hold whole numbers, and the module that it is."""
    return own_file(OWN)


def test_whole_numbers_that_stay_are_constants(own: tuple[Path, Any], convert: Convert) -> None:
    path, module = own
    model = keras.Sequential([keras.Input((3,)), module.Table(), layers.Dense(2)])
    bundle = convert(model, BATCH, custom=path)
    assert [entry["shape"] for entry in bundle.manifest["layout"]] == [[3, 2], [2]]
    x = np.random.default_rng(2).normal(0.0, 1.0, (BATCH, 3)).astype(np.float32)
    predicted = bundle.run("predict", {"trainable": bundle.weights, "x_0": x})["output_0"]
    assert relative_error(predicted, model.predict_on_batch(x)) <= TOLERANCE


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        ("Counter", r"mine/seen is int32 and its layer changes it while training.*declare .* as float32"),
        ("Learned", r"mine/places is int32 and trainable.*trainable=False, or as float32"),
    ],
)
def test_whole_numbers_that_change_are_refused(
    own: tuple[Path, Any], convert: Convert, layer: str, text: str
) -> None:
    path, module = own
    model = keras.Sequential([keras.Input((3,)), getattr(module, layer)(name="mine"), layers.Dense(2)])
    with pytest.raises(Refusal, match=text):
        convert(model, BATCH, custom=path)


def test_the_remedy_for_a_counter_is_right(own: tuple[Path, Any], convert: Convert) -> None:
    path, module = own
    model = keras.Sequential([keras.Input((3,)), module.FloatCounter(name="mine"), layers.Dense(2)])
    bundle = convert(model, BATCH, custom=path)
    size = bundle.manifest["parameters"]["trainable"]
    assert bundle.weights[size:].tolist() == [0.0]
    fed = {"trainable": bundle.weights[:size], "state": bundle.weights[size:]}
    x, y = np.ones((BATCH, 3), np.float32), np.ones((BATCH, 2), np.float32)
    done = bundle.run("train", fed | {"x_0": x, "y_0": y, "sample_weight": np.ones(BATCH, np.float32)})
    assert done["new_state"].tolist() == [1.0]
    model.compile("sgd", "mse")
    assert relative_error(done["loss"], model.train_on_batch(x, y)) <= TOLERANCE


@pytest.mark.parametrize("batch", [3, 6])
def test_a_number_for_each_row_is_no_bias_where_rows_and_channels_are_as_many(
    batch: int, convert: Convert
) -> None:
    x = keras.Input((4,))
    hidden = layers.Dense(3)(x)
    summed = keras.ops.maximum(hidden, 0.3) + keras.ops.sum(hidden, 1, keepdims=True)
    model = keras.Model(x, layers.Dense(2)(summed))
    bundle = convert(model, batch)
    assert bundle.manifest["checked"]["worst"] <= 1e-4
    rows = np.random.default_rng(2).normal(size=(batch, 4)).astype(np.float32)
    predicted = bundle.run("predict", {"trainable": bundle.weights, "x_0": rows})["output_0"]
    first, second = ([np.asarray(w) for w in layer.weights] for layer in (model.layers[1], model.layers[-1]))
    hidden = rows @ first[0] + first[1]
    expected = (np.maximum(hidden, 0.3) + hidden.sum(1, keepdims=True)) @ second[0] + second[1]
    assert relative_error(predicted, expected) <= 1e-5
