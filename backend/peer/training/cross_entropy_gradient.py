"""Gradients of cross-entropies that keep their digits once a model is sure.

TensorFlow subtracts labels from probabilities. Where a probability is 1 but for its last digits, only
rounding is left, each machine rounds otherwise, and Adam takes whole steps by it: honest members of a mesh
then found each other's work wrong. What remains to 1 is what the other probabilities add up to. The twin is
webapp/static/src/engine/ops/loss.ts.
"""

from __future__ import annotations

from typing import Any

_OPS = ("SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits")


def with_accurate_gradients(tf: Any, definition: Any) -> Any:
    """Returns a GraphDef whose cross-entropies of float32 logits have accurate gradients."""
    changed = tf.compat.v1.GraphDef()
    changed.CopyFrom(definition)
    losses = [node for node in definition.node if node.op in _OPS and node.attr["T"].type == tf.float32]
    gradients = {f"{node.name}:1": f"{node.name}/accurate/gradient" for node in losses}
    for node in changed.node:
        for number, source in enumerate(node.input):
            node.input[number] = gradients.get(source, source)
    for loss in losses:
        changed.node.extend(_gradient_nodes(tf, loss))
    return changed


def _gradient_nodes(tf: Any, loss: Any) -> list[Any]:
    """Returns the nodes that make the gradient of a cross-entropy from its inputs."""
    is_sparse = loss.op == _OPS[0]
    with tf.Graph().as_default() as graph:
        logits = tf.compat.v1.placeholder(tf.float32, [None, None], "logits")
        # A graph may leave out what is the default.
        kind = (loss.attr["Tlabels"].type or tf.int64) if is_sparse else tf.float32
        labels = tf.compat.v1.placeholder(kind, [None] if is_sparse else [None, None], "labels")
        tf.identity(_gradient(tf, logits, labels, is_sparse), "gradient")
    own = dict(zip(("logits", "labels"), loss.input, strict=False))
    nodes = [node for node in graph.as_graph_def().node if node.name not in own]
    for node in nodes:
        node.name = f"{loss.name}/accurate/{node.name}"
        for number, source in enumerate(node.input):
            node.input[number] = own.get(source) or f"{loss.name}/accurate/{source}"
    return nodes


def _gradient(tf: Any, logits: Any, labels: Any, is_sparse: bool) -> Any:
    """Returns the probabilities minus the labels [B, C]; sparse ones are class numbers [B]."""
    classes = labels if is_sparse else tf.argmax(labels, -1)
    top = tf.one_hot(classes, tf.shape(logits)[1])
    others = tf.nn.softmax(logits) * (1.0 - top)
    gradient = others - top * tf.reduce_sum(others, -1, keepdims=True)
    return gradient if is_sparse else gradient + (top - labels)
