"""The parts of bundle.json that a peer reads; docs/reference/bundle.md is the specification."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from backend.errors import BundleError

Size = Annotated[int, Meta(ge=0, le=2**40)]
Dtype = Literal["float32", "int32"]
SignatureName = Literal["train", "apply", "evaluate", "predict"]


class TensorSpec(Struct, frozen=True):
    """Shape without the batch dimension, and dtype."""

    shape: list[Size]
    dtype: Dtype


class NamedTensor(Struct, frozen=True):
    """One input or output of a graph; `tensor` is its node, with `:index` if it is not the first output."""

    name: str
    tensor: str
    shape: list[Size]
    dtype: Dtype


class Signature(Struct, frozen=True):
    """Inputs and outputs of one graph, in order."""

    inputs: list[NamedTensor]
    outputs: list[NamedTensor]


class Parameters(Struct, frozen=True):
    """T trainable values come first in the flat vector, then S values of state."""

    trainable: Size
    state: Size

    @property
    def total(self) -> int:
        return self.trainable + self.state


class Optimizer(Struct, frozen=True):
    """The local optimizer; it keeps `slots` vectors of T values."""

    name: str
    slots: Annotated[int, Meta(ge=0, le=8)]


class Random(Struct, frozen=True):
    """A random input of the train graph, filled anew each step."""

    name: str
    shape: list[Size]
    kind: Literal["uniform"]


class Preprocess(Struct, frozen=True):
    """Raw values of a shard are multiplied by `scale` in float32."""

    scale: float = 1.0


class File(Struct, frozen=True):
    """Address and size of one file of the bundle."""

    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    bytes: Size


class Manifest(Struct, frozen=True):
    """bundle.json."""

    format: Literal["minga-bundle/1"]
    name: str
    batch_size: Annotated[int, Meta(ge=1, le=2**20)]
    parameters: Parameters
    input: TensorSpec
    label: TensorSpec
    metrics: list[str]
    optimizer: Optimizer
    random: list[Random]
    signatures: dict[SignatureName, Signature]
    files: dict[str, File]
    preprocess: Preprocess = msgspec.field(default_factory=Preprocess)


def read_manifest(content: bytes) -> Manifest:
    """The manifest in `content`. Raises BundleError when it is none."""
    try:
        return msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BundleError(f"bundle.json cannot be read ({error}); convert the model again.") from error
