"""Merges per-step products of unrolled recurrent layers into one product over all steps."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import tensorflow as tf

from converter.graph.graph_view import View

# With fewer terms a concatenation costs more than it saves.
MIN_TERMS = 3


def sum_of_products(view: View) -> None:
    """Turns a kernel's gradient, sum_t a_t' x g_t, into [a_1; a_2; ...]' x [g_1; g_2; ...].

    A bias' gradient is merged in the same way.
    """
    for node in view.all("AddN"):
        if not view.users(node.name):
            continue
        terms = [view.maker(tensor) for tensor in node.input]
        private = [term for term in terms if view.is_private(term.name)]
        products = [t for t in private if t.op == "MatMul" and _flags(t) == (True, False)]
        biases = [t for t in private if t.op == "BiasAddGrad" and len(view.shape(t.input[0])) == 2]
        for similar in (products, biases):
            if len(similar) < MIN_TERMS:
                continue
            # Kernel and bias use the same order, so that they share the concatenated gradients.
            similar.sort(key=lambda term: str(term.input[-1]))
            joined = [
                _stacked(view, [str(t.input[i]) for t in similar], node) for i in range(len(similar[0].input))
            ]
            merged = view.add(similar[0].op, joined, view.shape(node.name), node)
            _copy_attributes(similar[0], view.maker(merged))
            names = {term.name for term in similar}
            rest = [str(tensor) for tensor in node.input if tensor not in names]
            total = _sum(view, [*rest, merged], node)
            view.replace(node.name, total)
            break


def products_of_steps(view: View) -> None:
    """Turns x_t x w for all t into one product of all rows, if no x_t depends on another product."""
    groups = defaultdict(list)
    for node in view.all("MatMul"):
        if not node.attr["transpose_a"].b and view.users(node.name):
            key = (str(node.input[1]), node.attr["transpose_b"].b, view.shape(node.name))
            groups[key].append(node)
    for (weights, transposed, shape), nodes in groups.items():
        live_nodes = [node for node in nodes if view.is_alive(node)]
        lefts = [str(node.input[0]) for node in live_nodes]
        names = {node.name for node in live_nodes}
        if len(live_nodes) < MIN_TERMS or any(view.reaches(left, names) for left in [*lefts, weights]):
            continue
        rows = shape[0] * len(live_nodes)
        merged = view.add(
            "MatMul",
            [_stacked(view, lefts, live_nodes[0]), weights],
            (rows, shape[1]),
            live_nodes[0],
            T=tf.float32,
            transpose_a=False,
            transpose_b=transposed,
        )
        parts = view.split(merged, len(live_nodes), live_nodes[0])
        for node, part in zip(live_nodes, parts, strict=True):
            view.replace(node.name, part)


def join_unpacked(view: View) -> None:
    """Replaces rows that are unpacked along the first axis and joined again by a reshape."""
    for node in view.all("ConcatV2"):
        parts = [str(tensor) for tensor in node.input[:-1]]
        source = view.maker(parts[0])
        axis = view.value(node.input[-1])
        if source.op != "Unpack" or source.attr["axis"].i != 0 or axis is None or int(axis) != 0:
            continue
        if parts == view.tensors(source) and view.users(node.name):
            view.replace(node.name, view.reshape(str(source.input[0]), view.shape(node.name), node))


def _flags(node: Any) -> tuple[bool, bool]:
    return node.attr["transpose_a"].b, node.attr["transpose_b"].b


def _stacked(view: View, tensors: list[str], near: Any) -> str:
    shape = view.shape(tensors[0])
    rows = sum(view.shape(tensor)[0] for tensor in tensors)
    inputs = [*tensors, view.constant(0, np.int32, near)]
    return view.add("ConcatV2", inputs, (rows, *shape[1:]), near, T=tf.float32, Tidx=tf.int32, N=len(tensors))


def _sum(view: View, tensors: list[str], near: Any) -> str:
    if len(tensors) == 1:
        return tensors[0]
    return view.add("AddN", tensors, view.shape(near.name), near, T=tf.float32, N=len(tensors))


def _copy_attributes(source: Any, target: Any) -> None:
    for key in source.attr:
        target.attr[key].CopyFrom(source.attr[key])
