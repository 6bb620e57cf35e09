"""Tests that padding does not change the traced step, whatever an owner's layer does to its batch."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from converter.objectives.losses import is_from_keras
from converter.refusal import Refusal
from converter.tracing.graph_freezer import freeze
from converter.tracing.tracer import Traced, Tracer
from converter.validation.second_opinion.bundle_run import BundleRun

Arrays = dict[str, NDArray[Any]]
# Padding repeats the first example times a factor; factors other than 1 expose a layer that takes a maximum
# or, as 0 does, a median.
PADDINGS = (1, 3, -3, 0)
# The ranges of random floats: a model may compare rows above a threshold only, or be defined up to 1 only.
RANGES = ((0.1, 0.9), (-30.0, 30.0))
# Ops between layers that act on each number separately.
ELEMENTWISE = {
    "Abs", "Add", "Cast", "Clip", "Cos", "Divide", "Elu", "Equal", "Erf", "Exp", "Gelu", "Greater",
    "GreaterEqual", "LeakyRelu", "Less", "LessEqual", "Log", "Log1p", "LogicalAnd", "LogicalNot",
    "LogicalOr", "Maximum", "Minimum", "Multiply", "Negative", "NotEqual", "Power", "Reciprocal", "Relu",
    "Relu6", "Rsqrt", "Selu", "Sigmoid", "Sign", "Silu", "Sin", "Softplus", "Sqrt", "Square", "Subtract",
    "Tanh", "TrueDivide", "Where",
}  # fmt: skip
# Another batch size changes the order of float32 additions.
TOLERANCE = 1e-3


def may_mix_rows(model: Any) -> bool:
    """Returns whether a model uses more than Keras' own layers, each of which keeps rows separate."""
    operations = [op for layer in model._flatten_layers() for op in getattr(layer, "operations", [])]
    foreign = [
        op
        for op in [*operations, *model._flatten_layers()]
        if not is_from_keras(op) or isinstance(op, keras.layers.Lambda)
    ]
    plain_operations = {type(op).__name__ for op in operations if not isinstance(op, keras.layers.Layer)}
    return bool(foreign) or not plain_operations <= ELEMENTWISE


def check_padding(tracer: Tracer, whole: Traced, frozen: Any) -> None:
    """Compares the step of a half-padded batch with that of half a batch. Raises Refusal if they differ.

    `frozen` is the GraphDef of `whole`, the traced train graph.
    """
    rows = (tracer.batch_size + 1) // 2
    if rows == tracer.batch_size:
        return
    half = _trace(tracer, rows)
    steps = BundleRun({"whole": frozen, "half": freeze(half)}, {"whole": whole, "half": half})
    for low, high in RANGES:
        arrays = _arrays(tracer, whole, rows, low, high)
        short = {t.op.name: arrays[t.op.name][tuple(slice(n) for n in t.shape)] for t in half.inputs}
        expected = steps.run("half", short)
        if not _finite(expected):
            # Random numbers may lie outside the model's input range.
            continue
        for factor in PADDINGS:
            padded = steps.run("whole", _padded(arrays, rows, factor))
            if factor == 1 or _finite(padded):
                _check_equal(tracer, padded, expected, short)
    steps.close()


def _check_equal(tracer: Tracer, padded: Arrays, expected: Arrays, fed: Arrays) -> None:
    """Refuses a model whose padded step differs from the expected one. Raises Refusal."""
    for name, values in expected.items():
        error = float(np.linalg.norm(padded[name] - values))
        if not error <= TOLERANCE * max(float(np.linalg.norm(values)), 1e-6):
            _check_repeats(tracer, expected, fed)
            raise Refusal(
                f"The model, its loss or a metric mixes the examples of a batch: its {name} changes when "
                "it is padded. Let them work on each example alone, with another axis than 0 in keras.ops; "
                "over a batch use keras.ops.mean or keras.ops.sum without dividing by the batch's size."
            )


def _trace(tracer: Tracer, rows: int) -> Traced:
    other = Tracer(tracer.model, tracer.layout, tracer.model_ports, tracer.objectives, tracer.optimizer, rows)
    try:
        return other.train()
    except Refusal as refusal:
        raise Refusal(
            f"The model computes with batches of {tracer.batch_size} examples only, so that nothing tells "
            "what padding does to it; write -1 for the number of rows, in a layer keras.ops.shape(x)[0]. "
            f"({refusal})"
        ) from refusal


def _check_repeats(tracer: Tracer, expected: Arrays, fed: Arrays) -> None:
    """Refuses a model that computes something else whenever it is traced. Raises Refusal."""
    again = _trace(tracer, (tracer.batch_size + 1) // 2)
    repeated = BundleRun({"again": freeze(again)}, {"again": again}).run("again", fed)
    if any(not np.array_equal(repeated[name], values, equal_nan=True) for name, values in expected.items()):
        raise Refusal(
            "The model computes something else each time that it is called: a layer keeps what it counts or "
            "draws in Python. Let the layer keep it in a variable, by self.add_weight()."
        )


def _finite(arrays: Arrays) -> bool:
    return all(np.isfinite(array).all() for array in arrays.values())


def _padded(arrays: Arrays, rows: int, factor: int) -> Arrays:
    """Replaces padded examples by the first example, with its numbers times `factor`."""
    padded = dict(arrays)
    for name, array in arrays.items():
        if name.startswith(("x_", "y_")):
            padded[name] = array.copy()
            padded[name][rows:] = array[0] * (factor if array.dtype == np.float32 else 1)
    return padded


def _arrays(tracer: Tracer, whole: Traced, rows: int, low: float, high: float) -> Arrays:
    """Returns values for every input, with `rows` real rows and padding after them.

    Floats of examples lie between `low` and `high`, random draws between 0.1 and 0.9.
    """
    generator = np.random.default_rng(0)
    vector, size = tracer.layout.values(), tracer.layout.trainable
    arrays: Arrays = {}
    for tensor in whole.inputs:
        shape = tensor.shape.as_list()
        # 0 and 1 are valid classes and token ids of every model.
        whole_numbers = tensor.dtype == tf.int32
        bounds = (low, high) if tensor.op.name.startswith(("x_", "y_")) else RANGES[0]
        values = generator.integers(0, 2, shape) if whole_numbers else generator.uniform(*bounds, shape)
        arrays[tensor.op.name] = values.astype(tensor.dtype.as_numpy_dtype)
    weight = np.zeros(tracer.batch_size, np.float32)
    weight[:rows] = 1.0
    return arrays | {"trainable": vector[:size], "state": vector[size:], "sample_weight": weight}
