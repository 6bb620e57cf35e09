"""Names the layer that a node of a graph belongs to, for refusals."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any


def place_of(graph_def: Any, name: str, layers: Collection[str]) -> str:
    """Returns the layer of the node `name`, or the nearest layers before it, as the subject of a sentence.

    `layers` are the names of the model's layers; TensorFlow keeps them as scopes in the names of nodes. A
    function of keras.ops between layers has no scope.
    """
    if (layer := _layer(name, layers)) is not None:
        return f"The layer {layer}"
    inputs = {node.name: [_node(edge) for edge in node.input] for node in graph_def.node}
    seen, stack = {name}, [name]
    before: list[str] = []
    while stack:
        for edge in inputs.get(stack.pop(), ()):
            if edge in seen:
                continue
            seen.add(edge)
            layer = _layer(edge, layers)
            if layer is None:
                stack.append(edge)
            elif layer not in before:
                before.append(layer)
    after = f" after the layer {' and '.join(sorted(before)[:2])}" if before else ""
    return f"A function of keras.ops{after}" if after else f"The node {name}"


def _layer(node: str, layers: Collection[str]) -> str | None:
    # The innermost layer is the most specific. A second trace of `dense` has the scope `dense_1`.
    for scope in reversed(node.split("/")):
        for name in (scope, scope.rpartition("_")[0]):
            if name in layers:
                return name
    return None


def _node(edge: str) -> str:
    return edge.removeprefix("^").partition(":")[0]
