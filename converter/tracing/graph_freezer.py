"""Freezes a traced graph to a GraphDef: static, without functions, variables or control edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.grappler import tf_optimizer

from converter.graph import simplify
from converter.op_allowlist import check_shapes
from converter.refusal import Refusal
from converter.tracing.graph_place import place_of
from converter.tracing.tracer import Traced

# Inlining first; then folding of shapes, constants and algebra, twice because each feeds the other.
PASSES = ["function", "pruning", "shape", "constfold", "arithmetic", "dependency"]
PASSES += ["pruning", "constfold", "arithmetic", "dependency"]


def freeze(traced: Traced, layers: Sequence[str] = ()) -> Any:
    """Returns a GraphDef whose inputs and outputs keep their traced names.

    Raises Refusal, which names one of `layers`, the names of the model's layers.
    """
    outputs = [tensor.op.name for tensor in traced.outputs]
    inputs = [tensor.op.name for tensor in traced.inputs]
    graph_def = _optimize(_constant_captures(traced.graph, layers), outputs)
    graph_def = _optimize(_constant_shapes(graph_def), outputs)
    graph_def = _tidy(graph_def, traced, inputs, outputs)
    check_shapes(graph_def, list(layers))
    return simplify(graph_def, outputs)


def _constant_captures(graph: Any, layers: Sequence[str]) -> Any:
    """Returns the GraphDef with every eager tensor that the trace captured as a constant."""
    graph_def = graph.as_graph_def(add_shapes=False)
    for outer, inner in graph.captures:
        if outer.dtype == tf.resource:
            users = [user.name for user in inner.consumers()] or [inner.op.name]
            raise Refusal(
                f"{place_of(graph_def, users[0], layers)} reads a variable that the model does not own, "
                "which Keras neither saves nor trains: instead of a tf.Variable or a table of TensorFlow use "
                "self.add_weight() of the layer, and make another layer that it calls an attribute "
                "(self.inner = ...)."
            )
    captured = {inner.op.name: outer for outer, inner in graph.captures}
    for node in graph_def.node:
        if node.name in captured:
            value = captured[node.name].numpy()
            node.op = "Const"
            node.attr.clear()
            node.attr["dtype"].type = tf.as_dtype(value.dtype).as_datatype_enum
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
    return graph_def


def _constant_shapes(graph_def: Any) -> Any:
    """Returns the GraphDef without Shape ops of static shapes, some of which Grappler leaves."""
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
        for op in graph.get_operations():
            if op.type not in ("Shape", "ShapeN"):
                continue
            for measured, output in zip(op.inputs, op.outputs, strict=True):
                if not measured.shape.is_fully_defined():
                    continue
                constant = tf.constant(measured.shape.as_list(), output.dtype)
                for consumer in output.consumers():
                    for index, edge in enumerate(consumer.inputs):
                        if edge is output:
                            consumer._update_input(index, constant)
    return graph.as_graph_def()


def _optimize(graph_def: Any, outputs: list[str]) -> Any:
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    meta_graph = tf.compat.v1.train.export_meta_graph(graph_def=graph.as_graph_def(), graph=graph)
    # Grappler keeps the nodes in a collection of this name.
    meta_graph.collection_def["train_op"].node_list.value.extend(outputs)
    config = config_pb2.ConfigProto()
    rewrite = config.graph_options.rewrite_options
    rewrite.optimizers[:] = PASSES
    # AGGRESSIVE assumes that fed tensors have the shape that their placeholder declares.
    rewrite.constant_folding = rewrite.AGGRESSIVE
    rewrite.arithmetic_optimization = rewrite.AGGRESSIVE
    rewrite.meta_optimizer_iterations = rewrite.TWO
    rewrite.min_graph_nodes = -1
    return tf_optimizer.OptimizeGraph(config, meta_graph)


def _tidy(graph_def: Any, traced: Traced, inputs: list[str], outputs: list[str]) -> Any:
    """Drops control edges (no node has side effects), unused nodes and process-specific attributes."""
    nodes = {node.name: node for node in graph_def.node}
    originals = {node.name: node for node in traced.graph.as_graph_def().node if node.name in inputs}
    needed, stack = set(inputs), list(outputs)
    while stack:
        name = stack.pop()
        if name in needed and name not in inputs:
            continue
        needed.add(name)
        if name in nodes:
            data = [edge for edge in nodes[name].input if not edge.startswith("^")]
            del nodes[name].input[:]
            nodes[name].input.extend(data)
            stack.extend(edge.split(":")[0] for edge in data)
    stray = [name for name in needed - set(inputs) if name in nodes and nodes[name].op == "Placeholder"]
    if stray:
        raise Refusal("The model draws random numbers outside training; it must be deterministic there.")
    tidy = tf.compat.v1.GraphDef(versions=graph_def.versions)
    # An input that no output needs (the step of sgd) stays, so that all bundles have the same interface.
    tidy.node.extend(nodes.get(name, originals[name]) for name in inputs)
    tidy.node.extend(node for node in graph_def.node if node.name in needed and node.name not in inputs)
    for node in tidy.node:
        node.device = ""
        if node.op == "Add":
            # Grappler writes the older name into some of its rewrites; on numbers they are the same op.
            node.op = "AddV2"
    return without_private_attributes(tidy)


def without_private_attributes(graph_def: Any) -> Any:
    """Removes TensorFlow's private attributes, which differ between processes, from the GraphDef."""
    for node in graph_def.node:
        for key in [key for key in node.attr if key.startswith("_")]:
            del node.attr[key]
    return graph_def
