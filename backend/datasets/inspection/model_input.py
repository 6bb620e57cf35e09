"""Describes a model's inputs and labels, as far as proposing a preprocessing needs them."""

from __future__ import annotations

from msgspec import Struct, field

from backend.formats.manifest import InputSpec, LabelSpec, Manifest

_SCALES = ("Rescaling", "Normalization")


class ModelInput(Struct, frozen=True):
    """Inputs and labels of the model, empty if there is no model yet.

    `scales` says whether the model scales its input itself.
    """

    inputs: list[InputSpec] = field(default_factory=list)
    labels: list[LabelSpec] = field(default_factory=list)
    scales: bool = False

    @property
    def shape(self) -> list[int] | None:
        """Shape of one example's first input; None if there is no model yet."""
        return self.inputs[0].shape if self.inputs else None

    @property
    def encoding(self) -> str:
        """Encoding of a class that fits the first label."""
        if not self.labels or self.labels[0].shape == []:
            return "index"
        return "number" if self.labels[0].shape == [1] else "one-hot"

    @property
    def classes(self) -> int | None:
        """Number of classes of the first label; None if unknown."""
        if not self.labels:
            return None
        label = self.labels[0]
        return label.shape[0] if self.encoding == "one-hot" and len(label.shape) == 1 else label.classes


def input_of(manifest: Manifest) -> ModelInput:
    """Returns the inputs and labels of a converted model."""
    scales = any(layer.kind in _SCALES for layer in manifest.layers)
    return ModelInput(list(manifest.inputs), list(manifest.labels), scales)
