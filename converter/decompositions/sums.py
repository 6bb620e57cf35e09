"""Adds tensors with a fixed batch as Keras adds them with an open one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf
from keras.src.backend.tensorflow import numpy as keras_numpy

from converter.tracing.attribute_patch import patched_attributes


def make_add(original: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Replaces Keras' `add`, which takes [B, 1] for a bias of [B, C] where a fixed B equals C.

    In `fit` the batch is open, and the same layers add a number to each row.
    """

    def add(x1: Any, x2: Any) -> Any:
        first, second = (tuple(getattr(x, "shape", ())) for x in (x1, x2))
        is_of_rows = len(first) == len(second) > 1 and first[0] == second[0] and set(second[1:]) == {1}
        if is_of_rows and first[0] in (first[1], first[-1]) and x1.dtype == x2.dtype:
            return tf.add(x1, x2)
        return original(x1, x2)

    return add


@contextmanager
def open_batch_sums() -> Iterator[None]:
    """While open, Keras adds as if the length of the batch were unknown."""
    with patched_attributes(keras_numpy, {"add": make_add(keras_numpy.add)}):
        yield
