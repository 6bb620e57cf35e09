"""Counts a model's layers in its configuration, before Keras builds any of them."""

from __future__ import annotations

from typing import Any

from converter.refusal import Refusal

# The largest network of keras.applications, NASNetLarge, has 1,039.
MAX_LAYERS = 2000
# Where layers hold other layers: wrappers, recurrent layers, stacked cells.
_HELD = ("layer", "backward_layer", "cell", "cells")


def check_layer_count(config: Any, name: str) -> None:
    """Refuses a configuration that calls layers more than MAX_LAYERS times; `name` is the file's."""
    count = layer_calls(config)
    if count > MAX_LAYERS:
        raise Refusal(
            f"The model in {name} has {count:,} layers, where a shared layer counts at each call; at most "
            f"{MAX_LAYERS:,} are possible. Use fewer, wider layers."
        )


def layer_calls(entry: Any) -> int:
    """Returns how many layers one pass runs: layers of a nested model count at each of its calls."""
    settings = entry.get("config") if isinstance(entry, dict) else None
    if not isinstance(settings, dict):
        return 0
    layers = settings.get("layers")
    if isinstance(layers, list):
        count = sum(map(layer_calls, layers))
    else:
        count = 1 + sum(layer_calls(layer) for layer in _held(settings))
    nodes = entry.get("inbound_nodes")
    return count * (len(nodes) if isinstance(nodes, list) and nodes else 1)


def _held(settings: dict[str, Any]) -> list[Any]:
    values = [settings[key] for key in _HELD if key in settings]
    return [layer for value in values for layer in (value if isinstance(value, list) else [value])]
