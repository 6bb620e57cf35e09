"""Restricts a model's sums and means over its batch, as in `add_loss`, to the real rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf
from keras.src.backend.tensorflow import numpy as keras_numpy

from converter.padding.real_rows import Rows, to_rank
from converter.tracing.attribute_patch import patched_attributes

Reduction = Callable[[Any, Any, bool], Any]


class RowReductions:
    """Replaces `total` and `average`, a sum and a mean, over the batch axis of values from `inputs`."""

    def __init__(self, rows: Rows, inputs: Sequence[Any], total: Reduction, average: Reduction) -> None:
        self._rows = rows
        self._inputs = {tensor.op for tensor in inputs}
        self._sum, self._mean = total, average

    def sum(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """Sums without padded rows."""
        if self._reduced(x, axis) is not None:
            x = x * tf.cast(to_rank(self._rows.exists, len(x.shape)), x.dtype)
        return self._sum(x, axis, keepdims)

    def mean(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """Averages over real rows."""
        reduced = self._reduced(x, axis)
        if reduced is None:
            return self._mean(x, axis, keepdims)
        inner = math.prod(x.shape[a] for a in reduced if a != 0)
        exists = to_rank(self._rows.exists, len(x.shape))
        total = self._sum(tf.cast(x, tf.float32) * exists, axis, keepdims)
        return tf.math.divide_no_nan(total, self._rows.count * float(inner))

    def _reduced(self, x: Any, axis: Any) -> list[int] | None:
        """Returns the reduced axes if the batch axis is among them, else None."""
        shape = getattr(x, "shape", None)
        if not shape or shape[0] != self._rows.exists.shape[0]:
            return None
        axes = range(len(shape)) if axis is None else axis if isinstance(axis, list | tuple) else [axis]
        reduced = [a % len(shape) for a in axes]
        return reduced if 0 in reduced and self._comes_from_inputs(x) else None

    def _comes_from_inputs(self, x: Any) -> bool:
        # A weight may have as many rows as a batch, so the values' origin decides.
        stack, seen = [getattr(x, "op", None)], set()
        while stack:
            op = stack.pop()
            if op in self._inputs:
                return True
            if op is not None and op not in seen:
                seen.add(op)
                stack.extend(tensor.op for tensor in op.inputs)
        return False


@contextmanager
def exact_reductions(rows: Rows, inputs: Sequence[Any]) -> Iterator[None]:
    """While open, sums and means of layers over their batch leave out padded rows."""
    reductions = RowReductions(rows, inputs, keras_numpy.sum, keras_numpy.mean)
    with patched_attributes(keras_numpy, {"sum": reductions.sum, "mean": reductions.mean}):
        yield
