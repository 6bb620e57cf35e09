"""Lowers an Einsum of two tensors to a batched matrix product, so that transposes can be shared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from converter.graph.graph_view import View


@dataclass(frozen=True)
class _Product:
    """Labels of a product: `batch` stays in operands and output, `contract` is summed, the rest free."""

    left: str
    right: str
    out: str
    batch: str
    contract: str

    @property
    def left_free(self) -> str:
        return "".join(label for label in self.left if label not in self.batch + self.contract)

    @property
    def right_free(self) -> str:
        return "".join(label for label in self.right if label not in self.batch + self.contract)


def lower_einsums(view: View) -> None:
    """Lowers two-operand Einsums; those with ellipses, diagonals or one-sided sums stay."""
    for node in view.all("Einsum"):
        product = _parse(node.attr["equation"].s.decode())
        if product is not None and len(node.input) == 2:
            _lower(view, node, product)


def _parse(equation: str) -> _Product | None:
    sides, _, out = equation.partition("->")
    operands = sides.split(",")
    if len(operands) != 2 or "." in equation or "->" not in equation:
        return None
    left, right = operands
    if any(len(set(labels)) != len(labels) for labels in (left, right, out)):
        return None
    shared = [label for label in left if label in right]
    batch = "".join(label for label in out if label in shared)
    contract = "".join(label for label in shared if label not in out)
    if set(out) != set(left + right) - set(contract):
        return None
    return _Product(left, right, out, batch, contract)


def _lower(view: View, node: Any, product: _Product) -> None:
    sizes = dict(zip(product.left, view.shape(node.input[0]), strict=True))
    sizes |= dict(zip(product.right, view.shape(node.input[1]), strict=True))
    # The operand whose free labels come last in the output is the right one.
    swapped = (
        product.out
        == product.batch + product.right_free + product.left_free
        != product.batch + (product.left_free + product.right_free)
    )
    first, second = (1, 0) if swapped else (0, 1)
    labels = (product.left, product.right)
    frees = (product.left_free, product.right_free)
    a, adjoint_a = _operand(view, node, first, labels[first], product, frees[first], sizes, is_left=True)
    b, adjoint_b = _operand(view, node, second, labels[second], product, frees[second], sizes, is_left=False)
    result_labels = product.batch + frees[first] + frees[second]
    shape = (_count(product.batch, sizes), _count(frees[first], sizes), _count(frees[second], sizes))
    if product.batch:
        result = view.add(
            "BatchMatMulV2", [a, b], shape, node, T=tf.float32, adj_x=adjoint_a, adj_y=adjoint_b
        )
    else:
        result = view.add(
            "MatMul", [a, b], shape[1:], node, T=tf.float32, transpose_a=adjoint_a, transpose_b=adjoint_b
        )
    result = view.reshape(result, [sizes[label] for label in result_labels], node)
    view.replace(node.name, _transposed(view, result, result_labels, product.out, node))


def _operand(
    view: View,
    node: Any,
    index: int,
    labels: str,
    product: _Product,
    free: str,
    sizes: dict[str, int],
    is_left: bool,
) -> tuple[str, bool]:
    """Returns the operand as [batch, rows, columns] or [rows, columns], and whether it is adjoint."""
    plain = (free, product.contract) if is_left else (product.contract, free)
    # An operand in either order that the product can read needs no transpose.
    adjoint = labels == product.batch + plain[1] + plain[0] and labels != product.batch + plain[0] + plain[1]
    rows, columns = (plain[1], plain[0]) if adjoint else plain
    tensor = _transposed(view, str(node.input[index]), labels, product.batch + rows + columns, node)
    shape = [_count(rows, sizes), _count(columns, sizes)]
    return view.reshape(
        tensor, [_count(product.batch, sizes), *shape] if product.batch else shape, node
    ), adjoint


def _transposed(view: View, tensor: str, labels: str, target: str, node: Any) -> str:
    if labels == target:
        return tensor
    order = [labels.index(label) for label in target]
    shape = [view.shape(tensor)[axis] for axis in order]
    inputs = [tensor, view.constant(order, np.int32, node)]
    return view.add("Transpose", inputs, shape, node, view.type(tensor), T=tf.float32, Tperm=tf.int32)


def _count(labels: str, sizes: dict[str, int]) -> int:
    return math.prod(sizes[label] for label in labels)
