"""Loss and metrics: one number per example from Keras, one weighted mean from us."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from converter.refusal import Refusal
from converter.task import ConversionTask

LOSSES = {
    "sparse_categorical_crossentropy",
    "categorical_crossentropy",
    "binary_crossentropy",
    "mean_squared_error",
    "mean_absolute_error",
    "mse",
    "mae",
    "huber",
    "log_cosh",
    "hinge",
    "kl_divergence",
    "poisson",
}
METRICS = {
    "accuracy": "accuracy",
    "acc": "accuracy",
    "mae": "mae",
    "mean_absolute_error": "mae",
    "mse": "mse",
    "mean_squared_error": "mse",
}
MEAN_REDUCTIONS = ("sum_over_batch_size", "mean", "mean_with_sample_weight")


@dataclass(frozen=True)
class Objectives:
    """`loss` maps (labels, outputs) to one value per example or position; `metrics` likewise, by name."""

    loss_name: str
    loss: Callable[[Any, Any], Any]
    metrics: tuple[str, ...]
    sparse: bool

    def label_spec(self, output_shape: tuple[int, ...]) -> tuple[tuple[int, ...], str]:
        """Shape (without batch) and dtype of the labels that fit outputs of `output_shape`, too."""
        return (output_shape[:-1], "int32") if self.sparse else (output_shape, "float32")

    def mean_loss(self, y: Any, output: Any, sample_weight: Any) -> Any:
        """Scalar: weighted mean over the examples."""
        labels = y if self.sparse else tf.cast(y, tf.float32)
        return weighted_mean(self.loss(labels, output), sample_weight)

    def mean_metrics(self, y: Any, output: Any, sample_weight: Any) -> Any:
        """Vector [M] of weighted means in the order of `metrics`; None without metrics."""
        if not self.metrics:
            return None
        values = [self._metric(name)(y, output) for name in self.metrics]
        return tf.stack([weighted_mean(tf.cast(v, tf.float32), sample_weight) for v in values])

    def _metric(self, name: str) -> Callable[[Any, Any], Any]:
        if name == "mae":
            return lambda y, output: tf.reduce_mean(tf.abs(output - tf.cast(y, tf.float32)), -1)
        if name == "mse":
            return lambda y, output: tf.reduce_mean(tf.square(output - tf.cast(y, tf.float32)), -1)
        return _sparse_accuracy if self.sparse else _accuracy


def weighted_mean(values: Any, sample_weight: Any) -> Any:
    """Scalar: `values` [B, ...], averaged over inner axes, then over examples weighted by `sample_weight`."""
    if len(values.shape) > 1:
        values = tf.reduce_mean(values, list(range(1, len(values.shape))))
    return tf.reduce_sum(values * sample_weight) / tf.reduce_sum(sample_weight)


def choose_objectives(model: Any, task: ConversionTask) -> Objectives:
    """Loss and metrics of the task file, or where it is silent those the model was compiled with."""
    name, loss = _task_loss(task.loss) if task.loss is not None else _compiled_loss(model)
    sparse = name == "sparse_categorical_crossentropy"
    wanted = task.metrics if task.metrics is not None else _compiled_metrics(model)
    metrics = []
    for metric in wanted:
        if metric not in METRICS:
            raise Refusal(
                f"The metric {metric} is not supported; write metrics = [...] under [model] "
                "with accuracy, mae or mse.",
                "bad-task",
            )
        if sparse and METRICS[metric] != "accuracy":
            raise Refusal(f"The metric {metric} does not fit class labels; use accuracy.", "bad-task")
        if METRICS[metric] not in metrics:
            metrics.append(METRICS[metric])
    return Objectives(name, loss, tuple(metrics), sparse)


def _task_loss(name: str) -> tuple[str, Callable[[Any, Any], Any]]:
    if name not in LOSSES:
        raise Refusal(
            f"The loss {name} is not supported; choose one of {', '.join(sorted(LOSSES))}.", "bad-task"
        )
    return _per_example(keras.losses.get({"huber": "Huber"}.get(name, name)), name)


def _compiled_loss(model: Any) -> tuple[str, Callable[[Any, Any], Any]]:
    loss = getattr(model, "loss", None)
    if loss is None:
        raise Refusal(
            'No loss: write loss = "..." under [model] in the task file, or compile the model.', "bad-task"
        )
    if isinstance(loss, dict | list | tuple):
        raise Refusal("The model has several losses; a task trains one output with one loss.")
    if isinstance(loss, str):
        return _task_loss(loss)
    name = getattr(loss, "__name__", None) or keras.src.utils.naming.to_snake_case(type(loss).__name__)
    if name not in LOSSES:
        raise Refusal(
            f"The compiled loss {name} is not supported; choose one of {', '.join(sorted(LOSSES))}."
        )
    if getattr(loss, "reduction", "mean") not in MEAN_REDUCTIONS:
        raise Refusal(
            f"The compiled loss reduces by {loss.reduction}; compile it with the default reduction."
        )
    return _per_example(loss, name)


def _per_example(loss: Any, name: str) -> tuple[str, Callable[[Any, Any], Any]]:
    # Loss objects reduce in __call__; their `call` gives a value per example.
    return name, loss.call if isinstance(loss, keras.losses.Loss) else loss


def _compiled_metrics(model: Any) -> tuple[str, ...]:
    compiled = getattr(model, "_compile_metrics", None)
    names = getattr(compiled, "_user_metrics", None) or []
    return tuple(name if isinstance(name, str) else str(getattr(name, "name", name)) for name in names)


def _sparse_accuracy(y: Any, output: Any) -> Any:
    return tf.equal(tf.cast(y, tf.int32), tf.argmax(output, -1, tf.int32))


def _accuracy(y: Any, output: Any) -> Any:
    if output.shape[-1] == 1:
        right = tf.equal(tf.cast(output > 0.5, tf.float32), tf.cast(y, tf.float32))
        return tf.reduce_mean(tf.cast(right, tf.float32), -1)
    return tf.equal(tf.argmax(y, -1, tf.int32), tf.argmax(output, -1, tf.int32))
