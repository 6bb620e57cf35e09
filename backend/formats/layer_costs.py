"""Types the parts of bundle.json that describe layers and step costs (docs/reference/bundle.md)."""

from __future__ import annotations

import math
from typing import Annotated

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0)]
Text = Annotated[str, Meta(max_length=300)]
BYTES_PER_VALUE = 4


class Layer(Struct, frozen=True):
    """One layer of the Keras model; shapes without batch dimension."""

    name: Text
    kind: Text
    output_shapes: list[list[Count | None]]
    parameters: Count
    trainable: Count


class Flops(Struct, frozen=True):
    """Counts floating-point operations of one run of each graph."""

    train: Count
    apply: Count
    evaluate: Count
    predict: Count


class OpWork(Struct, frozen=True):
    """Sums all runs of one kind of op in a step; `bytes` counts bytes read and written."""

    op: Text
    runs: Count
    flops: Count
    bytes: Count


class StepMemory(Struct, frozen=True):
    """Splits the peak memory of a step into its parts, in bytes."""

    weights: Count
    slots: Count
    inputs: Count
    constants: Count
    intermediates: Count

    @property
    def peak(self) -> int:
        """Bytes allocated at the same time, at most."""
        return self.weights + self.slots + self.inputs + self.constants + self.intermediates


class TensorShape(Struct, frozen=True):
    """Name and shape of one tensor of the step."""

    name: Text
    shape: Annotated[list[Count], Meta(max_length=256)]

    @property
    def bytes(self) -> int:
        """Size of its values, at 4 bytes each."""
        return BYTES_PER_VALUE * math.prod(self.shape)


class SlicedStep(Struct, frozen=True):
    """Costs of a step that processes its batch in slices."""

    memory: StepMemory
    largest_tensor: TensorShape


class StepCost(Struct, frozen=True):
    """Costs of one run of `train` and one of `apply`.

    `sliced` is None if the batch cannot be processed in slices.
    """

    ops: list[OpWork]
    memory: StepMemory
    largest_tensor: TensorShape
    deepest_tensor: TensorShape
    sliced: SlicedStep | None = None
