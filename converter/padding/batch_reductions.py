"""Sums and means that a model takes over its batch, as in `add_loss`: over the rows that exist."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf
from keras.src.backend.tensorflow import numpy as keras_numpy

from converter.padding.real_rows import Rows, to_rank
from converter.tracing.attribute_patch import replaced


class RowReductions:
    """Stands for Keras' `sum` and `mean` where they reduce the first axis of what the inputs became."""

    def __init__(self, rows: Rows, inputs: Sequence[Any]) -> None:
        self._rows = rows
        self._inputs = {tensor.op for tensor in inputs}
        self._sum, self._mean = keras_numpy.sum, keras_numpy.mean

    def sum(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """As `keras.ops.sum`, without rows that do not exist."""
        if self._reduced(x, axis) is not None:
            x = x * tf.cast(to_rank(self._rows.exists, len(x.shape)), x.dtype)
        return self._sum(x, axis, keepdims)

    def mean(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """As `keras.ops.mean`, of rows that exist."""
        reduced = self._reduced(x, axis)
        if reduced is None:
            return self._mean(x, axis, keepdims)
        inner = math.prod(x.shape[a] for a in reduced if a != 0)
        exists = to_rank(self._rows.exists, len(x.shape))
        total = self._sum(tf.cast(x, tf.float32) * exists, axis, keepdims)
        return tf.math.divide_no_nan(total, self._rows.count * float(inner))

    def _reduced(self, x: Any, axis: Any) -> list[int] | None:
        """The axes that are reduced, if rows are among them."""
        shape = getattr(x, "shape", None)
        if not shape or shape[0] != self._rows.exists.shape[0]:
            return None
        axes = range(len(shape)) if axis is None else axis if isinstance(axis, list | tuple) else [axis]
        reduced = [a % len(shape) for a in axes]
        return reduced if 0 in reduced and self._comes_from_inputs(x) else None

    def _comes_from_inputs(self, x: Any) -> bool:
        # A weight may have as many rows as a batch.
        waiting, seen = [getattr(x, "op", None)], set()
        while waiting:
            op = waiting.pop()
            if op in self._inputs:
                return True
            if op is not None and op not in seen:
                seen.add(op)
                waiting.extend(tensor.op for tensor in op.inputs)
        return False


@contextmanager
def exact_reductions(rows: Rows, inputs: Sequence[Any]) -> Iterator[None]:
    """While open, what layers sum or average over their batch leaves out rows that do not exist."""
    own = RowReductions(rows, inputs)
    with replaced(keras_numpy, {"sum": own.sum, "mean": own.mean}):
        yield
