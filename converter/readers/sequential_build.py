"""Makes Keras build a Sequential model once while it is loaded.

Keras 3.15 builds it again after each of its n layers, by n² / 2 calls: 4 minutes for 900 layers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras

from converter.tracing.attribute_patch import patched_attributes

_add = keras.Sequential.add
_from_config = keras.Sequential.from_config.__func__


def _add_only(model: Any, layer: Any, rebuild: bool = True) -> None:  # noqa: ARG001 - as Keras calls it
    _add(model, layer, rebuild=False)


def _built_from_config(cls: Any, config: Any, custom_objects: Any = None) -> Any:
    with patched_attributes(keras.Sequential, {"add": _add_only}):
        model = _from_config(cls, config, custom_objects)
    if not model.built and model._layers:
        model._maybe_rebuild()
    return model


@contextmanager
def sequentials_built_once() -> Iterator[None]:
    """While open, Keras builds each Sequential that it loads when its last layer is known."""
    keras.Sequential.from_config = classmethod(_built_from_config)
    try:
        yield
    finally:
        keras.Sequential.from_config = classmethod(_from_config)
