"""Measure single losses and metrics in frozen graphs, as bundles hold them, and by Keras' own train step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from converter.op_allowlist import check_ops
from converter.padding.real_rows import Rows
from converter.tracing.graph_freezer import freeze
from converter.tracing.model_ports import Port
from converter.tracing.tracer import Traced

ROWS, BATCH, CLASSES = 6, 8, 4
Measure = Callable[[Any, Any, Rows], Any]


@dataclass(frozen=True)
class Measured:
    """Labels, outputs, sample weights and perhaps a mask of one batch; padding is at the end."""

    y: NDArray[Any]
    output: NDArray[np.float32]
    weight: NDArray[np.float32]
    mask: NDArray[np.bool_] | None = None

    def short(self) -> Measured:
        """Without padding."""
        rows = int((self.weight > 0).sum())
        mask = None if self.mask is None else self.mask[:rows]
        return Measured(self.y[:rows], self.output[:rows], self.weight[:rows], mask)

    def unweighted(self) -> Measured:
        """Every row that exists weighs 1."""
        return replace(self, weight=(self.weight > 0).astype(np.float32))


def probabilities(generator: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
    """Shares that sum to one along the last axis."""
    weights = np.exp(generator.normal(0.0, 1.0, shape))
    shares: NDArray[Any] = weights / weights.sum(-1, keepdims=True)
    return shares.astype(np.float32)


def chances(generator: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
    """Numbers between 0 and 1."""
    return generator.uniform(0.05, 0.95, shape).astype(np.float32)


def batch(make_y: Any, make_output: Any, inner: tuple[int, ...], padding: float) -> Measured:
    """Rows of weights between 0.5 and 2, then rows of `padding`."""
    generator = np.random.default_rng(7)
    shape = (BATCH, *inner, CLASSES)
    y, output = make_y(generator, shape), make_output(generator, shape)
    weight = generator.uniform(0.5, 2.0, BATCH).astype(np.float32)
    weight[ROWS:] = 0.0
    output[ROWS:] = padding
    y[ROWS:] = 0
    return Measured(y, output, weight)


def masked(measured: Measured) -> Measured:
    """The same sequences with a mask; one of them has no valid position."""
    mask = np.random.default_rng(8).uniform(size=measured.output.shape[:-1]) < 0.6
    mask[1] = False
    return replace(measured, mask=mask)


def in_a_graph(measure: Measure, batch: Measured, gradient: bool = True) -> tuple[Any, Any]:
    """`measure(y, output, rows)` and its gradient by the output, from a frozen graph of listed ops."""
    graph = tf.__internal__.FuncGraph("measure")
    with graph.as_default():
        arrays = {"y": batch.y, "output": batch.output, "weight": batch.weight}
        if batch.mask is not None:
            arrays["mask"] = batch.mask.astype(np.float32)
        fed = {k: tf.compat.v1.placeholder(a.dtype, a.shape, k) for k, a in arrays.items()}
        output = fed["output"]
        if batch.mask is not None:
            output._keras_mask = fed["mask"] > 0.5
        with tf.GradientTape() as tape:
            tape.watch(output)
            value = measure(fed["y"], output, Rows.of(fed["weight"]))
        results = [tf.identity(value, "value")]
        if gradient:
            slope = tape.gradient(value, output, unconnected_gradients=tf.UnconnectedGradients.ZERO)
            results.append(tf.identity(slope, "slope"))
    frozen = freeze(Traced(graph, tuple(fed.values()), tuple(results)))
    check_ops(frozen, "train", [])
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.import_graph_def(frozen, name="")
        names = [f"{tensor.op.name}:0" for tensor in results]
        values = session.run(names, {f"{k}:0": a for k, a in arrays.items()})
    return values[0], values[1] if gradient else None


def by_keras(
    batch: Measured, weighted: bool = True, **compile_arguments: Any
) -> tuple[float, Any, dict[str, float]]:
    """Loss, its gradient and metrics of `Model.compile(**compile_arguments)` for this batch."""
    inputs = keras.Input(batch.output.shape[1:])
    model = keras.Model(inputs, keras.layers.Identity(name="z")(inputs))
    model.compile(**({"loss": "mse"} | compile_arguments))
    weight: Any = batch.weight if weighted else None
    if weighted and batch.output.ndim > 2:
        # Every position of a sequence has its example's weight.
        inner = batch.output.shape[1:-1]
        weight = np.broadcast_to(weight.reshape(-1, *[1] * len(inner)), (len(weight), *inner))
    output = tf.constant(batch.output)
    if batch.mask is not None:
        output._keras_mask = tf.constant(batch.mask)
    with tf.GradientTape() as tape:
        tape.watch(output)
        loss = model.compute_loss(None, batch.y, output, weight)
    slope = tape.gradient(loss, output, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    metrics = model.compute_metrics(None, batch.y, output, weight)
    return float(loss), slope, {k: float(v) for k, v in metrics.items() if k != "loss"}


def port(array: NDArray[Any], name: str = "z", classes: int | None = None) -> Port:
    """What the converter knows about an array of a batch."""
    return Port(name, array.shape[1:], array.dtype.name, classes)
