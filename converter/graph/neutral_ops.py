"""Drops neutral ops: identities, times one, plus zero, reshapes and broadcasts to the same shape."""

from __future__ import annotations

from typing import Any

from converter.graph.graph_view import View

_IDENTITIES = ("Identity", "StopGradient", "PreventGradient", "Snapshot")
# For each op, the constant and the input positions at which it leaves the other input unchanged.
_NEUTRAL = {"Mul": (1.0, (0, 1)), "AddV2": (0.0, (0, 1)), "Sub": (0.0, (1,)), "RealDiv": (1.0, (1,))}


def drop_neutral(view: View) -> None:
    """Lets every reader of a node that copies its input read that input."""
    for node in view.all(*_IDENTITIES, "BroadcastTo", *_NEUTRAL):
        if not view.is_alive(node):
            continue
        source = _unchanged(view, node)
        if source is not None and view.users(node.name):
            view.replace(node.name, source)


def _unchanged(view: View, node: Any) -> str | None:
    if node.op in _IDENTITIES:
        return str(node.input[0])
    if node.op == "BroadcastTo":
        return _same_shape(view, node, 0)
    number, positions = _NEUTRAL[node.op]
    for position in positions:
        if _is_all(view, str(node.input[position]), number):
            return _same_shape(view, node, 1 - position)
    return None


def _is_all(view: View, tensor: str, number: float) -> bool:
    value = view.value(tensor)
    return value is not None and bool((value == number).all())


def _same_shape(view: View, node: Any, index: int) -> str | None:
    tensor = str(node.input[index])
    return tensor if view.shape(tensor) == view.shape(node.name) else None
