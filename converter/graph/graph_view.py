"""Lets passes read and rewrite a frozen graph: producers, users, shapes, constants."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

Shape = tuple[int, ...]
FLOAT = tf.float32.as_datatype_enum


class View:
    """One GraphDef that passes rewrite; owns its nodes.

    A tensor is named `node` or `node:index`. Inputs (placeholders) and the nodes named in `outputs` always
    stay; other nodes are dropped when they have no users.
    """

    def __init__(self, graph_def: Any, outputs: Iterable[str]) -> None:
        self.nodes: dict[str, Any] = {}
        self._versions, self._outputs = graph_def.versions, frozenset(outputs)
        self._shapes: dict[str, Shape] = {}
        self._types: dict[str, int] = {}
        self._users: dict[str, list[tuple[str, int]]] = {}
        graph = tf.Graph()
        with graph.as_default():
            tf.import_graph_def(graph_def, name="")
        for op in graph.get_operations():
            for tensor in op.outputs:
                self._declare(
                    _plain(tensor.name), tuple(tensor.shape.as_list()), tensor.dtype.as_datatype_enum
                )
        for node in graph_def.node:
            copy = tf.compat.v1.NodeDef()
            copy.CopyFrom(node)
            # Control edges order side effects, which no node has.
            copy.input[:] = [_plain(tensor) for tensor in node.input if not tensor.startswith("^")]
            self._insert(copy)

    def all(self, *ops: str) -> list[Any]:
        """Returns the nodes of these ops in a stable order; a pass may rewrite while it iterates."""
        return [node for node in self.nodes.values() if node.op in ops]

    def is_alive(self, node: Any) -> bool:
        """Returns False once a rewrite has dropped the node."""
        return self.nodes.get(node.name) is node

    def maker(self, tensor: str) -> Any:
        """Returns the node that produces a tensor."""
        return self.nodes[tensor.partition(":")[0]]

    def users(self, tensor: str) -> list[tuple[Any, int]]:
        """Returns (node, input index) for every reader of the tensor."""
        return [(self.nodes[name], index) for name, index in self._users.get(tensor, [])]

    def is_private(self, tensor: str) -> bool:
        """Returns whether the tensor has a single reader and is not an output of the graph."""
        return len(self._users.get(tensor, [])) == 1 and tensor not in self._outputs

    def shape(self, tensor: str) -> Shape:
        return self._shapes[tensor]

    def size(self, tensor: str) -> int:
        return math.prod(self._shapes[tensor])

    def type(self, tensor: str) -> int:
        """Returns the element type as TensorFlow's enum value."""
        return self._types[tensor]

    def value(self, tensor: str) -> NDArray[Any] | None:
        """Returns the array of a constant, or None for anything else."""
        node = self.maker(tensor)
        if node.op != "Const":
            return None
        array: NDArray[Any] = tf.make_ndarray(node.attr["value"].tensor)
        return array

    def scalar(self, tensor: str) -> float | None:
        """Returns the number in a float32 constant of one element, or None for anything else."""
        if self.type(tensor) != FLOAT or self.size(tensor) != 1:
            return None
        value = self.value(tensor)
        return None if value is None else float(value.reshape(()))

    def constant(self, value: Any, dtype: Any, near: Any) -> str:
        """Adds a constant; `near` is a node that gives its scope."""
        proto = tf.make_tensor_proto(np.asarray(value, dtype))
        attributes = {"dtype": tf.as_dtype(proto.dtype), "value": proto}
        return self.add("Const", [], np.shape(value), near, proto.dtype, **attributes)

    def add(
        self,
        op: str,
        inputs: list[str],
        shape: Iterable[int],
        near: Any,
        kind: int = FLOAT,
        **attributes: Any,
    ) -> str:
        """Adds a node with one output and returns its name.

        Attributes are Python values, DType, TensorProto or lists of them.
        """
        node = tf.compat.v1.NodeDef(name=self._fresh(f"{near.name}/{op}"), op=op, input=inputs)
        for key, value in attributes.items():
            _set_attribute(node.attr[key], value)
        self._declare(node.name, tuple(int(n) for n in shape), kind)
        self._insert(node)
        return str(node.name)

    def reshape(self, tensor: str, shape: Iterable[int], near: Any) -> str:
        """Returns the tensor in another shape, or itself if it has that shape."""
        target = tuple(shape)
        if target == self.shape(tensor):
            return tensor
        kind = tf.as_dtype(self.type(tensor))
        inputs = [tensor, self.constant(target, np.int32, near)]
        return self.add("Reshape", inputs, target, near, self.type(tensor), T=kind, Tshape=tf.int32)

    def split(self, tensor: str, count: int, near: Any) -> list[str]:
        """Splits the tensor into `count` equal parts along its first axis."""
        rows, *rest = self.shape(tensor)
        inputs = [self.constant(0, np.int32, near), tensor]
        name = self.add("Split", inputs, (rows // count, *rest), near, T=tf.float32, num_split=count)
        for index in range(1, count):
            self._declare(f"{name}:{index}", (rows // count, *rest), FLOAT)
        return self.tensors(self.nodes[name])

    def replace(self, old: str, new: str) -> None:
        """Redirects all readers of `old` to `new`."""
        for name, index in self._users.pop(old, []):
            self.nodes[name].input[index] = new
            self._users.setdefault(new, []).append((name, index))
        self._drop_if_unused(self.maker(old))

    def rewire(self, node: Any, index: int, tensor: str) -> None:
        """Replaces one input of a node by another tensor."""
        old = node.input[index]
        self._users[old].remove((node.name, index))
        node.input[index] = tensor
        self._users.setdefault(tensor, []).append((node.name, index))
        self._drop_if_unused(self.maker(old))

    def reaches(self, start: str, goals: set[str]) -> bool:
        """Returns whether the tensor `start` is computed from a node named in `goals`."""
        stack, seen = [start.partition(":")[0]], set()
        while stack:
            name = stack.pop()
            if name in goals:
                return True
            if name not in seen:
                seen.add(name)
                stack.extend(tensor.partition(":")[0] for tensor in self.nodes[name].input)
        return False

    def graph_def(self) -> Any:
        """Returns the rewritten GraphDef, with every node after its inputs."""
        result = tf.compat.v1.GraphDef(versions=self._versions)
        done: set[str] = set()
        for name in self.nodes:
            stack = [name]
            while stack:
                node = self.nodes[stack[-1]]
                missing = [m for m in (t.partition(":")[0] for t in node.input) if m not in done]
                if missing:
                    stack.extend(missing)
                    continue
                stack.pop()
                if node.name not in done:
                    done.add(node.name)
                    result.node.append(node)
        return result

    def _declare(self, tensor: str, shape: Shape, dtype: int) -> None:
        self._shapes[tensor], self._types[tensor] = shape, dtype

    def _insert(self, node: Any) -> None:
        self.nodes[node.name] = node
        for index, tensor in enumerate(node.input):
            self._users.setdefault(tensor, []).append((node.name, index))

    def _drop_if_unused(self, node: Any) -> None:
        stack = [node]
        while stack:
            node = stack.pop()
            if not self.is_alive(node) or node.op == "Placeholder" or node.name in self._outputs:
                continue
            if any(self._users.get(tensor) for tensor in self.tensors(node)):
                continue
            del self.nodes[node.name]
            for index, tensor in enumerate(node.input):
                self._users[tensor].remove((node.name, index))
                stack.append(self.maker(tensor))

    def tensors(self, node: Any) -> list[str]:
        """Returns the names of all outputs of a node."""
        names, index = [str(node.name)], 1
        while f"{node.name}:{index}" in self._shapes:
            names.append(f"{node.name}:{index}")
            index += 1
        return names

    def _fresh(self, name: str) -> str:
        candidate, count = name, 1
        # A dropped node's name stays taken: its shape is still stored under it.
        while candidate in self._shapes:
            candidate, count = f"{name}_{count}", count + 1
        return candidate


def _plain(tensor: str) -> str:
    return tensor.removesuffix(":0")


def _set_attribute(attribute: Any, value: Any) -> None:
    if isinstance(value, bool):
        attribute.b = value
    elif isinstance(value, int):
        attribute.i = value
    elif isinstance(value, float):
        attribute.f = value
    elif isinstance(value, str):
        attribute.s = value.encode()
    elif isinstance(value, tf.DType):
        attribute.type = value.as_datatype_enum
    elif isinstance(value, list):
        attribute.list.SetInParent()
        for item in value:
            if isinstance(item, str):
                attribute.list.s.append(item.encode())
            elif isinstance(item, tf.DType):
                attribute.list.type.append(item.as_datatype_enum)
            else:
                attribute.list.i.append(item)
    else:
        attribute.tensor.CopyFrom(value)
