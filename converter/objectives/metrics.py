"""Keras' metrics as numerators and denominators, which add up over batches."""

from __future__ import annotations

import inspect
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf
from keras.src.metrics import ALL_OBJECTS_DICT
from keras.src.trainers.compile_utils import get_metric

from converter.objectives.metric_counts import Counting, counting
from converter.objectives.plain_ops import plain_ops
from converter.padding.real_rows import Rows, to_rank, with_columns
from converter.refusal import Refusal
from converter.tracing.attribute_patch import replaced
from converter.tracing.model_ports import Port

_m = keras.metrics
SPARSE = (_m.SparseCategoricalAccuracy, _m.SparseTopKCategoricalAccuracy, _m.SparseCategoricalCrossentropy)
HINGES = (_m.Hinge, _m.SquaredHinge)
CORRELATIONS = (_m.PearsonCorrelation, _m.ConcordanceCorrelation)
# Keras writes some names otherwise than it reads them.
NAMES = ALL_OBJECTS_DICT | {"fbeta_score": _m.FBetaScore, "logcosh": _m.LogCoshError}


@dataclass(frozen=True)
class OutputMetric:
    """A Keras metric of one output, with its own count of rows in the bundle's `metrics`."""

    name: str
    metric: Any
    counting: Counting
    weighted: bool = False

    @property
    def sparse(self) -> bool:
        """Whether the labels are class numbers."""
        return takes_class_numbers(self.metric)

    def of(self, y: Any, output: Any, rows: Rows) -> Any:
        """[n, 2]: numerators and denominators of the rows that exist."""
        y, output = with_columns(y, output)
        if isinstance(self.metric, HINGES):
            # Whether their labels are 0 and 1 or -1 and 1, Keras reads off the whole batch.
            y = y * to_rank(rows.exists, len(y.shape))
        weight = self.counting.weights(rows.weight if self.weighted else rows.exists, y, output)
        zeros = [tf.zeros(v.shape, v.dtype) for v in self.metric.variables]
        with plain_ops(), self._finite(rows):
            counted = self.metric.stateless_update_state(zeros, y, output, sample_weight=weight)
        names = [variable.name for variable in self.metric.variables]
        return self.counting.rows(dict(zip(names, counted, strict=True)))

    def _finite(self, rows: Rows) -> AbstractContextManager[None]:
        """A correlation of constant rows, as padding may be, is 0 / 0; weight 0 would leave it so."""
        if not isinstance(self.metric, CORRELATIONS):
            return nullcontext()
        correlate = self.metric._fn

        def of_rows(y: Any, output: Any, **settings: Any) -> Any:
            values = correlate(y, output, **settings)
            return tf.where(to_rank(rows.exists, len(values.shape)) > 0.0, values, 0.0)

        return replaced(self.metric, {"_fn": of_rows})


def takes_class_numbers(metric: Any) -> bool:
    """Whether a metric's labels are class numbers instead of arrays of the output's shape."""
    if isinstance(metric, _m.IoU) and not isinstance(metric, _m.BinaryIoU):
        return bool(metric.sparse_y_true)
    return isinstance(metric, SPARSE)


def make_metric(wanted: Any, label: Port, output: Port, weighted: bool) -> OutputMetric:
    """A metric as a task file or `model.compile` says it: a name, a table, a function, a Metric.

    Raises Refusal where Keras has no such metric or it does not fit the labels.
    """
    metric = _named_metric(wanted) or _compiled_metric(wanted, label, output)
    if isinstance(metric, _m.FBetaScore):
        metric._build((1, *label.shape), (1, *output.shape))
    made = OutputMetric(
        metric.name, metric, counting(metric, output.shape[-1] if output.shape else 1), weighted
    )
    if made.sparse != (label.dtype == "int32"):
        kind = "class numbers" if label.dtype == "int32" else "labels of the output's own shape"
        raise _bad(f"The metric {made.name} does not fit {kind}, which the loss of {output.name} needs.")
    return made


def label_of_metric(wanted: Any, output: Port) -> Port:
    """The labels of an output that has no loss, only metrics."""
    metric = _named_metric(wanted) or wanted
    if takes_class_numbers(metric):
        return Port(output.name, output.shape[:-1], "int32", output.shape[-1])
    return Port(output.name, output.shape, "float32")


def _named_metric(wanted: Any) -> Any:
    """The metric of a name or of a table with a name and settings; None for anything else."""
    name = wanted.get("name") if isinstance(wanted, dict) else wanted
    if not isinstance(name, str) or name.lower() in ("accuracy", "acc"):
        return None
    kind = NAMES.get(name)
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


def _refused(name: str) -> Refusal:
    return _bad(f"The metric {name} is not supported; write metrics = [...] under [model].")


def _bad(message: str) -> Refusal:
    return Refusal(message, "bad-task")
