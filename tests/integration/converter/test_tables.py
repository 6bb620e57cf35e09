"""Tables that are read row by row train as by `Model.fit`, whose optimizers square each read apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from _pytest.mark import ParameterSet

from converter.refusal import Refusal
from tests.integration.converter.conftest import Convert
from tests.support.keras.native import NativeBundle, relative_error

pytestmark = pytest.mark.tensorflow
layers, optimizers = keras.layers, keras.optimizers
ROWS, STEPS = 8, 3

OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: optimizers.SGD(0.1, 0.9, nesterov=True),
    "sgd, clipped": lambda: optimizers.SGD(0.1, clipnorm=0.1),
    "sgd, clipped together": lambda: optimizers.SGD(0.1, global_clipnorm=0.01),
    "rmsprop": lambda: optimizers.RMSprop(0.01, momentum=0.5),
    "adagrad": lambda: optimizers.Adagrad(0.1),
    "adadelta": lambda: optimizers.Adadelta(1.0),
    "adam": lambda: optimizers.Adam(0.01),
    "adam, amsgrad": lambda: optimizers.Adam(0.01, amsgrad=True),
    "adam, clipped": lambda: optimizers.Adam(0.01, clipnorm=0.1),
    "adam, clipped together": lambda: optimizers.Adam(0.01, global_clipnorm=0.1),
    "adam, accumulating": lambda: optimizers.Adam(0.01, gradient_accumulation_steps=2),
    "adamw": lambda: optimizers.AdamW(0.01, weight_decay=0.1),
    "adamax": lambda: optimizers.Adamax(0.01),
    "adamax, clipped together": lambda: optimizers.Adamax(0.01, global_clipnorm=0.1),
    "nadam": lambda: optimizers.Nadam(0.01),
    "lion": lambda: optimizers.Lion(0.01),
    "ftrl": lambda: optimizers.Ftrl(0.1),
}


SHORT = ("sgd", "sgd, clipped", "adam", "adam, clipped together", "adam, accumulating", "adamax", "ftrl")


def words(optimizer: Any) -> Any:
    """Two tables around a dense layer; one is read by two layers."""
    keras.utils.set_random_seed(1)
    x, other = keras.Input((6,), dtype="int32"), keras.Input((2,), dtype="int32")
    table = layers.Embedding(4, 3, name="read_twice")
    y = keras.ops.mean(table(x), axis=1) + keras.ops.max(table(other), axis=1)
    z = layers.Flatten()(layers.Embedding(5, 3, name="read_once")(x))
    y = layers.Dense(3, activation="tanh")(layers.Concatenate()([y, z]))
    model = keras.Model([x, other], layers.Dense(2)(y))
    model.compile(optimizer, "mse")
    model.optimizer.build(model.trainable_variables)
    return model


def batches() -> list[dict[str, Any]]:
    generator = np.random.default_rng(4)
    return [
        {
            "x_0": generator.integers(0, 4, (ROWS, 6), np.int32),
            "x_1": generator.integers(0, 4, (ROWS, 2), np.int32),
            "y_0": generator.normal(size=(ROWS, 2)).astype(np.float32),
            "sample_weight": np.ones(ROWS, np.float32),
        }
        for _ in range(STEPS)
    ]


def stepped(bundle: NativeBundle, signature: Any = "train") -> Any:
    """The trainable vector after the batches."""
    optimizer, trainable = bundle.manifest["optimizer"], bundle.weights
    slots = np.zeros((optimizer["slots"], len(trainable)), np.float32)
    for number, batch in enumerate(batches(), 1):
        out = bundle.run(signature, {"trainable": trainable, **batch})
        taken = {"learning_rate": optimizer["learning_rate"], "step": number, "past_steps": 0}
        moved = bundle.run("apply", {"trainable": trainable, "slots": slots, **out, **taken})
        trainable, slots = moved["new_trainable"], moved.get("new_slots", slots)
    return trainable


def fitted(model: Any) -> Any:
    for batch in batches():
        model.fit([batch["x_0"], batch["x_1"]], batch["y_0"], ROWS, verbose=0, shuffle=False)
    return np.concatenate([np.ravel(variable) for variable in model.trainable_variables])


def by_lane() -> list[ParameterSet]:
    """Returns the optimizers; those of `SHORT` stand for the others in the short lane."""
    return [pytest.param(name, marks=() if name in SHORT else pytest.mark.long) for name in OPTIMIZERS]


@pytest.mark.parametrize("name", by_lane())
def test_tables_train_as_by_fit(name: str, convert: Convert) -> None:
    bundle = convert(words(OPTIMIZERS[name]()), ROWS, loss=None, optimizer=None)
    before = bundle.weights
    assert relative_error(stepped(bundle) - before, fitted(words(OPTIMIZERS[name]())) - before) <= 1e-4


@pytest.mark.parametrize("name", ["adam", "adamax", "sgd, clipped"])
def test_squares_of_the_sum_would_train_otherwise(name: str, convert: Convert) -> None:
    bundle = convert(words(OPTIMIZERS[name]()), ROWS, loss=None, optimizer=None)
    run = bundle.run

    def dense(signature: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        own = {"row_squares": np.full_like(inputs["row_squares"], -1.0)} if signature == "apply" else {}
        return run(signature, inputs | own)

    bundle.run = dense  # type: ignore[method-assign]
    before = bundle.weights
    assert relative_error(stepped(bundle) - before, fitted(words(OPTIMIZERS[name]())) - before) > 0.01


def test_a_table_that_is_also_used_whole_has_a_dense_gradient(convert: Convert) -> None:
    x = keras.Input((6,), dtype="int32")
    table = layers.Embedding(4, 3, embeddings_regularizer="l2")
    model = keras.Model(x, layers.Dense(2)(layers.Flatten()(table(x))))
    outputs = convert(model, optimizer={"name": "adam"}).manifest["signatures"]["train"]["outputs"]
    assert [output["name"] for output in outputs] == ["loss", "gradient"]


@pytest.mark.parametrize(
    ("optimizer", "reason"),
    [
        (lambda: optimizers.Adam(0.01, clipvalue=0.1), "`clipvalue` would clip each read of .*read_"),
        (lambda: optimizers.RMSprop(0.01, centered=True), "Keras' own rmsprop with `centered` fails"),
        (lambda: optimizers.Adamax(0.01, clipnorm=0.1), "adamax with clipnorm treats each read"),
    ],
)
def test_what_a_bundle_cannot_repeat_is_refused(
    optimizer: Callable[[], Any], reason: str, convert: Convert
) -> None:
    with pytest.raises(Refusal, match=reason):
        convert(words(optimizer()), ROWS, loss=None, optimizer=None)


def test_a_factor_of_the_loss_changes_no_step(convert: Convert) -> None:
    def model() -> Any:
        keras.utils.set_random_seed(1)
        made = keras.Sequential([keras.Input((4,)), layers.Dense(3)])
        made.compile(optimizers.SGD(0.1, clipnorm=0.5, loss_scale_factor=8.0), "mse")
        return made

    theirs, bundle = model(), convert(model(), ROWS, loss=None, optimizer=None)
    generator = np.random.default_rng(4)
    x, y = (generator.normal(size=(ROWS, n)).astype(np.float32) for n in (4, 3))
    theirs.fit(x, y, ROWS, verbose=0)
    fed = {"trainable": bundle.weights, "x_0": x, "y_0": y, "sample_weight": np.ones(ROWS, np.float32)}
    out = bundle.run("train", fed)
    moved = bundle.run("apply", fed | out | {"learning_rate": 0.1, "step": 1})["new_trainable"]
    fitted_vector = np.concatenate([np.ravel(variable) for variable in theirs.trainable_variables])
    assert relative_error(moved - bundle.weights, fitted_vector - bundle.weights) <= 1e-4
