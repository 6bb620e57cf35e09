"""Lists Keras layers that no bundle can hold: the reason, and what to use instead."""

from __future__ import annotations

from typing import Any

import keras

from converter.readers.refused_layers import REFUSED_LAYERS
from converter.refusal import Refusal

_AUGMENT = "; augment when the shards are written, or use RandomFlip, RandomRotation or RandomZoom"

UNSUPPORTED: dict[str, str] = {
    "MelSpectrogram": "needs a Fourier transform; store spectrograms in the shards, or use STFTSpectrogram",
    "SpectralNormalization": "rewrites its kernel in each forward pass; use the constraint MaxNorm",
    "AugMix": "draws gamma and beta random numbers" + _AUGMENT,
    "AutoContrast": "divides by zero on plain images and repairs that" + _AUGMENT,
    "ContrastLimitedAdaptiveHistogramEqualization": "counts colours in a histogram" + _AUGMENT,
    "CutMix": "mixes the rows of a batch, which padding would change" + _AUGMENT,
    "Equalization": "counts colours in a histogram" + _AUGMENT,
    "MixUp": "mixes the rows of a batch, which padding would change" + _AUGMENT,
    "RandAugment": "chooses among programs at random" + _AUGMENT,
    "RandomCrop": "cuts at a place that is not fixed; use CenterCrop or RandomTranslation",
    "RandomElasticTransform": "draws its own random numbers" + _AUGMENT,
    "RandomPerspective": "solves equations for each image" + _AUGMENT,
    "RandomPosterization": "computes with single bits" + _AUGMENT,
    "RandomShear": "cannot be loaded by Keras from a file" + _AUGMENT,
}


def refuse_unsupported(model: Any, own_code: bool = False) -> None:
    """Raises Refusal that names the first unsupported layer, the reason and what to use instead.

    With `own_code` the model is the owner's own, whose Lambda layers may run.
    """
    for layer in model._flatten_layers():
        kind = type(layer).__name__
        if own_code and isinstance(layer, keras.layers.Lambda):
            continue
        if not type(layer).__module__.startswith("keras."):
            continue
        # An own layer may hold one that the model's file does not name.
        if kind in REFUSED_LAYERS:
            raise Refusal(f"The layer {layer.name} is a {kind}: {REFUSED_LAYERS[kind]}.")
        if kind in UNSUPPORTED:
            raise Refusal(f"The layer {layer.name} ({kind}) {UNSUPPORTED[kind]}.")
