"""Refuses models whose own code trains them: a bundle follows Keras' training step, not theirs."""

from __future__ import annotations

from typing import Any

from converter.objectives.losses import is_from_keras
from converter.refusal import Refusal

_DECLARE = (
    "Build the same layers as a plain functional model with the parts that have a loss as outputs, such as "
    'keras.Model(image, {"real": critic(image), "fake": critic(generator(noise))}), and say under '
    "[[model.objectives]] which losses train which layers (docs/how-to/train-with-several-objectives.md)"
)
# Methods by which Keras trains and measures, and what to do instead of replacing them.
_METHODS = {
    "train_step": _DECLARE,
    "make_train_function": _DECLARE,
    "fit": _DECLARE,
    "compute_loss": "Give compile() a loss function, or add what it adds by add_loss() in a layer",
    "test_step": "Leave it out: a bundle evaluates with the compiled loss and metrics",
    "make_test_function": "Leave it out: a bundle evaluates with the compiled loss and metrics",
    "predict_step": "Make what it computes part of the model's outputs",
    "make_predict_function": "Make what it computes part of the model's outputs",
    "compute_metrics": "Give compile() the metrics, or name them under [model] metrics in the task file",
}


def refuse_own_training(model: Any) -> None:
    """Raises Refusal that names the method by which the model's class replaces part of Keras' training."""
    kind = type(model)
    for method, remedy in _METHODS.items():
        if not is_from_keras(getattr(kind, method)):
            raise Refusal(
                f"The model's class {kind.__name__} has its own {method}, which a bundle cannot follow. "
                f"{remedy}."
            )
