"""A model traced and frozen in this process, without files, beside the same model run by Keras."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import tensorflow as tf
from keras.src.backend.tensorflow import random as keras_random

from converter.conversion_task import ConversionTask
from converter.objectives.objective_selection import choose_objectives
from converter.op_allowlist import check_ops
from converter.optimizers import make_optimizer
from converter.readers.model_loader import load_model
from converter.sandbox.process_limits import Limits
from converter.tracing.graph_freezer import freeze
from converter.tracing.model_ports import find_ports
from converter.tracing.tracer import Traced, Tracer
from converter.tracing.vector_layout import Layout
from tests.support.keras.native import relative_error
from tests.support.keras.reference import uniform_input

BATCH, SEED = 3, 7


def tracer_of(model: Any) -> Tracer:
    """The tracer of a model as it is loaded from its file, with mean squared error."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.keras")
        model.save(path)
        loaded = load_model(path, Limits())
    model_ports = find_ports(loaded)
    objectives = choose_objectives(loaded, ConversionTask("test", BATCH, "mse"), model_ports)
    return Tracer(loaded, Layout(loaded), model_ports, objectives, make_optimizer({"name": "sgd"}), BATCH)


def run(traced: Traced, fed: dict[str, Any]) -> dict[str, Any]:
    """The frozen, checked graph's outputs for inputs by name; random inputs are those of step 1."""
    graph_def = freeze(traced)
    check_ops(graph_def, "train", [])
    values = {
        tensor.op.name: fed[tensor.op.name] if tensor.op.name in fed else _drawn(tensor)
        for tensor in traced.inputs
    }
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        tf.import_graph_def(graph_def, name="")
        names = [tensor.op.name for tensor in traced.outputs]
        feed = {f"{name}:0": value for name, value in values.items()}
        return dict(zip(names, session.run([f"{name}:0" for name in names], feed), strict=True))


def _drawn(placeholder: Any) -> Any:
    index = int(placeholder.op.name.removeprefix("random_"))
    return uniform_input(tuple(placeholder.shape.as_list()), SEED, 1, index).numpy()


@contextmanager
def prescribed_draws() -> Iterator[None]:
    """Keras' random functions give, one after the other, the numbers that a bundle's random inputs are."""
    count = iter(range(1000))

    def uniform(shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
        numbers = uniform_input(tuple(int(n) for n in shape), SEED, 1, next(count))
        return numbers * (maxval - minval) + minval

    def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
        first, second = (uniform(shape).numpy().astype(np.float64) for _ in range(2))
        values = np.sqrt(-2.0 * np.log1p(-first)) * np.cos(2.0 * np.pi * second)
        return mean + stddev * tf.constant(values, tf.float32)

    def randint(shape: Any, minval: Any, maxval: Any, dtype: Any = "int32", seed: Any = None) -> Any:
        return tf.cast(tf.floor(uniform(shape, float(minval), float(maxval))), dtype or "int32")

    def dropout(inputs: Any, rate: float, noise_shape: Any = None, seed: Any = None) -> Any:
        sizes = zip(inputs.shape, noise_shape or inputs.shape, strict=True)
        kept = uniform([own if given is None else given for own, given in sizes]) >= rate
        return tf.where(kept, inputs / (1.0 - rate), 0.0)

    with patch.multiple(keras_random, uniform=uniform, normal=normal, randint=randint, dropout=dropout):
        yield


def inputs_of(case: Any) -> list[Any]:
    """Fixed random inputs of a case, a batch."""
    generator = np.random.default_rng(6)
    if case.tokens:
        return [generator.integers(0, case.tokens, (BATCH, *shape)).astype(np.int32) for shape in case.shapes]
    low = 0.0 if case.is_raw else -1.0
    return [generator.uniform(low, 1.0, (BATCH, *shape)).astype(np.float32) for shape in case.shapes]


def traced_errors(model: Any, case: Any) -> dict[str, float]:
    """Relative errors of loss, gradient, new state and prediction against Keras' own."""
    x = inputs_of(case)
    y = np.random.default_rng(8).normal(0.0, 1.0, (BATCH, 2)).astype(np.float32)
    tracer = tracer_of(model)
    vector = tracer.layout.values()
    size = tracer.layout.trainable
    fed = {"trainable": vector[:size], "state": vector[size:], "y_0": y, "sample_weight": np.ones(BATCH, "f")}
    fed |= {f"x_{index}": value for index, value in enumerate(x)}
    packed = [tf.constant(value) for value in x]
    given = packed if len(packed) > 1 else packed[0]
    out = run(tracer.train(), fed)
    predicted = run(tracer.predict(), fed)["output_0"]
    errors = {"output": relative_error(predicted, model(given, training=False))}
    with prescribed_draws(), tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(given, training=True) - y)) + sum(model.losses)
    gradients = tape.gradient(
        loss, [v.value for v in model.trainable_variables], unconnected_gradients="zero"
    )
    flat = np.concatenate([tf.convert_to_tensor(g).numpy().ravel() for g in gradients])
    errors |= {"loss": relative_error(out["loss"], loss), "gradient": relative_error(out["gradient"], flat)}
    if "new_state" in out:
        errors["state"] = relative_error(out["new_state"], Layout(model).values()[size:])
    return errors
