"""Keeps the gradient out of state that a layer assigns, as an assignment to a variable does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import tensorflow as tf

from converter.tracing.attribute_patch import patched_attributes


@contextmanager
def state_without_gradient() -> Iterator[None]:
    """While open, a layer that reads state after it assigned it gets a constant.

    Keras' stateless scope hands out the assigned tensor itself, through which a gradient would flow. A real
    variable forgets how its value was made.
    """
    add_update = keras.StatelessScope.add_update

    def add(scope: Any, update: tuple[Any, Any]) -> None:
        variable, value = update
        add_update(scope, (variable, tf.stop_gradient(value)))

    with patched_attributes(keras.StatelessScope, {"add_update": add}):
        yield


def state_warnings(names: list[str]) -> list[str]:
    """Returns a sentence about state, by `names`, that layers change outside of training as well."""
    if not names:
        return []
    return [
        f"Layers change {', '.join(names)[:200]} outside of training, too. In Keras a prediction or "
        "evaluation leaves that behind; a bundle's does not. Change it only where `training` is true."
    ]
