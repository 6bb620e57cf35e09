"""Lifts arithmetic on parts of a vector, such as moving averages of layers, to the whole vector."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from converter.graph.graph_view import FLOAT, View

_ELEMENTWISE = ("AddV2", "Sub", "Mul", "AddN")


def lift_arithmetic(view: View) -> None:
    """Turns the join of f(a_1, b_1), f(a_2, b_2), ... into f([a_1, a_2, ...], [b_1, b_2, ...])."""
    for node in view.all("ConcatV2"):
        if not view.is_alive(node) or not view.users(node.name) or not _is_of_vectors(view, node):
            continue
        runs: list[list[str]] = []
        for part in (str(tensor) for tensor in node.input[:-1]):
            if runs and _are_alike(view, runs[-1][0], part):
                runs[-1].append(part)
            else:
                runs.append([part])
        if all(len(run) == 1 for run in runs):
            continue
        lifted = [_lifted(view, run, node) if len(run) > 1 else run[0] for run in runs]
        view.replace(node.name, _joined(view, lifted, node))


def join_split(view: View) -> None:
    """Replaces a vector that is split and joined again by the vector."""
    for node in view.all("ConcatV2"):
        parts = [str(tensor) for tensor in node.input[:-1]]
        source, axis = view.maker(parts[0]), view.value(node.input[-1])
        positions = {"SplitV": (0, 2), "Split": (1, 0)}.get(source.op)
        if positions is None or axis is None or not view.users(node.name) or parts != view.tensors(source):
            continue
        along = view.value(source.input[positions[1]])
        tensor = str(source.input[positions[0]])
        rank = len(view.shape(tensor))
        if along is not None and int(along) % rank == int(axis) % rank:
            view.replace(node.name, tensor)


def _is_of_vectors(view: View, node: Any) -> bool:
    return view.type(node.name) == FLOAT and len(view.shape(node.name)) == 1


def _are_alike(view: View, first: str, second: str) -> bool:
    """Returns whether both are the same private op on vectors of their own length and equal numbers."""
    first_node, second_node = view.maker(first), view.maker(second)
    if (
        first_node.op != second_node.op
        or first_node.op not in _ELEMENTWISE
        or len(first_node.input) != len(second_node.input)
    ):
        return False
    if not view.is_private(first) or not view.is_private(second):
        return False
    for a, b in zip(first_node.input, second_node.input, strict=True):
        numbers = view.scalar(a), view.scalar(b)
        has_own_shapes = (view.shape(a), view.shape(b)) == (view.shape(first), view.shape(second))
        if not has_own_shapes and (numbers[0] is None or numbers[0] != numbers[1]):
            return False
    return True


def _lifted(view: View, run: list[str], near: Any) -> str:
    makers = [view.maker(part) for part in run]
    inputs = []
    for position in range(len(makers[0].input)):
        column = [str(maker.input[position]) for maker in makers]
        is_own = all(view.shape(tensor) == view.shape(part) for tensor, part in zip(column, run, strict=True))
        inputs.append(_joined(view, column, near) if is_own else column[0])
    new = view.add(makers[0].op, inputs, (sum(view.size(part) for part in run),), near)
    for key in makers[0].attr:
        view.maker(new).attr[key].CopyFrom(makers[0].attr[key])
    return new


def _joined(view: View, parts: list[str], near: Any) -> str:
    if len(parts) == 1:
        return parts[0]
    inputs = [*parts, view.constant(0, np.int32, near)]
    shape = (sum(view.size(part) for part in parts),)
    return view.add("ConcatV2", inputs, shape, near, T=tf.float32, Tidx=tf.int32, N=len(parts))
