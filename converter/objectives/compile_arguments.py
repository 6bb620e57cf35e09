"""Says what `Model.compile` must get so that Keras trains a model as its task does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from converter.conversion_task import ConversionTask
from converter.objectives.keras_objects import keras_losses, keras_metrics
from converter.tracing.model_ports import Port


def compile_arguments(model: Any, task: ConversionTask, outputs: Sequence[Port]) -> dict[str, Any]:
    """Returns losses, their weights and metrics: the task's, else those that `model` is compiled with."""
    loss = getattr(model, "_compile_loss", None)
    metrics = getattr(model, "_compile_metrics", None)
    arguments = {
        "loss": getattr(loss, "_user_loss", None),
        "loss_weights": getattr(loss, "_user_loss_weights", None),
        "metrics": getattr(metrics, "_user_metrics", None),
        "weighted_metrics": getattr(metrics, "_user_weighted_metrics", None),
    }
    names = [port.name for port in outputs]
    if task.loss is not None:
        arguments |= {"loss": _by_place(keras_losses(task.loss), model, names), "loss_weights": None}
    if task.loss_weights is not None:
        arguments["loss_weights"] = _all_weights(task.loss_weights, arguments["loss"], names)
    if task.metrics is not None:
        named = _by_place(keras_metrics(task.metrics), model, names)
        arguments |= {"metrics": named, "weighted_metrics": None}
    return arguments


def output_structure(model: Any) -> Any:
    """Returns the nesting of a model's outputs."""
    return (getattr(model, "_functional", None) or model)._outputs_struct


def _all_weights(weights: Any, losses: Any, names: Sequence[str]) -> Any:
    """Returns a weight for each loss, as Keras wants them; an output that is not named has 1."""
    if not isinstance(weights, dict):
        return weights
    if isinstance(losses, dict):
        return {name: weights.get(name, 1.0) for name in losses}
    of_ports = [weights.get(name, 1.0) for name in names]
    return of_ports if isinstance(losses, list) else of_ports[0]


def _by_place(value: Any, model: Any, names: Sequence[str]) -> Any:
    """Turns a table by outputs into a list where Keras has no names that tell the outputs apart."""
    outputs = output_structure(model)
    if not isinstance(value, dict) or (isinstance(outputs, dict) and set(outputs) == set(names)):
        return value
    entries = [value.get(name) for name in names]
    return entries[0] if len(entries) == 1 else entries
