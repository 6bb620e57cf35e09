"""Compiles a version's model as its task trains it, so that Keras trains on from the exported file."""

from __future__ import annotations

from typing import Any

import keras

from converter.conversion_task import ConversionTask
from converter.objectives.compile_arguments import compile_arguments
from converter.objectives.keras_objects import keras_optimizer
from converter.tracing.model_ports import find_ports

# Losses of Minga's own, which a file could name but no other program load.
OWN_LOSSES = ("quantile",)


def compile_version(model: Any, task: ConversionTask) -> str | None:
    """Compiles `model`, with an optimizer that has taken no steps.

    Returns None, or why `compile` cannot say what the task does; the model is then not compiled by it.
    """
    if task.objectives:
        return "Not compiled: Keras' compile knows one optimizer, and this task has objectives of its own."
    if any(name in OWN_LOSSES for name in _loss_names(task.loss)):
        return "Not compiled: Keras has no loss called quantile."
    if task.optimizer is None and getattr(model, "optimizer", None) is None:
        return "Not compiled: neither the model nor the task names an optimizer."
    arguments = compile_arguments(model, task, find_ports(model).outputs)
    if arguments["loss"] is None:
        return "Not compiled: neither the model nor the task names a loss."
    # A model's class may have its own `compile`, which takes other arguments.
    keras.Model.compile(model, optimizer=keras_optimizer(task.optimizer, model), **arguments)
    model.optimizer.build(model.trainable_variables)
    return None


def _loss_names(loss: Any) -> list[str]:
    if isinstance(loss, str):
        return [loss]
    if isinstance(loss, dict):
        return [loss["name"]] if isinstance(loss.get("name"), str) else _loss_names(list(loss.values()))
    return [name for one in loss or () for name in _loss_names(one)]
