"""Finds the model's ports: names, shapes, dtypes and order of its inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from keras import tree

from converter.refusal import Refusal


@dataclass(frozen=True)
class Port:
    """One array of a batch: its name, its shape without the batch axis, `float32` or `int32`.

    `classes` is the number of classes where the values are class numbers.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    classes: int | None = None


@dataclass(frozen=True)
class ModelPorts:
    """The input and output ports in Keras' flattened order.

    Ports of a dict have its keys as names, by which `Model.fit` and `Model.compile` match; others the names
    of their layers.
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    structure: Any

    def pack(self, tensors: Iterable[Any]) -> Any:
        """Packs input tensors into the nesting that the model was built with."""
        return tree.pack_sequence_as(self.structure, list(tensors))


def find_ports(model: Any) -> ModelPorts:
    """Returns the ports of a functional or sequential model.

    Raises Refusal for dtypes that no shard holds.
    """
    graph = getattr(model, "_functional", None) or model
    inputs = [
        Port(name, _shape(tensor), _port_dtype(name, tensor.dtype))
        for name, tensor in zip(
            _keys(graph._inputs_struct) or _unique([t.name for t in model.inputs]), model.inputs, strict=True
        )
    ]
    outputs = [
        Port(name, _shape(tensor), "float32")
        for name, tensor in zip(
            _keys(graph._outputs_struct) or _unique(graph.output_names), model.outputs, strict=True
        )
    ]
    return ModelPorts(tuple(inputs), tuple(outputs), graph._inputs_struct)


def _keys(structure: Any) -> list[str]:
    """Returns the keys of a flat dict in the order of its flattened values; [] for anything else."""
    if not isinstance(structure, dict) or any(tree.is_nested(value) for value in structure.values()):
        return []
    order = tree.pack_sequence_as(structure, list(range(len(structure))))
    return sorted(map(str, structure), key=lambda key: int(order[key]))


def _shape(tensor: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in tensor.shape[1:])


def _unique(names: list[str]) -> list[str]:
    """Numbers repeated names: several outputs of one layer share its name."""
    counts: dict[str, int] = {}
    unique = []
    for name in names:
        count = counts[name] = counts.get(name, 0) + 1
        unique.append(name if count == 1 else f"{name}_{count - 1}")
    return unique


def _port_dtype(name: str, dtype: str) -> str:
    if dtype in ("float32", "int32"):
        return dtype
    if dtype in ("int64", "bool"):
        # The model casts its inputs to what they were declared as.
        return "int32"
    if dtype == "string":
        raise Refusal(
            f"The input {name} takes text, but shards hold numbers; turn the text into numbers when you "
            "write the shards (StringLookup or TextVectorization), and declare the input as int32."
        )
    raise Refusal(f"The input {name} is {dtype}; declare it as float32 or int32.")
