"""Finds numbers that a model reads from layers outside of it, which are never trained."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import keras
from keras import tree
from keras.src.models import Functional

# Sentences of this kind at most; a manifest holds 16 of all kinds.
MAX_WARNINGS = 15


def constant_warnings(model: Any) -> list[str]:
    """Returns a sentence for each layer or operation that is called with an array of constant floats.

    Keras saves what a layer computed before the model was built, such as an embedding of positions, as such
    an array, without the layer.
    """
    sentences = [
        f"The layer {operation.name[:100]} takes {' x '.join(map(str, shape))} constant numbers. If a layer "
        "made them, such as an Embedding of positions, its weights are no part of the model and are never "
        "trained: call it on something that comes from the model's input, such as "
        "keras.ops.cumsum(keras.ops.ones_like(x), -1) - 1."
        for operation in _operations(model)
        for shape in _constant_shapes(operation)
    ]
    return sentences[:MAX_WARNINGS]


def _operations(model: Any) -> Iterator[Any]:
    for layer in model._flatten_layers():
        graph = getattr(layer, "_functional", None) or layer
        if isinstance(graph, Functional):
            yield from graph.operations


def _constant_shapes(operation: Any) -> list[tuple[int, ...]]:
    given = [(node.arguments.args, node.arguments.kwargs) for node in operation._inbound_nodes]
    return [
        tuple(value.shape)
        for value in tree.flatten(given)
        if hasattr(value, "dtype")
        and not isinstance(value, keras.KerasTensor)
        and keras.backend.is_float_dtype(keras.backend.standardize_dtype(value.dtype))
        and math.prod(value.shape) > 1
    ]
