"""Scales weights so that hard_sigmoid of Keras 2 and TF.js is kept under Keras 3's definition.

Keras 2 and TF.js compute clip(0.2 x + 0.5, 0, 1); Keras 3 replaces 0.2 x by x / 6. The old function of x is
the new one of 1.2 x. x is linear in a layer's last weights, so weights times 1.2 give the same predictions
with Keras 3's own layers.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from converter.refusal import Refusal

_SCALE = np.float32(1.2)
_LINEAR = (
    keras.layers.Dense,
    keras.layers.EinsumDense,
    keras.layers.Conv1D,
    keras.layers.Conv2D,
    keras.layers.Conv3D,
    keras.layers.Conv1DTranspose,
    keras.layers.Conv2DTranspose,
    keras.layers.Conv3DTranspose,
)
# The blocks of `units` columns that are gates: LSTM's blocks are i, f, c, o and GRU's z, r, h.
_GATES = ((keras.layers.LSTMCell, (0, 1, 3)), (keras.layers.GRUCell, (0, 1)))


def keep_hard_sigmoid(model: Any) -> None:
    """Scales the weights of all layers that use hard_sigmoid.

    Raises Refusal for a layer without weights to scale.
    """
    for layer in model._flatten_layers():
        hard = getattr(layer, "activation", None) is keras.activations.hard_sigmoid
        if getattr(layer, "recurrent_activation", None) is keras.activations.hard_sigmoid:
            _scale_gates(layer)
        if hard and isinstance(layer, _LINEAR):
            for variable in layer.weights:
                variable.assign(np.asarray(variable) * _SCALE)
        elif hard and not isinstance(layer, keras.layers.RNN):
            raise Refusal(
                f"The layer {layer.name} uses hard_sigmoid, which Keras 3 computes differently from the "
                "model's own program; use sigmoid there."
            )


def _scale_gates(layer: Any) -> None:
    if isinstance(layer, keras.layers.RNN):
        return  # its cell is among the layers too
    for kind, gates in _GATES:
        if isinstance(layer, kind):
            for variable in layer.weights:
                values = np.array(variable)
                for gate in gates:
                    values[..., gate * layer.units : (gate + 1) * layer.units] *= _SCALE
                variable.assign(values)
            return
    raise Refusal(
        f"The layer {layer.name} uses hard_sigmoid, which Keras 3 computes differently from the model's own "
        "program; use sigmoid there."
    )
