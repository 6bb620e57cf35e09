"""What a model is trained for, where neither its owner nor its compilation says so: by its last layers."""

from __future__ import annotations

from typing import Any

from converter.conversion_task import ConversionTask
from converter.tracing.model_ports import Borders, Port

# From what kind of network is not known, so the one that is least sensitive to its learning rate.
OPTIMIZER = {"name": "adam", "learning_rate": 0.001}


def proposals(model: Any, task: ConversionTask, borders: Borders) -> dict[str, Any]:
    """The keys of [model] that somebody has to say and nobody did: `loss` and `metrics`, `optimizer`."""
    found: dict[str, Any] = {}
    if task.loss is None and getattr(getattr(model, "_compile_loss", None), "_user_loss", None) is None:
        guesses = [
            _guess(port, _activation(tensor))
            for port, tensor in zip(borders.outputs, model.outputs, strict=True)
        ]
        found["loss"] = guesses[0][0] if len(guesses) == 1 else [loss for loss, _ in guesses]
        if task.metrics is None:
            found["metrics"] = guesses[0][1] if len(guesses) == 1 else [metrics for _, metrics in guesses]
    if task.optimizer is None and getattr(model, "optimizer", None) is None:
        found["optimizer"] = dict(OPTIMIZER)
    return found


def proposal_sentences(found: dict[str, Any]) -> list[str]:
    """A sentence for each proposal."""
    sentences = []
    if "loss" in found:
        losses = found["loss"] if isinstance(found["loss"], list) else [found["loss"]]
        names = ", ".join(one if isinstance(one, str) else one["name"] for one in losses)
        sentences.append(f"The model is not compiled with a loss: {names} fits its last layer.")
    if "optimizer" in found:
        sentences.append(
            f"The model is not compiled with an optimizer: {found['optimizer']['name']} is taken."
        )
    return sentences


def _activation(tensor: Any) -> str:
    """The name of what an output went through last; `linear` where nothing is known."""
    operation = getattr(getattr(tensor, "_keras_history", None), "operation", None)
    activation = getattr(operation, "activation", None)
    if activation is None:
        return str(type(operation).__name__.lower())
    return str(getattr(activation, "__name__", "linear"))


def _guess(output: Port, activation: str) -> tuple[Any, list[str]]:
    """Loss and metrics of an output. Numbers without an activation are taken for logits of classes."""
    wide = bool(output.shape) and output.shape[-1] > 1
    if activation == "softmax" and wide:
        return "sparse_categorical_crossentropy", ["accuracy"]
    if activation == "sigmoid":
        return "binary_crossentropy", [] if len(output.shape) > 1 else ["accuracy"]
    if activation in ("linear", "dense") and wide and len(output.shape) <= 2:
        return {"name": "sparse_categorical_crossentropy", "from_logits": True}, ["accuracy"]
    return "mean_squared_error", []
