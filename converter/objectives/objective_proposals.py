"""Proposes loss, metrics and optimizer from a model's last layers, if nothing else names them."""

from __future__ import annotations

from typing import Any

from converter.conversion_task import ConversionTask
from converter.tracing.model_ports import ModelPorts, Port

# The kind of network is unknown, so the optimizer least sensitive to its learning rate is proposed.
OPTIMIZER = {"name": "adam", "learning_rate": 0.001}


def proposals(model: Any, task: ConversionTask, model_ports: ModelPorts) -> dict[str, Any]:
    """Returns the keys of [model] that neither task nor model gives: `loss`, `metrics`, `optimizer`."""
    proposed: dict[str, Any] = {}
    if task.objectives:
        all_given = all(objective.optimizer for objective in task.objectives)
        return proposed if all_given else _with_optimizer(proposed, model, task)
    if task.loss is None and getattr(getattr(model, "_compile_loss", None), "_user_loss", None) is None:
        guesses = [
            _guess(port, _activation(tensor))
            for port, tensor in zip(model_ports.outputs, model.outputs, strict=True)
        ]
        proposed["loss"] = guesses[0][0] if len(guesses) == 1 else [loss for loss, _ in guesses]
        if task.metrics is None:
            proposed["metrics"] = guesses[0][1] if len(guesses) == 1 else [metrics for _, metrics in guesses]
    return _with_optimizer(proposed, model, task)


def _with_optimizer(proposed: dict[str, Any], model: Any, task: ConversionTask) -> dict[str, Any]:
    if task.optimizer is None and getattr(model, "optimizer", None) is None:
        proposed["optimizer"] = dict(OPTIMIZER)
    return proposed


def proposal_sentences(proposed: dict[str, Any]) -> list[str]:
    """Returns a sentence for each proposal."""
    sentences = []
    if "loss" in proposed:
        losses = proposed["loss"] if isinstance(proposed["loss"], list) else [proposed["loss"]]
        names = ", ".join(one if isinstance(one, str) else one["name"] for one in losses)
        sentences.append(f"The model is not compiled with a loss: {names} fits its last layer.")
    if "optimizer" in proposed:
        sentences.append(
            f"The model is not compiled with an optimizer: {proposed['optimizer']['name']} is taken."
        )
    return sentences


def _activation(tensor: Any) -> str:
    """Returns the name of an output's last activation or operation; `linear` if unknown."""
    operation = getattr(getattr(tensor, "_keras_history", None), "operation", None)
    activation = getattr(operation, "activation", None)
    if activation is None:
        return str(type(operation).__name__.lower())
    return str(getattr(activation, "__name__", "linear"))


def _guess(output: Port, activation: str) -> tuple[Any, list[str]]:
    """Guesses loss and metrics of an output.

    Numbers without an activation are taken for logits of classes.
    """
    wide = bool(output.shape) and output.shape[-1] > 1
    if activation == "softmax" and wide:
        return "sparse_categorical_crossentropy", ["accuracy"]
    if activation == "sigmoid":
        return "binary_crossentropy", [] if len(output.shape) > 1 else ["accuracy"]
    if activation in ("linear", "dense") and wide and len(output.shape) <= 2:
        return {"name": "sparse_categorical_crossentropy", "from_logits": True}, ["accuracy"]
    return "mean_squared_error", []
