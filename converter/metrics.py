"""Keras' metrics as numerators and denominators, which add up over batches."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf
from keras.src.backend.tensorflow import numpy as keras_numpy
from keras.src.metrics import ALL_OBJECTS_DICT
from keras.src.trainers.compile_utils import get_metric

from converter.borders import Port
from converter.patching import replaced
from converter.refusal import Refusal
from converter.rows import Rows, to_rank

_m = keras.metrics
SPARSE = (_m.SparseCategoricalAccuracy, _m.SparseTopKCategoricalAccuracy, _m.SparseCategoricalCrossentropy)
KINDS = {_m.RootMeanSquaredError: "root"}


@dataclass(frozen=True)
class OutputMetric:
    """A Keras metric of one output. `kind` says what is made of numerator and denominator (bundle.md)."""

    name: str
    kind: str
    metric: Any
    weighted: bool = False

    @property
    def sparse(self) -> bool:
        """Whether the labels are class numbers."""
        return isinstance(self.metric, SPARSE)

    def of(self, y: Any, output: Any, rows: Rows) -> Any:
        """[2]: numerator and denominator of the rows that exist."""
        weight = rows.weight if self.weighted else rows.exists
        mask = getattr(output, "_keras_mask", None)
        if mask is not None and isinstance(self.metric, _m.MeanMetricWrapper):
            weight = to_rank(weight, len(mask.shape))
        zeros = [tf.zeros(v.shape) for v in self.metric.variables]
        with replaced(keras_numpy, {"argmax": _argmax}):
            total, count = self.metric.stateless_update_state(zeros, y, output, sample_weight=weight)
        return tf.stack([total, count])


def make_metric(wanted: Any, label: Port, output: Port, weighted: bool) -> OutputMetric:
    """A metric as a task file or `model.compile` says it: a name, a table, a function, a Metric.

    Raises Refusal where Keras has no such metric or it does not fit the labels.
    """
    metric = _named_metric(wanted) or _compiled_metric(wanted, label, output)
    if not isinstance(metric, _m.Mean):
        raise _refused(metric.name)
    made = OutputMetric(metric.name, KINDS.get(type(metric), "ratio"), metric, weighted)
    if made.sparse != (label.dtype == "int32"):
        kind = "class numbers" if label.dtype == "int32" else "labels of the output's own shape"
        raise _bad(f"The metric {made.name} does not fit {kind}, which the loss of {output.name} needs.")
    return made


def label_of_metric(wanted: Any, output: Port) -> Port:
    """The labels of an output that has no loss, only metrics."""
    metric = _named_metric(wanted) or wanted
    if isinstance(metric, SPARSE):
        return Port(output.name, output.shape[:-1], "int32", output.shape[-1])
    return Port(output.name, output.shape, "float32")


def _named_metric(wanted: Any) -> Any:
    """The metric of a name or of a table with a name and settings; None for anything else."""
    name = wanted.get("name") if isinstance(wanted, dict) else wanted
    if not isinstance(name, str) or name in ("accuracy", "acc"):
        return None
    kind = ALL_OBJECTS_DICT.get(name)
    if kind is None:
        raise _refused(name)
    settings = {key: v for key, v in wanted.items() if key != "name"} if isinstance(wanted, dict) else {}
    allowed = [p for p in inspect.signature(kind).parameters if p not in ("name", "dtype")]
    for key in settings:
        if key not in allowed:
            raise _bad(f"The metric {name} has no setting `{key}`; it has {', '.join(allowed)}.")
    try:
        return kind(name=name, **settings)
    except (TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise _bad(f"The metric {name} cannot have these settings: {reason}.") from error


def _compiled_metric(wanted: Any, label: Port, output: Port) -> Any:
    y, y_pred = (keras.KerasTensor((1, *port.shape), port.dtype) for port in (label, output))
    try:
        return get_metric(wanted, y, y_pred)
    except ValueError as error:
        raise _refused(str(wanted)) from error


def _argmax(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """Without the bit operations by which Keras tells -0.0 from 0.0."""
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    found = tf.argmax(x, axis, tf.int32)
    return tf.expand_dims(found, axis) if keepdims else found


def _refused(name: str) -> Refusal:
    return _bad(f"The metric {name} is not supported; write metrics = [...] under [model].")


def _bad(message: str) -> Refusal:
    return Refusal(message, "bad-task")
