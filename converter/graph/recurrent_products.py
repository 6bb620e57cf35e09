"""Products of unrolled recurrent layers: what is done for each time step alone is done for all at once."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import tensorflow as tf

from converter.graph.graph_view import View

# Fewer than this are not worth a concatenation.
FEWEST = 3


def sum_of_products(view: View) -> None:
    """A kernel's gradient, sum_t a_t' x g_t, becomes [a_1; a_2; ...]' x [g_1; g_2; ...]; so a bias'."""
    for node in view.all("AddN"):
        if not view.users(node.name):
            continue
        terms = [view.maker(tensor) for tensor in node.input]
        private = [term for term in terms if view.is_private(term.name)]
        products = [t for t in private if t.op == "MatMul" and _flags(t) == (True, False)]
        biases = [t for t in private if t.op == "BiasAddGrad" and len(view.shape(t.input[0])) == 2]
        for alike in (products, biases):
            if len(alike) < FEWEST:
                continue
            # One order for kernel and bias, so that they share the concatenated gradients.
            alike.sort(key=lambda term: str(term.input[-1]))
            joined = [
                _stacked(view, [str(t.input[i]) for t in alike], node) for i in range(len(alike[0].input))
            ]
            whole = view.add(alike[0].op, joined, view.shape(node.name), node)
            _copy_attributes(alike[0], view.maker(whole))
            names = {term.name for term in alike}
            rest = [str(tensor) for tensor in node.input if tensor not in names]
            total = _sum(view, [*rest, whole], node)
            view.replace(node.name, total)
            break


def products_of_steps(view: View) -> None:
    """x_t x w for every t, where no x_t waits for another product, becomes one product of all rows."""
    groups = defaultdict(list)
    for node in view.all("MatMul"):
        if not node.attr["transpose_a"].b and view.users(node.name):
            key = (str(node.input[1]), node.attr["transpose_b"].b, view.shape(node.name))
            groups[key].append(node)
    for (weights, transposed, shape), nodes in groups.items():
        alive = [node for node in nodes if view.is_alive(node)]
        lefts = [str(node.input[0]) for node in alive]
        names = {node.name for node in alive}
        if len(alive) < FEWEST or any(view.reaches(left, names) for left in [*lefts, weights]):
            continue
        rows = shape[0] * len(alive)
        whole = view.add(
            "MatMul",
            [_stacked(view, lefts, alive[0]), weights],
            (rows, shape[1]),
            alive[0],
            T=tf.float32,
            transpose_a=False,
            transpose_b=transposed,
        )
        parts = view.split(whole, len(alive), alive[0])
        for node, part in zip(alive, parts, strict=True):
            view.replace(node.name, part)


def join_unpacked(view: View) -> None:
    """Rows taken apart along the first axis and put together again are a reshape."""
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
