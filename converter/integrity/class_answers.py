"""Reads a model's answers as classes, and refuses models and labels that have none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from converter.refusal import Refusal

MIN_EXAMPLES = 50
_BATCH = 128
_TINY = 1e-7


def class_count(model: Any) -> int:
    """Returns the number of classes that the model tells apart; 2 for a single sigmoid. Raises Refusal."""
    if len(model.outputs) != 1:
        raise _needs_classes(f"this model has {len(model.outputs)} outputs")
    shape = tuple(model.outputs[0].shape)[1:]
    if len(shape) != 1:
        raise _needs_classes(f"an answer of this model has the shape {shape}")
    if shape[0] >= 2:
        return int(shape[0])
    if _activation(model) != "sigmoid":
        raise _needs_classes("this model gives one number without a sigmoid, as for regression")
    return 2


def log_probabilities(output: Any) -> Any:
    """Returns log p [n, classes] of an output [n, 1] (a sigmoid's) or [n, classes] (softmax or logits)."""
    if output.shape[-1] == 1:
        both = tf.concat([1.0 - output, output], axis=-1)
        return tf.math.log(tf.maximum(both, _TINY))
    sums, least = tf.reduce_sum(output, -1, keepdims=True), tf.reduce_min(output, -1, keepdims=True)
    is_softmax = tf.reduce_all((least >= 0.0) & (tf.abs(sums - 1.0) < 1e-3))
    return tf.cond(
        is_softmax,
        lambda: tf.math.log(tf.maximum(output, _TINY)),
        lambda: tf.nn.log_softmax(output),
    )


def read_labels(y: Any, classes: int) -> Any:
    """Returns labels [n], int64, of whole numbers [n] or [n, 1] or rows with one 1 [n, classes].

    Raises Refusal for other labels, fewer than MIN_EXAMPLES, or labels of a single class.
    """
    if y.ndim == 2 and y.shape[1] == classes and classes > 1 and np.all(np.sort(y, axis=1)[:, -1] == 1):
        y = y.argmax(axis=1)
    y = y.reshape(len(y), -1) if y.ndim else y.reshape(0, 1)
    if y.shape[1] != 1 or not np.array_equal(y, np.round(y)):
        raise _needs_classes("the labels of these examples are no classes")
    labels = y[:, 0].astype(np.int64)
    if len(labels) < MIN_EXAMPLES:
        raise Refusal(f"{len(labels)} examples are too few for the score; give at least {MIN_EXAMPLES}.")
    if labels.min() < 0 or labels.max() >= classes:
        raise Refusal(
            f"The labels go from {labels.min()} to {labels.max()}, and the model has {classes} classes, from "
            "0 on. Use the examples of this model's task."
        )
    if len(np.unique(labels)) < 2:
        raise Refusal("All examples are of one class; the score compares classes, so give some of each.")
    return labels


def confusion(model: Any, inputs: Mapping[str, Any], labels: Any, classes: int) -> Any:
    """Returns counts [true class, answer] of the model's answers, int64. Raises Refusal for NaN."""
    columns = input_columns(model, inputs)
    counts = np.zeros((classes, classes), np.int64)
    for start in range(0, len(labels), _BATCH):
        batch = [column[start : start + _BATCH] for column in columns]
        output = model(batch if len(batch) > 1 else batch[0], training=False)
        output = keras.ops.convert_to_numpy(output)
        if not np.all(np.isfinite(output)):
            raise Refusal("The model answers NaN or infinity on these examples; it can say no class.")
        answers = output.argmax(axis=1) if output.shape[1] > 1 else (output[:, 0] > 0.5).astype(np.int64)
        np.add.at(counts, (labels[start : start + _BATCH], answers), 1)
    return counts


def input_columns(model: Any, inputs: Mapping[str, Any]) -> list[Any]:
    """Returns the examples `x_0`, `x_1`, ... as the model takes them. Raises Refusal."""
    columns = []
    for number, tensor in enumerate(model.inputs):
        column, shape = inputs.get(f"x_{number}"), tuple(tensor.shape)[1:]
        fits = column is not None and column.ndim == len(shape) + 1
        if fits and column is not None:
            fits = all(want in (None, have) for want, have in zip(shape, column.shape[1:], strict=True))
        if not fits or column is None:
            have = "no values" if column is None else f"the shape {column.shape[1:]}"
            raise Refusal(f"The model's input {number} takes {shape}; the examples have {have}.")
        columns.append(column.astype(tensor.dtype))
    if len(inputs) > len(columns):
        raise Refusal(f"The model has {len(columns)} inputs, and the examples {len(inputs)}.")
    return columns


def _activation(model: Any) -> str:
    activation = getattr(model.layers[-1], "activation", None)
    return getattr(activation, "__name__", "") or ""


def _needs_classes(why: str) -> Refusal:
    return Refusal(f"The integrity score needs a model of classes, and {why}.")
