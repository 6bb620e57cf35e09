"""Load a .keras file safely and refuse, with a sentence, what cannot become a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np

from converter.archive import check_archive
from converter.limits import Limits
from converter.refusal import Refusal


def load_model(path: Path, limits: Limits) -> Any:
    """The model, its recurrent layers set to unroll. Raises Refusal."""
    check_archive(path, limits.file_bytes)
    try:
        model = keras.saving.load_model(path, compile=True, safe_mode=True)
    except (TypeError, ValueError, KeyError, AttributeError, ImportError, OSError) as error:
        reason = " ".join(str(error).split())[:300]
        raise Refusal(f"Keras cannot load {path.name}: {reason}") from error
    _check_borders(model)
    _check_layers(model)
    _check_values(model, limits)
    return model


def _check_borders(model: Any) -> None:
    if not isinstance(model, keras.Model) or not getattr(model, "inputs", None):
        raise Refusal("The model has no fixed input; build it with keras.Input or as a functional model.")
    for word, tensors in (("input", model.inputs), ("output", model.outputs)):
        for tensor in tensors:
            if any(n is None for n in tensor.shape[1:]):
                raise Refusal(
                    f"The {word} {tensor.name} has the open shape {tuple(tensor.shape)}; "
                    "give every dimension but the batch a number."
                )


def _check_layers(model: Any) -> None:
    for layer in model._flatten_layers():
        if getattr(layer, "activity_regularizer", None) is not None:
            raise Refusal(
                f"The layer {layer.name} has an activity regularizer, which padding would change; remove it."
            )
        if getattr(layer, "stateful", False):
            raise Refusal(f"The layer {layer.name} is stateful; set stateful=False, batches are independent.")
        if isinstance(layer, keras.layers.RNN):
            # Loops over TensorLists have no gradient in TF.js.
            layer.unroll = True


def _check_values(model: Any, limits: Limits) -> None:
    count = model.count_params()
    if count > limits.parameters:
        raise Refusal(f"The model has {count} parameters; at most {limits.parameters} are allowed.")
    if not model.trainable_variables:
        raise Refusal(
            "The model has no trainable variables; set layer.trainable = True where it should learn."
        )
    for variable in model.variables:
        values = np.asarray(variable)
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise Refusal(
                f"The variable {variable.path} holds NaN or infinity; save a model with finite weights."
            )
