"""Computes losses that mix the rows of a batch as if the batch had no padded rows."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from converter.padding.real_rows import Rows, reduce_rows, to_rank

FAR = 1e30


def overlap_of_rows(loss: Any, y: Any, output: Any, rows: Rows) -> Any:
    """Returns the scalar Dice or Tversky loss over the whole batch.

    Both are made of sums of products, to which a row of zeros adds nothing. As in Keras, the loss of the
    batch is then multiplied by each row's weight and averaged.
    """
    exists = to_rank(rows.exists, len(output.shape))
    value = tf.reduce_mean(loss.call(y * exists, output * exists))
    weights = tf.reduce_sum(rows.weight)
    if loss.reduction == "sum":
        return value * weights
    return value * weights / (weights if loss.reduction == "mean_with_sample_weight" else rows.count)


def circle_rows(loss: Any, y: Any, output: Any, rows: Rows) -> Any:
    """Returns the scalar Circle loss (Sun et al. 2020, eq. 6) among the real rows.

    `y` [B] are class numbers, `output` [B, n] embeddings of length one. Keras counts only rows whose loss is
    above zero.
    """
    batch = int(output.shape[0])
    distance = tf.maximum(1.0 - tf.matmul(output, output, transpose_b=True), 0.0)
    same = tf.cast(tf.equal(y[:, None], y[None, :]), tf.float32)
    positive, negative = same * rows.exists, (1.0 - same) * rows.exists
    if loss.remove_diagonal:
        positive = positive * (1.0 - tf.eye(batch))
    margin = loss.margin
    pulls = -loss.gamma * tf.maximum(margin + distance, 0.0) * (margin - distance)
    pushes = loss.gamma * tf.maximum(1.0 + margin - distance, 0.0) * (1.0 - margin - distance)
    values = keras.ops.softplus(_log_sum_exp(pulls, positive) + _log_sum_exp(pushes, negative))
    return reduce_rows(values, values > 0.0, rows, loss.reduction)


def _log_sum_exp(values: Any, chosen: Any) -> Any:
    """Log-sum-exp [B] over the chosen values [B, B] of each row; far below zero without chosen values."""
    values = values * chosen - FAR * (1.0 - chosen)
    top = tf.stop_gradient(tf.reduce_max(values, 1, keepdims=True))
    total = tf.reduce_sum(tf.exp(values - top), 1)
    return tf.where(top[:, 0] > -FAR / 2.0, tf.math.log(total) + top[:, 0], -FAR)
