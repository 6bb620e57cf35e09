"""Reduces the values of a padded batch to the sums and means of its real rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import tensorflow as tf


@dataclass(frozen=True)
class Rows:
    """The rows of a batch: `weight` [B] are sample weights, `exists` [B] is 1.0, or 0.0 for padding."""

    weight: Any
    exists: Any

    @staticmethod
    def of(sample_weight: Any) -> Rows:
        """Builds the rows; a row is real if its sample weight is above zero."""
        return Rows(sample_weight, tf.cast(sample_weight > 0.0, tf.float32))

    @property
    def count(self) -> Any:
        """Returns the number of real rows, a scalar."""
        return tf.reduce_sum(self.exists)


def to_rank(tensor: Any, rank: int) -> Any:
    """Appends axes of length one to `tensor` [B, ...], so that it broadcasts over inner axes."""
    missing = rank - len(tensor.shape)
    return tensor if missing <= 0 else tf.reshape(tensor, [*tensor.shape, *([1] * missing)])


def with_columns(y: Any, output: Any) -> tuple[Any, Any]:
    """Turns labels and outputs [B] into [B, 1]: Keras averages over the last axis."""
    if len(output.shape) > 1:
        return y, output
    return tf.expand_dims(y, -1), tf.expand_dims(output, -1)


def reduce_rows(values: Any, mask: Any, rows: Rows, reduction: str) -> Any:
    """Returns Keras' scalar reduction of a loss's `values` [B, ...] over the real rows.

    A `mask` [B, ...] leaves out positions; a mean then counts the valid positions only (keras.losses.Loss).
    An example's weight applies to all its positions.
    """
    rank = len(values.shape)
    weights, counted = to_rank(rows.weight, rank), rows.exists
    if mask is not None:
        mask = to_rank(tf.cast(mask, tf.float32), rank)
        weights, counted = weights * mask, to_rank(counted, rank) * mask
    total = tf.reduce_sum(values * weights)
    if reduction == "sum":
        return total
    counted = weights if reduction == "mean_with_sample_weight" else counted
    positions = math.prod(values.shape) // math.prod(counted.shape)
    count = tf.reduce_sum(counted) * float(positions)
    return tf.math.divide_no_nan(total, count)
