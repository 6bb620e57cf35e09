"""Assigns a file's arrays to a model's variables, by layer and order or by Keras 2's paths.

A model is filled completely or refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np

from converter.refusal import Refusal

# The groups that hold a model's layers in Keras 2's model.weights.h5, newest first.
_CONTAINERS = ("layers", "_layer_checkpoint_dependencies", "_self_tracked_trackables")


def targets(layer: Any) -> list[Any]:
    """Returns the layer's weights in the order of Keras 2 and TF.js: the trainable ones first."""
    return [*layer.trainable_weights, *layer.non_trainable_weights]


def fill_layers(model: Any, arrays: Mapping[str, Sequence[np.ndarray[Any, Any]]]) -> None:
    """Assigns each layer's arrays in order. Raises Refusal unless every weight gets an array."""
    for layer in model.layers:
        assign(layer.name, targets(layer), arrays.get(layer.name, ()))
    finish(model, {id(v) for layer in model.layers for v in targets(layer)})


def assign(name: str, variables: Sequence[Any], arrays: Sequence[np.ndarray[Any, Any]]) -> None:
    """Assigns arrays one to one to variables of the layer `name`. Raises Refusal if they do not fit."""
    expected = [tuple(v.shape) for v in variables]
    shapes = [tuple(a.shape) for a in arrays]
    if expected != shapes:
        raise Refusal(
            f"The layer {name} needs weights of the shapes {str(expected)[:200]}, but the file has "
            f"{str(shapes)[:200]}; save architecture and weights together with model.save()."
        )
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(np.asarray(array))


def fill_paths(model: Any, config: dict[str, Any], group: Any) -> None:
    """Assigns from Keras 2's model.weights.h5, whose groups are named by class and counted in order."""
    assigned: set[int] = set()
    _fill_model(model, config, group, assigned)
    finish(model, assigned)


def _fill_model(model: Any, config: dict[str, Any], group: Any, assigned: set[int]) -> None:
    container: Any = next((group[name] for name in _CONTAINERS if name in group), {})
    counts: dict[str, int] = {}
    for entry in config["config"]["layers"]:
        kind, name = entry["class_name"], entry["config"]["name"]
        base = _snake(kind)
        number = counts[base] = counts.get(base, -1) + 1
        layer = model.get_layer(name) if kind != "InputLayer" else None
        path = next((p for p in (f"{base}_{number}" if number else base, name) if p in container), None)
        if layer is None or path is None:
            continue
        if isinstance(layer, keras.Model):
            _fill_model(layer, entry, container[path], assigned)
        else:
            _fill_layer(layer, container[path], assigned)


def _fill_layer(layer: Any, group: Any, assigned: set[int]) -> None:
    for key in group:
        child = getattr(layer, key, None) if key.isidentifier() else None
        if key == "vars":
            direct_weights = [
                v for v in targets(layer) if not any(v is w for c in layer._layers for w in targets(c))
            ]
            assign(layer.name, direct_weights, [group[key][str(i)][()] for i in range(len(group[key]))])
            assigned |= {id(v) for v in direct_weights}
        elif isinstance(child, keras.layers.Layer):
            _fill_layer(child, group[key], assigned)


def finish(model: Any, assigned: set[int]) -> None:
    """Refuses a model with a weight whose id is not in `assigned`; refreshes layers that cache weights."""
    for variable in model.weights:
        if id(variable) not in assigned:
            raise Refusal(
                f"The file has no values for the weight {variable.path}; "
                "save architecture and weights together with model.save()."
            )
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Normalization):
            layer.finalize_state()


def _snake(name: str) -> str:
    return re.sub(
        r"(?<=[a-z])([A-Z])", r"_\1", re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", re.sub(r"\W+", "", name))
    ).lower()
