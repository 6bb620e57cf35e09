"""Rows that exist: how a padded batch's values become the short batch's sums and means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import tensorflow as tf


@dataclass(frozen=True)
class Rows:
    """`weight` [B] are the sample weights of a batch, `exists` [B] is 1.0 for rows and 0.0 for padding."""

    weight: Any
    exists: Any

    @staticmethod
    def of(sample_weight: Any) -> Rows:
        """Rows exist where their sample weight is above zero."""
        return Rows(sample_weight, tf.cast(sample_weight > 0.0, tf.float32))

    @property
    def count(self) -> Any:
        """Scalar: the number of rows that exist."""
        return tf.reduce_sum(self.exists)


def to_rank(tensor: Any, rank: int) -> Any:
    """`tensor` [B, ...] with axes of length one behind, so that it broadcasts over inner axes."""
    missing = rank - len(tensor.shape)
    return tensor if missing <= 0 else tf.reshape(tensor, [*tensor.shape, *([1] * missing)])


def with_columns(y: Any, output: Any) -> tuple[Any, Any]:
    """Labels and outputs of one number an example, [B], as [B, 1]: Keras averages over the last axis."""
    if len(output.shape) > 1:
        return y, output
    return tf.expand_dims(y, -1), tf.expand_dims(output, -1)


def reduce_rows(values: Any, mask: Any, rows: Rows, reduction: str) -> Any:
    """Scalar: Keras' reduction of a loss's `values` [B, ...] over the rows that exist.

    A `mask` [B, ...] leaves out positions and, where the reduction is a mean, counts the valid ones only
    (keras.losses.Loss). An example's weight is that of all its positions.
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
    number = tf.reduce_sum(counted) * float(positions)
    return tf.math.divide_no_nan(total, number)
