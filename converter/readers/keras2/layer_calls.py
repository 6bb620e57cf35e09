"""Converts calls in functional models from Keras 2's `[layer, call, tensor, arguments]` to Keras 3's."""

from __future__ import annotations

from typing import Any

from converter.refusal import Refusal


def first_calls(config: dict[str, Any]) -> dict[str, int]:
    """Returns the number of the first call of each nested model.

    Keras 2 and TF.js count the call that built a nested model as number 0 if it had an input of its own;
    Keras 3 does not. The smallest number in use is therefore the first.
    """
    nested = {str(layer.get("name")) for layer in config["layers"] if "layers" in (layer.get("config") or {})}
    first: dict[str, int] = {}
    stack: list[Any] = [[layer.get("inbound_nodes") for layer in config["layers"]], config["output_layers"]]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            stack.extend(node.values())
        elif _is_tensor(node) and node[0] in nested:
            first[node[0]] = min(node[1], first.get(node[0], node[1]))
        if isinstance(node, list):
            stack.extend(child for child in node if isinstance(child, list | dict))
    return first


def call_arguments(node: Any, name: str, first: dict[str, int], recurrent: bool) -> dict[str, Any]:
    """Returns Keras 3's `{"args": ..., "kwargs": ...}` of one call of the layer `name`.

    Raises Refusal.
    """
    if isinstance(node, dict):
        inputs: Any = {key: _tensor(value, first) for key, value in node.items() if _is_tensor(value)}
        return {"args": [inputs], "kwargs": {}}
    entries = [node] if _is_tensor(node) else node
    if not isinstance(entries, list) or not entries or not all(_is_tensor(entry) for entry in entries):
        raise Refusal(
            f"The layer {name} is called with a constant or in an unknown way; call it on layers' outputs."
        )
    options = entries[0][3] if len(entries[0]) > 3 and isinstance(entries[0][3], dict) else {}
    kwargs = {key: _argument(value, first) for key, value in options.items()}
    tensors = [_tensor(entry, first) for entry in entries]
    if recurrent and len(tensors) > 1:
        return {"args": tensors[:1], "kwargs": kwargs | {"initial_state": tensors[1:]}}
    return {"args": [tensors if len(tensors) > 1 else tensors[0]], "kwargs": kwargs}


def output_place(places: Any, first: dict[str, int], kinds: dict[str, str]) -> Any:
    """Returns `output_layers` with Keras 3's call numbers: nested functional models start at 1."""
    if _is_tensor(places):
        name, call, tensor = places[:3]
        base = first.get(name, 0) - (1 if kinds.get(name) == "Functional" else 0)
        return [name, call - base, tensor] if name in first else [name, call, tensor]
    if isinstance(places, dict):
        return {key: output_place(value, first, kinds) for key, value in places.items()}
    return [output_place(place, first, kinds) for place in places]


def _argument(value: Any, first: dict[str, int]) -> Any:
    if _is_tensor(value):
        return _tensor(value, first)
    if isinstance(value, list):
        return [_argument(item, first) for item in value]
    return value


def _is_tensor(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) in (3, 4)
        and isinstance(value[0], str)
        and type(value[1]) is type(value[2]) is int
        and value[0] != "_CONSTANT_VALUE"
    )


def _tensor(place: list[Any], first: dict[str, int]) -> dict[str, Any]:
    # Keras reads only the history; the shape is a placeholder.
    name, call, tensor = place[:3]
    history = [name, call - first.get(name, 0), tensor]
    return {
        "class_name": "__keras_tensor__",
        "config": {"shape": [None], "dtype": "float32", "keras_history": history},
    }
