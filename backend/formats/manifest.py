"""Parses bundle.json into typed form and checks it; docs/reference/bundle.md specifies the format.

The checks need the manifest's text only. Server and peer both use this module.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct, field

from backend.errors import BundleError
from backend.formats.exact_program import ExactProgram
from backend.formats.layer_costs import Flops, Layer, StepCost
from backend.numerics.metrics import METRICS, Pairs
from backend.numerics.preprocess.loading import Factor

SignatureName = Literal["train", "apply", "evaluate", "predict", "train_slice"]
# Every bundle has these. `train_slice` is present if a step can process its batch in slices.
SIGNATURES: tuple[SignatureName, ...] = ("train", "apply", "evaluate", "predict")
MAX_PARAMETERS = 500_000_000
# The file of the Keras model in a bundle. Older bundles have none.
KERAS_FILE = "model.keras"

Size = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Dtype = Literal["float32", "int32"]
Hash = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)?")


class ParameterCounts(Struct, frozen=True):
    """Lengths of the trainable and the state part of the flat vector."""

    trainable: Size
    state: Size

    @property
    def total(self) -> int:
        """Length of the flat vector."""
        return self.trainable + self.state


class Variable(Struct, frozen=True):
    """Position of one variable in the flat vector."""

    name: str
    shape: list[Size]
    offset: Size
    trainable: bool


class InputSpec(Struct, frozen=True):
    """One input of the model; shape and dtype are those of one example."""

    name: str
    shape: list[Size]
    dtype: Dtype


class LabelSpec(Struct, frozen=True):
    """The label of one output; class numbers are below `classes`."""

    name: str
    shape: list[Size]
    dtype: Dtype
    classes: Annotated[int, Meta(ge=1)] | None = None


class OutputSpec(Struct, frozen=True):
    """One output of the model, with its loss if it has one."""

    name: str
    shape: list[Size]
    dtype: Dtype
    loss: str | None = None


class MetricSpec(Struct, frozen=True):
    """A metric, and the number of rows it takes in a graph's `metrics` output."""

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    kind: Literal["ratio", "root", "sum", "mean", "auc"] = "ratio"
    rows: Annotated[int, Meta(ge=1, le=1024)] = 1

    def value(self, pairs: Pairs) -> float:
        """Computes the metric from its rows' numerators and denominators, summed over batches."""
        return METRICS[self.kind](pairs)


class NamedTensor(Struct, frozen=True):
    """One input or output of a graph; `tensor` names its node, with `:index` unless it is output 0."""

    name: str
    tensor: str
    shape: list[Size]
    dtype: Dtype


class Signature(Struct, frozen=True):
    """Inputs and outputs of one graph, in order."""

    inputs: list[NamedTensor]
    outputs: list[NamedTensor]


class ClientOptimizer(Struct, frozen=True):
    """The optimizer of the `apply` graph; it keeps `slots` vectors as long as the trainable part."""

    name: str
    learning_rate: float
    slots: Annotated[int, Meta(ge=0, le=8)]
    schedule: str | None = None
    hyperparameters: dict[str, float | bool] = field(default_factory=dict)

    @property
    def plain(self) -> bool:
        """Whether an update is exactly -rate times the sum of step gradients, as SCAFFOLD assumes."""
        return self.name == "sgd" and self.schedule is None and not any(self.hyperparameters.values())


class RandomInput(Struct, frozen=True):
    """A random input of the train graph; each step gets fresh values."""

    name: str
    shape: list[Size]
    kind: Literal["uniform"]


class Slice(Struct, frozen=True):
    """Number of rows of a batch that the graph `train_slice` takes."""

    batch_size: Annotated[int, Meta(ge=1)]


class Preprocess(Struct, frozen=True):
    """Scales stored values: value * `scale` + `offset`; lists apply along the last axis."""

    scale: Factor = 1.0
    offset: Factor = 0.0


class BundleFile(Struct, frozen=True):
    """Hash and length of one file."""

    sha256: Hash
    bytes: Size


class Checked(Struct, frozen=True):
    """Relative L2 distances of the new bundle from Keras, by the compared values.

    `rounding` is the change of Keras' own numbers by rounding, if only that explained a difference. `random`
    is None without random layers.
    """

    worst: float
    rounding: float = 0.0
    random: Literal["fixed", "inference"] | None = None
    differences: dict[str, float] = field(default_factory=dict)


class Manifest(Struct, frozen=True):
    """The content of bundle.json. `exact` are the bundle's pins (pins.py)."""

    format: Literal["minga-bundle/2"]
    name: str
    batch_size: Annotated[int, Meta(ge=1, le=2**20)]
    parameters: ParameterCounts
    layout: list[Variable]
    inputs: Annotated[list[InputSpec], Meta(min_length=1, max_length=64)]
    labels: Annotated[list[LabelSpec], Meta(max_length=64)]
    outputs: Annotated[list[OutputSpec], Meta(min_length=1, max_length=64)]
    metrics: Annotated[list[MetricSpec], Meta(max_length=16)]
    optimizer: ClientOptimizer
    random: list[RandomInput]
    signatures: dict[SignatureName, Signature]
    layers: Annotated[list[Layer], Meta(max_length=10_000)]
    flops: Flops
    step: StepCost
    files: dict[str, BundleFile]
    preprocess: Preprocess = msgspec.field(default_factory=Preprocess)
    slice: Slice | None = None
    checked: Checked | None = None
    warnings: Annotated[list[Annotated[str, Meta(max_length=1000)]], Meta(max_length=16)] = field(
        default_factory=list
    )
    exact: ExactProgram | None = None

    @property
    def graphs(self) -> tuple[SignatureName, ...]:
        """The signatures in this bundle."""
        return SIGNATURES if self.slice is None else (*SIGNATURES, "train_slice")


def parse_manifest(text: bytes) -> Manifest:
    """Parses the manifest in `text`. Raises BundleError if a field, the layout or a file name is wrong."""
    try:
        manifest = msgspec.json.decode(text, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BundleError(f"bundle.json is not a manifest: {error}. Convert the model again.") from error
    _check_layout(manifest)
    _check_files(manifest)
    _check_preprocess(manifest)
    if manifest.exact is not None:
        manifest.exact.check("The pins of bundle.json were edited; convert the model again")
    return manifest


def _check_layout(manifest: Manifest) -> None:
    sizes = {True: 0, False: 0}
    offset = 0
    for variable in manifest.layout:
        if variable.offset != offset:
            raise BundleError(f"The layout has a gap or overlap at {variable.name}; convert the model again.")
        if variable.trainable and sizes[False]:
            raise BundleError(f"{variable.name} is trainable but comes after non-trainable state.")
        size = math.prod(variable.shape)
        sizes[variable.trainable] += size
        offset += size
    if (sizes[True], sizes[False]) != (manifest.parameters.trainable, manifest.parameters.state):
        raise BundleError(
            "The layout and the parameter counts of bundle.json differ; convert the model again."
        )
    if not 0 < manifest.parameters.trainable <= manifest.parameters.total <= MAX_PARAMETERS:
        raise BundleError(f"A model has 1 to {MAX_PARAMETERS} parameters and something to train.")


def _check_preprocess(manifest: Manifest) -> None:
    for factor in (manifest.preprocess.scale, manifest.preprocess.offset):
        for spec in manifest.inputs:
            if isinstance(factor, list) and spec.dtype == "float32" and [len(factor)] != spec.shape[-1:]:
                raise BundleError(
                    f"preprocess has {len(factor)} numbers where the last axis of '{spec.name}' {spec.shape} "
                    "has another length; give one number, or one for each channel."
                )


def _check_files(manifest: Manifest) -> None:
    needed = {"weights.bin"}
    needed |= {f"{signature}/model.json" for signature in manifest.graphs}
    needed |= {f"native/{signature}.pb" for signature in manifest.graphs}
    missing = sorted(needed - manifest.files.keys())
    if missing:
        raise BundleError(f"The bundle lacks {', '.join(missing)}; convert the model again.")
    for name in manifest.files:
        if not _FILE_NAME.fullmatch(name) or ".." in name:
            raise BundleError(f"The bundle names a file '{name}' outside of itself.")
    if manifest.files["weights.bin"].bytes != 4 * manifest.parameters.total:
        raise BundleError("weights.bin does not hold the layout's parameters; convert the model again.")
