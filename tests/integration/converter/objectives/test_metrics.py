"""Every metric of Keras that adds up over batches: a padded batch gives Keras' value on its real rows."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

from backend.numerics.metrics import METRICS
from converter.objectives.metrics import make_metric
from converter.refusal import Refusal
from tests.integration.converter.objectives.graph_measurement import (
    CLASSES,
    Measured,
    batch,
    by_keras,
    chances,
    in_a_graph,
    masked,
    port,
    probabilities,
)
from tests.support.keras.values import class_numbers, counts, events, numbers, one_hot

pytestmark = pytest.mark.tensorflow
metrics = keras.metrics

# What a task file says, Keras' metric, makers of labels and outputs.
TABLE: list[tuple[Any, Any, Any, Any]] = [
    ("accuracy", "accuracy", class_numbers, probabilities),
    ("acc", "acc", one_hot, probabilities),
    ("binary_accuracy", "binary_accuracy", events, chances),
    ({"name": "binary_accuracy", "threshold": 0.3}, metrics.BinaryAccuracy(threshold=0.3), events, chances),
    ("categorical_accuracy", "categorical_accuracy", one_hot, probabilities),
    ("sparse_categorical_accuracy", "sparse_categorical_accuracy", class_numbers, probabilities),
    ({"name": "top_k_categorical_accuracy", "k": 2}, metrics.TopKCategoricalAccuracy(2), one_hot, numbers),
    (
        {"name": "sparse_top_k_categorical_accuracy", "k": 2},
        metrics.SparseTopKCategoricalAccuracy(2),
        class_numbers,
        numbers,
    ),
    (metrics.Accuracy(), metrics.Accuracy(), counts, counts),
    ("binary_crossentropy", "binary_crossentropy", events, chances),
    (
        {"name": "BinaryCrossentropy", "from_logits": True, "label_smoothing": 0.1},
        metrics.BinaryCrossentropy(from_logits=True, label_smoothing=0.1),
        events,
        numbers,
    ),
    ("categorical_crossentropy", "categorical_crossentropy", one_hot, probabilities),
    ("sparse_categorical_crossentropy", "sparse_categorical_crossentropy", class_numbers, probabilities),
    ("kl_divergence", "kl_divergence", probabilities, probabilities),
    ("poisson", "poisson", counts, chances),
    ("hinge", "hinge", events, numbers),
    ("squared_hinge", "squared_hinge", events, numbers),
    ("categorical_hinge", "categorical_hinge", one_hot, numbers),
    ("mae", "mae", numbers, numbers),
    ("MSE", "MSE", numbers, numbers),
    ("mape", "mape", numbers, numbers),
    ("msle", "msle", counts, chances),
    ("root_mean_squared_error", "root_mean_squared_error", numbers, numbers),
    ("log_cosh_error", "log_cosh_error", numbers, numbers),
    ("cosine_similarity", "cosine_similarity", numbers, numbers),
    ("pearson_correlation", "pearson_correlation", numbers, numbers),
    ("concordance_correlation", "concordance_correlation", numbers, numbers),
    ("precision", "precision", events, chances),
    ({"name": "precision", "thresholds": 0.7}, metrics.Precision(0.7), events, chances),
    ({"name": "precision", "class_id": 1}, metrics.Precision(class_id=1), events, chances),
    ({"name": "precision", "top_k": 2}, metrics.Precision(top_k=2), events, chances),
    ("recall", "recall", events, chances),
    ({"name": "recall", "top_k": 1}, metrics.Recall(top_k=1), events, chances),
    ("true_positives", "true_positives", events, chances),
    ("false_positives", "false_positives", events, chances),
    ("true_negatives", "true_negatives", events, chances),
    ("false_negatives", "false_negatives", events, chances),
    ("auc", "auc", events, chances),
    ({"name": "auc", "num_thresholds": 20}, metrics.AUC(20), events, chances),
    ({"name": "auc", "from_logits": True}, metrics.AUC(from_logits=True), events, numbers),
    ({"name": "binary_io_u", "threshold": 0.4}, metrics.BinaryIoU(threshold=0.4), events, chances),
    ({"name": "binary_io_u", "target_class_ids": [1]}, metrics.BinaryIoU([1]), events, chances),
    ({"name": "one_hot_mean_io_u", "num_classes": 4}, metrics.OneHotMeanIoU(4), one_hot, probabilities),
    (
        {"name": "one_hot_io_u", "num_classes": 4, "target_class_ids": [0, 3]},
        metrics.OneHotIoU(4, [0, 3]),
        one_hot,
        probabilities,
    ),
    (
        {"name": "mean_io_u", "num_classes": 4, "sparse_y_pred": False},
        metrics.MeanIoU(4, sparse_y_pred=False),
        class_numbers,
        probabilities,
    ),
]  # fmt: skip
FLAT: list[tuple[Any, Any, Any, Any]] = [
    ({"name": "f1_score", "average": "micro"}, metrics.F1Score("micro"), one_hot, probabilities),
    ({"name": "f1_score", "average": "macro"}, metrics.F1Score("macro"), one_hot, probabilities),
    (
        {"name": "fbeta_score", "average": "macro", "beta": 2.0, "threshold": 0.5},
        metrics.FBetaScore("macro", 2.0, 0.5),
        events,
        chances,
    ),
]


def ids(entry: Any) -> str:
    said = entry[0]
    if isinstance(said, dict):
        return "-".join(map(str, said.values()))
    return said if isinstance(said, str) else str(said.name)


def value(said: Any, measured: Measured, weighted: bool = False) -> float:
    """Our value of a metric, from its frozen graph."""
    classes = CLASSES if measured.y.dtype == np.int32 else None
    metric = make_metric(said, port(measured.y, classes=classes), port(measured.output), weighted)
    pairs, _ = in_a_graph(metric.of, measured, gradient=False)
    assert pairs.shape == (metric.counting.count, 2)
    return METRICS[metric.counting.kind](pairs.tolist())


def keras_value(theirs: Any, measured: Measured, weighted: bool = False) -> float:
    """Keras' value of a metric, from `Model.compile`."""
    loss = "sparse_categorical_crossentropy" if measured.y.dtype == np.int32 else "mse"
    if isinstance(theirs, keras.Metric):
        theirs = type(theirs).from_config(theirs.get_config())
    measuring: dict[str, Any] = {"weighted_metrics": [theirs]} if weighted else {"metrics": [theirs]}
    _, _, found = by_keras(measured.short(), True, loss=loss, **measuring)
    (only,) = found.values()
    return float(only)


@pytest.mark.parametrize("inner", [(), (3,)], ids=["vectors", "sequences"])
@pytest.mark.parametrize("entry", TABLE, ids=ids)
def test_a_metric_equals_keras(entry: Any, inner: tuple[int, ...]) -> None:
    said, theirs, y, output = entry
    measured = batch(y, output, inner, 0.75)
    assert value(said, measured) == pytest.approx(keras_value(theirs, measured), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("entry", FLAT, ids=ids)
def test_a_score_of_classes_equals_keras(entry: Any) -> None:
    said, theirs, y, output = entry
    measured = batch(y, output, (), 0.75)
    assert value(said, measured) == pytest.approx(keras_value(theirs, measured), rel=1e-5)


def test_a_label_that_is_no_class_is_never_among_the_first_k() -> None:
    measured = batch(class_numbers, numbers, (), 0.75)
    measured.y[:3] = -1, CLASSES, -1
    measured.output[:3] = -2.0
    said = {"name": "sparse_top_k_categorical_accuracy", "k": 3}
    theirs, short = metrics.SparseTopKCategoricalAccuracy(3), measured.short()
    theirs.update_state(short.y, short.output)
    assert value(said, measured) == pytest.approx(float(theirs.result()), rel=1e-5)


MASKED = ["accuracy", "mae", "root_mean_squared_error", "categorical_crossentropy", "precision"]


@pytest.mark.parametrize("said", MASKED)
@pytest.mark.parametrize("weighted", [False, True])
def test_masked_positions_count_as_in_keras(said: str, weighted: bool) -> None:
    measured = masked(batch(one_hot, probabilities, (3,), 0.75))
    expected = keras_value(said, measured, weighted)
    assert value(said, measured, weighted) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("said", ["accuracy", "mae", "recall", "auc", "root_mean_squared_error"])
def test_weighted_metrics_count_sample_weights(said: str) -> None:
    measured = batch(one_hot, probabilities, (), 0.75)
    assert value(said, measured, True) == pytest.approx(keras_value(said, measured, True), rel=1e-5)
    assert value(said, measured, True) != pytest.approx(value(said, measured), rel=1e-3)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("r2_score", "does not add up over batches"),
        ("mean", "does not add up"),
        ("nonsense", "metric nonsense"),
        ("f1_score", 'average = "micro" or "macro"'),
        ({"name": "precision", "thresholds": [0.2, 0.4]}, "several thresholds"),
        ({"name": "auc", "curve": "PR"}, 'curve = "PR", .*"ROC" only; leave curve out'),
        (
            {"name": "auc", "summation_method": "minoring"},
            'summation_method = "minoring", .*leave it out|leave',
        ),
        ({"name": "auc", "multi_label": True, "num_labels": 1}, "several labels, .*leave multi_label"),
        ({"name": "mean_io_u", "num_classes": 4}, "sparse_y_pred = false"),
        ({"name": "mae", "threshold": 1}, "no setting `threshold`"),
        ({"name": "auc", "num_thresholds": 1}, "num_thresholds"),
        ("sparse_categorical_accuracy", "does not fit labels of the output's own shape"),
        (keras.losses.MeanSquaredError(), "mixes the rows"),
    ],
)
def test_a_metric_that_cannot_be_is_refused_in_a_sentence(said: Any, text: str) -> None:
    measured = batch(events, chances, (), 0.0)
    with pytest.raises(Refusal, match=text) as caught:
        value(said, measured)
    assert caught.value.code == "bad-task"
    assert str(caught.value).endswith(".")
