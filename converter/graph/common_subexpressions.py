"""Eliminates common subexpressions: merges nodes that compute the same value."""

from __future__ import annotations

from typing import Any

from converter.graph.graph_view import View

_COMMUTATIVE = {"AddV2", "Mul", "Maximum", "Minimum", "Equal", "NotEqual", "LogicalAnd", "LogicalOr"}
# Size in bytes above which constants are not compared.
_SMALL = 1 << 12


def share_common(view: View) -> None:
    """Lets readers of a duplicate node read the first equal node; nodes have no side effects."""
    changed = True
    while changed:
        changed = False
        first: dict[Any, Any] = {}
        for node in list(view.nodes.values()):
            if not view.is_alive(node) or node.op == "Placeholder" or not _is_used(view, node):
                continue
            key = _key(node)
            original = first.setdefault(key, node) if key is not None else node
            if original is not node and view.is_alive(original):
                changed = True
                # A node is gone once its last output that is read has another maker.
                for tensor in [tensor for tensor in view.tensors(node) if view.users(tensor)]:
                    view.replace(tensor, tensor.replace(node.name, original.name, 1))


def _is_used(view: View, node: Any) -> bool:
    return any(view.users(tensor) for tensor in view.tensors(node))


def _key(node: Any) -> Any:
    if node.op == "Const" and node.attr["value"].ByteSize() > _SMALL:
        return None
    inputs = sorted(node.input) if node.op in _COMMUTATIVE else list(node.input)
    attributes = tuple(
        (key, node.attr[key].SerializeToString(deterministic=True)) for key in sorted(node.attr)
    )
    return node.op, tuple(inputs), attributes
