"""A peer's step on a table that is read row by row: whose squares the optimizer takes in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from backend.peer.training.graphs import import_graphs, open_bundle
from backend.peer.training.step import step_of, totals_size
from converter.bundle.bundle_writer import write_bundle
from converter.conversion_task import ConversionTask
from converter.sandbox.process_limits import Limits
from tests.support.keras.native import relative_error

pytestmark = pytest.mark.tensorflow
ROWS, MU = 8, 0.5


def model() -> Any:
    keras.utils.set_random_seed(2)
    x = keras.Input((6,), dtype="int32")
    y = keras.layers.Dense(2)(keras.layers.Flatten()(keras.layers.Embedding(4, 3)(x)))
    model = keras.Model(x, y)
    model.compile(keras.optimizers.Adam(0.01), "mse")
    model.optimizer.build(model.trainable_variables)
    return model


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("tables")
    model().save(folder / "model.keras")
    (folder / "bundle").mkdir()
    write_bundle(folder / "model.keras", ConversionTask("tables", ROWS), folder / "bundle", Limits())
    return import_graphs(open_bundle(folder / "bundle", ["train", "apply"]), "cpu")


@pytest.fixture(scope="module")
def batch() -> dict[str, Any]:
    generator = np.random.default_rng(5)
    return {
        "x_0": generator.integers(0, 4, (ROWS, 6), np.int32),
        "y_0": generator.normal(size=(ROWS, 2)).astype(np.float32),
        "sample_weight": np.ones(ROWS, np.float32),
    }


def moved(graphs: Any, batch: dict[str, Any], start: Any = None, bound: dict[str, Any] | None = None) -> Any:
    """How far one step moves the trainable vector; `start` is FedProx's, `bound` that of a private step."""
    weights = flat(model())
    size = len(weights)
    carry = {
        "trainable": tf.constant(weights),
        "slots": tf.zeros((graphs.manifest.optimizer.slots, size)),
        "state": tf.zeros(0),
        "totals": tf.zeros(totals_size(graphs.manifest.metrics), tf.float64),
    }
    corrections = {} if start is None else {"start": tf.constant(start), "mu": tf.constant(MU)}
    given = {name: tf.constant(value) for name, value in batch.items()}
    key = tf.constant([3, 1, 0], tf.int64)
    micro = 0 if bound is None else ROWS
    after = step_of(tf, graphs)(carry, given, tf.constant(0.01), key, corrections, bound or {}, micro)
    return after["trainable"].numpy() - weights


def flat(made: Any) -> Any:
    return np.concatenate([np.ravel(variable) for variable in made.trainable_variables]).astype(np.float32)


def test_a_plain_step_is_that_of_fit(graphs: Any, batch: dict[str, Any]) -> None:
    made = model()
    before = flat(made)
    made.fit(batch["x_0"], batch["y_0"], ROWS, verbose=0, shuffle=False)
    assert relative_error(moved(graphs, batch), flat(made) - before) <= 1e-4


def test_a_proximal_step_squares_the_gradient_it_changed(graphs: Any, batch: dict[str, Any]) -> None:
    start = flat(model()) + 0.1
    made = model()

    def proximal(_y: Any, _output: Any) -> Any:
        error = tf.reduce_mean(tf.square(_y - _output))
        distance = [
            tf.reduce_sum(tf.square(variable.value - begun))
            for variable, begun in zip(made.trainable_variables, cut(made, start), strict=True)
        ]
        return error + MU / 2 * tf.add_n(distance)

    made.compile(keras.optimizers.Adam(0.01), proximal, run_eagerly=True)
    before = flat(made)
    made.fit(batch["x_0"], batch["y_0"], ROWS, verbose=0, shuffle=False)
    assert relative_error(moved(graphs, batch, start), flat(made) - before) <= 1e-4


def cut(made: Any, vector: Any) -> list[Any]:
    sizes = np.cumsum([int(np.prod(variable.shape)) for variable in made.trainable_variables])[:-1]
    parts = np.split(vector, sizes)
    return [part.reshape(v.shape) for part, v in zip(parts, made.trainable_variables, strict=True)]


def test_a_private_step_squares_the_gradient_that_was_clipped(graphs: Any, batch: dict[str, Any]) -> None:
    size = len(flat(model()))
    bound = {"clip": tf.constant(1e6), "noise": tf.zeros(size), "microbatches": tf.constant(1.0)}
    private, plain = moved(graphs, batch, bound=bound), moved(graphs, batch)
    # Adam's first step is the rate, in the gradient's direction, wherever a value's own square divides it.
    assert np.allclose(np.abs(private[np.abs(private) > 0]), 0.01, rtol=0.05)
    assert relative_error(private, plain) > 0.01
