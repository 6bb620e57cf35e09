"""Lists Keras layers that no bundle can hold: the reason, and what to use instead."""

from __future__ import annotations

from typing import Any

import keras

from converter.refusal import Refusal

_LOOKUP = "looks its inputs up in a table, which is not arithmetic; do that when the shards are written"
_AUGMENT = "; augment when the shards are written, or use RandomFlip, RandomRotation or RandomZoom"
_FOREIGN = "runs a program that Keras does not know inside; rebuild it from Keras layers"

UNSUPPORTED: dict[str, str] = {
    "Hashing": _LOOKUP,
    "HashedCrossing": _LOOKUP,
    "IntegerLookup": _LOOKUP,
    "StringLookup": _LOOKUP,
    "TextVectorization": _LOOKUP,
    "Lambda": "holds code of its owner; write it with layers or keras.ops, or convert with --custom",
    "FlaxLayer": _FOREIGN,
    "JaxLayer": _FOREIGN,
    "TFSMLayer": _FOREIGN,
    "TorchModuleWrapper": _FOREIGN,
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
        if kind in UNSUPPORTED and type(layer).__module__.startswith("keras."):
            raise Refusal(f"The layer {layer.name} ({kind}) {UNSUPPORTED[kind]}.")
