"""The optimizers are Keras' formulas."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from converter.optimizers import OPTIMIZERS, compiled_optimizer, make_optimizer
from converter.refusal import Refusal
from tests.conformance.native import relative_error

pytestmark = pytest.mark.tensorflow
STEPS = 10

PAIRS: list[tuple[dict[str, Any], Any]] = [
    ({"name": "sgd", "learning_rate": 0.1}, lambda: keras.optimizers.SGD(0.1)),
    (
        {"name": "momentum", "learning_rate": 0.1, "momentum": 0.8},
        lambda: keras.optimizers.SGD(0.1, momentum=0.8),
    ),
    (
        {"name": "momentum", "learning_rate": 0.1, "nesterov": True},
        lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    ),
    ({"name": "adam", "learning_rate": 0.01}, lambda: keras.optimizers.Adam(0.01)),
    (
        {"name": "adam", "beta_1": 0.5, "beta_2": 0.9, "epsilon": 1e-3},
        lambda: keras.optimizers.Adam(0.001, 0.5, 0.9, 1e-3),
    ),
    (
        {"name": "adamw", "learning_rate": 0.01, "weight_decay": 0.1},
        lambda: keras.optimizers.AdamW(0.01, weight_decay=0.1),
    ),
]


@pytest.mark.parametrize(("table", "make"), PAIRS, ids=lambda value: str(value)[:60])
def test_ten_steps_equal_keras(table: dict[str, Any], make: Any) -> None:
    generator = np.random.default_rng(3)
    start = generator.normal(0.0, 1.0, 50).astype(np.float32)
    gradients = generator.normal(0.0, 1.0, (STEPS, 50)).astype(np.float32)
    variable, theirs = keras.Variable(start), make()
    ours = make_optimizer(table)
    trainable, slots = tf.constant(start), tf.zeros((ours.slots, 50))
    for step, gradient in enumerate(gradients, 1):
        theirs.apply([tf.constant(gradient)], [variable])
        trainable, slots = ours.step(
            trainable, slots, gradient, np.float32(ours.learning_rate), np.float32(step)
        )
    assert relative_error(trainable, variable) <= 1e-6
    assert relative_error(trainable.numpy() - start, np.asarray(variable) - start) <= 1e-5


@pytest.mark.parametrize("step", [1, 2, 10, 500, 700, 5000, 100_000])
def test_adam_corrects_its_bias_to_float32_precision(step: int) -> None:
    adam = make_optimizer({"name": "adam", "epsilon": 1e-12})
    moved, _ = adam.step(tf.zeros(1), tf.ones((2, 1)), tf.ones(1), np.float32(1.0), np.float32(step))
    exact = np.sqrt(1.0 - float(np.float32(0.999)) ** step) / (1.0 - float(np.float32(0.9)) ** step)
    assert -moved.numpy()[0] == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_slots_are_as_many_as_declared(name: str) -> None:
    optimizer = make_optimizer({"name": name})
    slots = tf.zeros((optimizer.slots, 3))
    _, after = optimizer.step(tf.ones(3), slots, tf.ones(3), np.float32(0.1), np.float32(1))
    assert after.shape == slots.shape


@pytest.mark.parametrize(
    ("table", "word"),
    [
        ({"name": "lion"}, "lion"),
        ({"name": "sgd", "momentum": 0.9}, "momentum"),
        ({"name": "adam", "beta_1": 1.0}, "beta_1"),
        ({"name": "adam", "learning_rate": "fast"}, "learning_rate"),
        ({"name": "momentum", "nesterov": 1}, "nesterov"),
    ],
)
def test_a_wrong_optimizer_is_refused_by_name(table: dict[str, Any], word: str) -> None:
    with pytest.raises(Refusal, match=word) as caught:
        make_optimizer(table)
    assert caught.value.code == "bad-task"


def test_the_compiled_optimizer_is_taken_over() -> None:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.SGD(0.25, momentum=0.5, nesterov=True))
    table = compiled_optimizer(model)
    assert table == {"name": "momentum", "learning_rate": 0.25, "momentum": 0.5, "nesterov": True}


def test_a_compiled_optimizer_that_clips_is_refused() -> None:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(clipnorm=1.0))
    with pytest.raises(Refusal, match="clipnorm"):
        compiled_optimizer(model)
