"""Computes Keras' metrics as rows of numerators and denominators that add up over batches.

A metric's `kind` defines how the metric is computed from the sums of its rows (docs/reference/bundle.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from converter.padding.real_rows import to_rank
from converter.refusal import Refusal

_m = keras.metrics
State = Mapping[str, Any]
# In Keras' macro average a class without examples and predictions counts as 0.
SEEN = 1e-7
MAX_THRESHOLDS = 1000


@dataclass(frozen=True)
class Counting:
    """How a metric counts: `rows` maps a state to [count, 2].

    `weights` maps (weight, y, output) to the sample weights that Keras takes.
    """

    kind: str
    count: int
    rows: Callable[[State], Any]
    weights: Callable[[Any, Any, Any], Any]


def counting(metric: Any, classes: int) -> Counting:
    """Returns how a metric of an output with `classes` columns counts.

    Raises Refusal for a metric that rows cannot add up to.
    """
    for kind, make in _FAMILIES:
        if isinstance(metric, kind):
            return make(metric, classes)
    raise Refusal(
        f"The metric {metric.name} does not add up over batches; use accuracies, errors, crossentropies, "
        "precision, recall, f1_score, auc or the intersections over unions.",
        "bad-task",
    )


def _mean(metric: Any, classes: int) -> Counting:
    del classes
    function = getattr(metric, "_fn", None)
    name = getattr(function, "__name__", "")
    if isinstance(function, keras.losses.Loss) or name in ("dice", "tversky", "circle", "ctc"):
        raise _refused(metric, "mixes the rows of a batch; leave it out or use it as the loss")
    if getattr(metric, "_fn_kwargs", {}).get("axis") == 0:
        raise _refused(metric, "works across the examples of a batch (axis 0); use another axis")
    kind = "root" if isinstance(metric, _m.RootMeanSquaredError) else "ratio"

    def weights(weight: Any, y: Any, output: Any) -> Any:
        del y
        mask = getattr(output, "_keras_mask", None)
        return weight if mask is None or kind == "root" else to_rank(weight, len(mask.shape))

    return Counting(kind, 1, lambda state: tf.stack([state["total"], state["count"]])[None], weights)


def _confusion(metric: Any, classes: int) -> Counting:
    """Counts for precision, recall and the four confusion counts."""
    del classes
    if len(metric.thresholds) != 1:
        raise _refused(metric, "has several thresholds; name it once for each")
    error_count = "false_positives" if isinstance(metric, _m.Precision) else "false_negatives"

    def rows(state: State) -> Any:
        if "accumulator" in state:
            return tf.stack([state["accumulator"], tf.zeros(1)], 1)
        right = state["true_positives"]
        return tf.stack([right, right + state[error_count]], 1)

    kind = "ratio" if isinstance(metric, _m.Precision | _m.Recall) else "sum"
    return Counting(kind, 1, rows, _by_columns)


def _f_score(metric: Any, classes: int) -> Counting:
    if metric.average == "weighted" or (metric.average is None and classes > 1):
        raise _refused(metric, 'is not one sum over the classes; write average = "micro" or "macro"')
    square = float(metric.beta) ** 2

    def rows(state: State) -> Any:
        right = (1.0 + square) * state["true_positives"]
        wrong = square * state["false_negatives"] + state["false_positives"] + SEEN
        return tf.reshape(tf.stack([right, right + wrong], -1), [-1, 2])

    count = 1 if metric.average == "micro" else classes
    return Counting("mean" if count > 1 else "ratio", count, rows, _by_rows)


def _intersection(metric: Any, classes: int) -> Counting:
    """Counts intersection over union of some classes (Keras' IoU and relatives).

    The metric is the mean over the classes that occur.
    """
    del classes
    binary = isinstance(metric, _m.BinaryIoU)
    if metric.sparse_y_pred and not binary:
        raise _refused(metric, "compares class numbers; set sparse_y_pred = false or use one_hot_io_u")
    ids = [int(i) for i in metric.target_class_ids]

    def rows(state: State) -> Any:
        matrix = tf.cast(state["total_confusion_matrix"], tf.float32)
        both = tf.reduce_sum(matrix * np.eye(metric.num_classes, dtype=np.float32), 0)
        either = tf.reduce_sum(matrix, 0) + tf.reduce_sum(matrix, 1) - both
        return tf.gather(tf.stack([both, either], 1), ids)

    def weights(weight: Any, y: Any, output: Any) -> Any:
        del output
        shape = y.shape if metric.sparse_y_true else y.shape[:-1]
        # Keras counts these metrics in whole numbers.
        return tf.broadcast_to(to_rank(tf.cast(weight, tf.int32), len(shape)), shape)

    return Counting("mean" if len(ids) > 1 else "ratio", len(ids), rows, weights)


def _area(metric: Any, classes: int) -> Counting:
    del classes
    for setting, value, plain in (
        ("curve", metric.curve.value, "ROC"),
        ("summation_method", metric.summation_method.value, "interpolation"),
    ):
        if value != plain:
            reason = f'has {setting} = "{value}", but a bundle adds up counts for "{plain}" only'
            raise _refused(metric, f"{reason}; leave {setting} out")
    if metric.multi_label or metric.label_weights is not None:
        raise _refused(
            metric,
            "averages the areas of several labels, but a bundle counts all of them together; leave "
            "multi_label, num_labels and label_weights out, or give each label its own output with an auc",
        )
    if metric.num_thresholds > MAX_THRESHOLDS:
        raise _refused(metric, f"has more than {MAX_THRESHOLDS} thresholds; use fewer")
    # Comparison with every threshold avoids the scatter by which Keras fills buckets.
    metric._thresholds_distributed_evenly = False

    def rows(state: State) -> Any:
        return tf.stack([state["true_positives"], state["false_positives"]], 1)

    return Counting("auc", metric.num_thresholds, rows, _by_columns)


def _by_rows(weight: Any, y: Any, output: Any) -> Any:
    del y, output
    return weight


def _by_columns(weight: Any, y: Any, output: Any) -> Any:
    # Keras appends the last axis itself.
    del y
    return to_rank(weight, len(output.shape) - 1)


def _refused(metric: Any, reason: str) -> Refusal:
    return Refusal(f"The metric {metric.name} {reason}.", "bad-task")


_FAMILIES: list[tuple[Any, Callable[[Any, int], Counting]]] = [
    (_m.MeanMetricWrapper | _m.RootMeanSquaredError, _mean),
    (
        _m.Precision
        | _m.Recall
        | _m.TruePositives
        | _m.FalsePositives
        | _m.TrueNegatives
        | _m.FalseNegatives,
        _confusion,
    ),
    (_m.FBetaScore, _f_score),
    (_m.IoU, _intersection),
    (_m.AUC, _area),
]
