"""Measures Keras' metrics as numerators and denominators, which add up over batches."""

from __future__ import annotations

import difflib
import inspect
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf
from keras.src.metrics import ALL_OBJECTS_DICT
from keras.src.trainers.compile_utils import get_metric

from converter.objectives.losses import is_from_keras
from converter.objectives.metric_counts import Counting, counting
from converter.objectives.plain_ops import plain_ops
from converter.padding.real_rows import Rows, to_rank, with_columns
from converter.refusal import Refusal
from converter.tracing.attribute_patch import patched_attributes
from converter.tracing.model_ports import Port

_m = keras.metrics
SPARSE = (_m.SparseCategoricalAccuracy, _m.SparseTopKCategoricalAccuracy, _m.SparseCategoricalCrossentropy)
HINGES = (_m.Hinge, _m.SquaredHinge)
CORRELATIONS = (_m.PearsonCorrelation, _m.ConcordanceCorrelation)
# Keras saves some metrics under names that it does not accept.
NAMES = ALL_OBJECTS_DICT | {"fbeta_score": _m.FBetaScore, "logcosh": _m.LogCoshError}


@dataclass(frozen=True)
class OutputMetric:
    """A Keras metric of one output; `counting` gives its rows in the bundle's `metrics`."""

    name: str
    metric: Any
    counting: Counting
    weighted: bool = False

    @property
    def sparse(self) -> bool:
        """Returns whether the labels are class numbers."""
        return takes_class_numbers(self.metric)

    @property
    def own(self) -> bool:
        """Returns whether it is the owner's code, whose treatment of rows is unknown."""
        return not all(map(is_from_keras, (self.metric, getattr(self.metric, "_fn", self.metric))))

    def of(self, y: Any, output: Any, rows: Rows) -> Any:
        """Returns the numerators and denominators [n, 2] of the real rows."""
        y, output = with_columns(y, output)
        if isinstance(self.metric, HINGES):
            # Keras decides from the whole batch whether hinge labels are 0 and 1 or -1 and 1.
            y = y * to_rank(rows.exists, len(y.shape))
        weight = self.counting.weights(rows.weight if self.weighted else rows.exists, y, output)
        zeros = [tf.zeros(v.shape, v.dtype) for v in self.metric.variables]
        with plain_ops(), self._finite(rows):
            counted = self.metric.stateless_update_state(zeros, y, output, sample_weight=weight)
        names = [variable.name for variable in self.metric.variables]
        return self.counting.rows(dict(zip(names, counted, strict=True)))

    def _finite(self, rows: Rows) -> AbstractContextManager[None]:
        """Replaces a correlation's NaN in padded rows by 0.

        The correlation of constant rows, which padding may contain, is 0 / 0, and a weight of 0 would leave
        NaN.
        """
        if not isinstance(self.metric, CORRELATIONS):
            return nullcontext()
        correlate = self.metric._fn

        def of_rows(y: Any, output: Any, **settings: Any) -> Any:
            values = correlate(y, output, **settings)
            return tf.where(to_rank(rows.exists, len(values.shape)) > 0.0, values, 0.0)

        return patched_attributes(self.metric, {"_fn": of_rows})


def takes_class_numbers(metric: Any) -> bool:
    """Returns whether a metric's labels are class numbers, not arrays of the output's shape."""
    if isinstance(metric, _m.IoU) and not isinstance(metric, _m.BinaryIoU):
        return bool(metric.sparse_y_true)
    return isinstance(metric, SPARSE)


def make_metric(spec: Any, label: Port, output: Port, weighted: bool) -> OutputMetric:
    """Builds a metric from a task file's or `model.compile`'s form: a name, table, function or Metric.

    Raises Refusal where Keras has no such metric or it does not fit the labels.
    """
    if not output.shape and isinstance(spec, str) and spec.lower() in ("accuracy", "acc"):
        raise _bad(
            f"The metric {spec} does not say how {output.name}, which has no axes, becomes a class; name "
            "binary_accuracy, or end the model with Reshape((1,))."
        )
    metric = _named_metric(spec) or _compiled_metric(spec, label, output)
    if isinstance(metric, _m.FBetaScore):
        metric._build((1, *label.shape), (1, *output.shape))
    output_metric = OutputMetric(
        metric.name, metric, counting(metric, output.shape[-1] if output.shape else 1), weighted
    )
    if output_metric.sparse != (label.dtype == "int32"):
        kind = "class numbers" if label.dtype == "int32" else "labels of the output's own shape"
        other = "a metric for class numbers (sparse_...)" if label.dtype == "int32" else "another metric"
        raise _bad(
            f"The metric {output_metric.name} does not fit {kind}, which the loss of {output.name} needs; "
            f"choose {other}, or another loss."
        )
    return output_metric


def label_of_metric(spec: Any, output: Port) -> Port:
    """Returns the label port of an output that has metrics but no loss."""
    metric = _named_metric(spec) or spec
    if takes_class_numbers(metric):
        return Port(output.name, output.shape[:-1], "int32", output.shape[-1])
    return Port(output.name, output.shape, "float32")


def _named_metric(spec: Any) -> Any:
    """Returns the metric of a name or of a table with name and settings; None for anything else."""
    name = spec.get("name") if isinstance(spec, dict) else spec
    if not isinstance(name, str) or name.lower() in ("accuracy", "acc"):
        return None
    kind = NAMES.get(name)
    if kind is None:
        raise _refused(name)
    settings = {key: v for key, v in spec.items() if key != "name"} if isinstance(spec, dict) else {}
    allowed = [p for p in inspect.signature(kind).parameters if p not in ("name", "dtype")]
    for key in settings:
        if key not in allowed:
            raise _bad(f"The metric {name} has no setting `{key}`; it has {', '.join(allowed)}.")
    try:
        return kind(name=name, **settings)
    except (TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise _bad(f"The metric {name} cannot have these settings: {reason}.") from error


def _compiled_metric(spec: Any, label: Port, output: Port) -> Any:
    y, y_pred = (keras.KerasTensor((1, *port.shape), port.dtype) for port in (label, output))
    try:
        return get_metric(spec, y, y_pred)
    except ValueError as error:
        raise _refused(str(spec)) from error


def _refused(name: str) -> Refusal:
    near = difflib.get_close_matches(name.lower(), [key for key in NAMES if key.islower()], 1, 0.4)
    like = near[0] if near else "mean_absolute_error"
    return _bad(
        f"The metric {name[:60]} is not a metric of Keras, such as {like}; under [model], metrics = [...] "
        "takes those that docs/reference/task-file.md lists. One of your own comes with a compiled model "
        "and --custom."
    )


def _bad(message: str) -> Refusal:
    return Refusal(message, "bad-task")
