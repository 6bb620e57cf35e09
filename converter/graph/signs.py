"""Folds signs and constant factors: negations become subtractions, two factors one."""

from __future__ import annotations

from typing import Any

import numpy as np

from converter.graph.graph_view import View


def fold_signs(view: View) -> None:
    """Turns x + (-y) into x - y, x - (-y) into x + y, and (-x) squared into x squared."""
    for node in view.all("AddV2", "AddN", "Sub", "Square", "Neg"):
        if not view.is_alive(node) or not view.users(node.name):
            continue
        negated = [index for index, tensor in enumerate(node.input) if view.maker(tensor).op == "Neg"]
        if (
            not negated
            or (node.op == "AddN" and len(node.input) > 2)
            or (node.op == "Sub" and 1 not in negated)
        ):
            continue
        index = negated[-1]
        inner = str(view.maker(node.input[index]).input[0])
        if node.op == "Neg":
            view.replace(node.name, inner)
        elif node.op == "Square":
            view.rewire(node, 0, inner)
        elif len(negated) == 1 or node.op == "Sub":
            other = str(node.input[1 - index])
            op = "AddV2" if node.op == "Sub" else "Sub"
            _replace_binary(view, node, op, [other, inner])


def plain_sums(view: View) -> None:
    """Turns AddN of two tensors into an ordinary addition, which more kernels can be fused with."""
    for node in view.all("AddN"):
        if len(node.input) == 2 and view.users(node.name):
            _replace_binary(view, node, "AddV2", [str(tensor) for tensor in node.input])


def fold_factors(view: View) -> None:
    """Turns (x * a) * b into x * (a * b), and -(x * a) into x * (-a), for constant numbers a, b."""
    for node in view.all("Mul", "Neg"):
        if not view.is_alive(node) or not view.users(node.name):
            continue
        outer = _factor(view, node)
        inner_tensor = None if outer is None else outer[0]
        if inner_tensor is None or not view.is_private(inner_tensor):
            continue
        inner = _factor(view, view.maker(inner_tensor))
        if outer is None or inner is None or view.shape(inner[0]) != view.shape(node.name):
            continue
        factor = view.constant(np.float32(outer[1] * inner[1]), np.float32, node)
        _replace_binary(view, node, "Mul", [inner[0], factor])


def _factor(view: View, node: Any) -> tuple[str, float] | None:
    """Returns (x, a) where the node computes x * a for a constant number a, else None."""
    if node.op == "Neg":
        return str(node.input[0]), -1.0
    if node.op == "Mul":
        for index in (0, 1):
            number = view.scalar(node.input[index])
            if number is not None:
                return str(node.input[1 - index]), number
    return None


def _replace_binary(view: View, node: Any, op: str, inputs: list[str]) -> None:
    kind = view.type(node.name)
    new = view.add(op, inputs, view.shape(node.name), node, kind)
    view.maker(new).attr["T"].type = kind
    view.replace(node.name, new)
