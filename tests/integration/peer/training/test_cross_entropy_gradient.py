"""The gradient of a cross-entropy keeps its digits, however sure the model is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.peer.training.cross_entropy_gradient import with_accurate_gradients
from backend.peer.training.graphs import import_tensorflow

pytestmark = pytest.mark.tensorflow

Floats = NDArray[np.float32]
CLASSES = np.array([0, 2, 1, 0], np.int64)
# Unsure rows, and one each that is sure of the right class and of a wrong one.
LOGITS = np.array([[0.1, -0.2, 0.3], [1.5, 0.5, -2.0], [-9.0, 9.5, -11.0], [-8.0, 9.0, -10.0]], np.float32)
ONE_HOT = np.eye(3, dtype=np.float32)[CLASSES]
SOFT = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.4, 0.4, 0.2]], np.float32)
# Keras multiplies labels by weights.
WEIGHTED = np.array([[0.0, 0.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.5, 0.0], [1.0, 1.0, 0.0]], np.float32)


@pytest.fixture(scope="module")
def tf() -> Any:
    return import_tensorflow()


def gradient(tf: Any, labels: NDArray[np.generic], *, is_accurate: bool) -> tuple[Floats, Floats]:
    """Returns loss [B] and gradient [B, C] as a graph with a loss computes them."""
    op = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits
    if labels.ndim == 2:
        op = tf.raw_ops.SoftmaxCrossEntropyWithLogits
    with tf.Graph().as_default() as graph:
        found = op(features=tf.constant(LOGITS), labels=tf.constant(labels))
        tf.identity(found.loss, "kept_loss")
        tf.identity(found.backprop, "kept_gradient")
    definition = graph.as_graph_def()
    if is_accurate:
        definition = with_accurate_gradients(tf, definition)
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph) as session:
        tf.graph_util.import_graph_def(definition, name="")
        loss, made = session.run(["kept_loss:0", "kept_gradient:0"])
    return loss, made


def true_gradient(labels: NDArray[np.generic]) -> NDArray[np.float64]:
    """Returns probabilities minus labels in float64, what is sure to one from the other classes."""
    exponentials = np.exp(LOGITS.astype(np.float64) - LOGITS.max(axis=1, keepdims=True))
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
    found: NDArray[np.float64] = probabilities - labels.astype(np.float64)
    return found


@pytest.mark.parametrize("labels", [CLASSES, CLASSES.astype(np.int32), ONE_HOT])
def test_what_is_left_to_learn_of_a_sure_row_has_seven_digits(tf: Any, labels: NDArray[np.generic]) -> None:
    found = gradient(tf, labels, is_accurate=True)[1]
    np.testing.assert_allclose(found, true_gradient(ONE_HOT), rtol=2e-6)
    assert not np.allclose(
        gradient(tf, labels, is_accurate=False)[1], true_gradient(ONE_HOT), rtol=1e-3, atol=0
    )


def test_a_graph_may_leave_out_the_default_type_of_class_numbers(tf: Any) -> None:
    with tf.Graph().as_default() as graph:
        tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(
            features=tf.constant(LOGITS), labels=tf.constant(CLASSES)
        )
    definition = graph.as_graph_def()
    (loss,) = (node for node in definition.node if node.op == "SparseSoftmaxCrossEntropyWithLogits")
    del loss.attr["Tlabels"]
    names = [node.name for node in with_accurate_gradients(tf, definition).node]
    assert f"{loss.name}/accurate/gradient" in names


@pytest.mark.parametrize("labels", [CLASSES, ONE_HOT, SOFT, WEIGHTED])
def test_it_is_tensorflows_but_for_rounding(tf: Any, labels: NDArray[np.generic]) -> None:
    loss, found = gradient(tf, labels, is_accurate=True)
    usual_loss, usual = gradient(tf, labels, is_accurate=False)
    np.testing.assert_array_equal(loss, usual_loss)
    np.testing.assert_allclose(found, usual, atol=3e-7)
