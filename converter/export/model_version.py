"""Loads a bundle's model with the weights of one of its versions."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import numpy as np

from converter.readers.model_loader import load_model
from converter.refusal import Refusal
from converter.sandbox.process_limits import Limits
from converter.tracing.vector_layout import Layout


def load_version(model_file: Path, weights_file: Path, limits: Limits) -> Any:
    """Builds the model of `model_file`, a bundle's model.keras, with the vector in `weights_file`.

    Its recurrent layers are set to unroll. Raises Refusal, also where layers are the owner's own code.
    """
    try:
        # Keras prints; standard output is reserved for the answer.
        with contextlib.redirect_stdout(io.StringIO()):
            model = load_model(model_file, limits)
    except Refusal as refusal:
        raise Refusal(
            "The model cannot be built from its file alone, so that its weights come without it, as npz or "
            f"safetensors. ({refusal})"
        ) from refusal
    layout = Layout(model)
    vector = np.fromfile(weights_file, "<f4")
    if len(vector) != layout.trainable + layout.state:
        raise Refusal(
            f"The weights have {len(vector)} values and the model {layout.trainable + layout.state}; "
            "they belong to different bundles."
        )
    variables = layout.trainable_variables + layout.state_variables
    for variable, entry in zip(variables, layout.entries, strict=True):
        variable.assign(vector[entry.offset : entry.offset + entry.size].reshape(entry.shape))
    return model


def restore_loops(model: Any) -> None:
    """Turns the recurrent layers that loading set to unroll back into loops."""
    for layer in model.minga_unrolled:
        layer.unroll = False
