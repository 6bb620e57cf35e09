"""Rewrites a bundle's train graph so that TensorFlow can differentiate its gradient. Imports TensorFlow.

Attacks that match gradients need the derivative of a gradient by the inputs. TensorFlow derives all ops of
the train graph but the fused ones, which it has for speed only; here each becomes the ops that it stands for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from backend.errors import BundleError
from backend.formats.manifest import SignatureName
from backend.peer.training.graphs import CheckedBundle, import_tensorflow

# The attributes that the first op of a fused one keeps.
_FUSED = {
    "_FusedConv2D": ("Conv2D", ("T", "strides", "padding", "dilations", "data_format", "explicit_paddings")),
    "_FusedMatMul": ("MatMul", ("T", "transpose_a", "transpose_b")),
}
_FOLLOWING = frozenset({"BiasAdd", "Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"})


def without_fused_ops(bundle: CheckedBundle, name: SignatureName = "train") -> CheckedBundle:
    """Returns the bundle with the fused ops of one graph taken apart; values change by rounding only.

    Raises BundleError for a fused op that the lab does not know.
    """
    tf = import_tensorflow()
    fused = tf.compat.v1.GraphDef()
    fused.ParseFromString(bundle.graphs[name])
    graph = tf.compat.v1.GraphDef(versions=fused.versions, library=fused.library)
    for node in fused.node:
        if node.op in _FUSED:
            _take_apart(graph, node)
        else:
            graph.node.append(node)
    return replace(bundle, graphs={**bundle.graphs, name: graph.SerializeToString()})


def _take_apart(graph: Any, fused: Any) -> None:
    """Adds the ops of a fused node to `graph`; the last one has its name, so that others find its output."""
    op, kept = _FUSED[fused.op]
    following = [name.decode() for name in fused.attr["fused_ops"].list.s]
    if not following or not _FOLLOWING.issuperset(following):
        raise BundleError(
            f"The leakage lab cannot differentiate {fused.op} with {', '.join(following) or 'nothing'} "
            f"(node {fused.name}). Try a model with other activations."
        )
    further = list(fused.input[2:])
    last = graph.node.add(op=op, name=f"{fused.name}/part_0", input=fused.input[:2])
    for key in kept:
        if key in fused.attr:
            last.attr[key].CopyFrom(fused.attr[key])
    for number, name in enumerate(following, start=1):
        node_name = fused.name if number == len(following) else f"{fused.name}/part_{number}"
        inputs = [last.name, further.pop(0)] if name == "BiasAdd" else [last.name]
        last = graph.node.add(op=name, name=node_name, input=inputs)
        last.attr["T"].CopyFrom(fused.attr["T"])
        if name == "LeakyRelu":
            last.attr["alpha"].f = fused.attr["leakyrelu_alpha"].f
