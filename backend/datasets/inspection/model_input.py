"""What a model takes, as far as a proposal for its data needs it."""

from __future__ import annotations

from msgspec import Struct, field

from backend.formats.manifest import InputSpec, LabelSpec, Manifest

_SCALES = ("Rescaling", "Normalization")


class ModelInput(Struct, frozen=True):
    """Inputs and labels of the model, empty where there is none yet; whether it scales its input itself."""

    inputs: list[InputSpec] = field(default_factory=list)
    labels: list[LabelSpec] = field(default_factory=list)
    scales: bool = False

    @property
    def shape(self) -> list[int] | None:
        """Of an example's first input."""
        return self.inputs[0].shape if self.inputs else None

    @property
    def encoding(self) -> str:
        """How a class has to be written so that it fits the first label."""
        if not self.labels or self.labels[0].shape == []:
            return "index"
        return "number" if self.labels[0].shape == [1] else "one-hot"

    @property
    def classes(self) -> int | None:
        """How many the first label tells apart, where that is known."""
        if not self.labels:
            return None
        label = self.labels[0]
        return label.shape[0] if self.encoding == "one-hot" and len(label.shape) == 1 else label.classes


def input_of(manifest: Manifest) -> ModelInput:
    """What a converted model takes."""
    scales = any(layer.kind in _SCALES for layer in manifest.layers)
    return ModelInput(list(manifest.inputs), list(manifest.labels), scales)
