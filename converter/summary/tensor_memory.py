"""Computes which tensors of a frozen graph live at the same time, and their size."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

# TF.js stores numbers, including booleans, in 32 bits on its GPU backends; the bundle's integers have 32
# bits.
BYTES_PER_VALUE = 4

# The output of these ops shares the memory of their first input.
VIEWS = {"ExpandDims", "Identity", "Reshape", "Squeeze", "StopGradient"}


@dataclass(frozen=True)
class Footprint:
    """Bytes of one run of a graph: the inputs, the constants, and the peak of all other live tensors."""

    inputs: int
    constants: int
    intermediates: int


def footprint(graph: Any, outputs: Collection[str]) -> Footprint:
    """Returns the footprint of a tf.Graph with static shapes and output nodes named `outputs`.

    Ops run one after the other as in TF.js' executor, which frees a tensor after its last reader; outputs,
    inputs and constants stay. An op's own scratch memory and allocator overhead are not counted.
    """
    order = execution_order(graph)
    owners: dict[str, str] = {}
    for op in order:
        for tensor in op.outputs:
            owners[tensor.name] = owners[op.inputs[0].name] if op.type in VIEWS else tensor.name
    last_read = _last_readers(order, owners, outputs)
    leaving: dict[int, int] = {}
    live = peak = 0
    for position, op in enumerate(order):
        for tensor in () if op.type in (*VIEWS, "Const", "Placeholder") else op.outputs:
            live += size(tensor)
            until = last_read.get(tensor.name, position)
            leaving[until] = leaving.get(until, 0) + size(tensor)
        peak = max(peak, live)
        live -= leaving.pop(position, 0)
    return Footprint(_total(order, "Placeholder"), _total(order, "Const"), peak)


def execution_order(graph: Any) -> list[Any]:
    """Returns all ops, each after its inputs; the op that became ready last runs first, as in TF.js."""
    ops = graph.get_operations()
    missing = {op.name: len(op.inputs) for op in ops}
    frontier = [op for op in ops if not op.inputs]
    order = list(frontier)
    while frontier:
        for tensor in frontier.pop().outputs:
            # An op that reads this tensor twice is listed twice.
            for reader in tensor.consumers():
                missing[reader.name] -= 1
                if not missing[reader.name]:
                    order.append(reader)
                    frontier.append(reader)
    return order


def size(tensor: Any) -> int:
    """Returns the bytes of a tensor of static shape."""
    shape: list[int] = tensor.shape.as_list()
    return BYTES_PER_VALUE * math.prod(shape)


def _last_readers(order: list[Any], owners: dict[str, str], outputs: Collection[str]) -> dict[str, int]:
    """Returns for the owner of each memory the position of the last op that reads or returns it."""
    last: dict[str, int] = {}
    for position, op in enumerate(order):
        last |= {owners[tensor.name]: position for tensor in op.inputs}
    for op in order:
        if op.name in outputs:
            last |= {owners[tensor.name]: len(order) for tensor in op.outputs}
    return last


def _total(order: list[Any], kind: str) -> int:
    return sum(size(tensor) for op in order if op.type == kind for tensor in op.outputs)
