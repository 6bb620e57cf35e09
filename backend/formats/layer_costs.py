"""What bundle.json says of a model's layers and of one training step (docs/reference/bundle.md)."""

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
    """Floating-point operations of one run of each graph."""

    train: Count
    apply: Count
    evaluate: Count
    predict: Count


class OpWork(Struct, frozen=True):
    """All runs of one kind of op in a step; bytes are those read and written."""

    op: Text
    runs: Count
    flops: Count
    bytes: Count


class StepMemory(Struct, frozen=True):
    """Bytes that live at once in a step."""

    weights: Count
    slots: Count
    inputs: Count
    constants: Count
    intermediates: Count

    @property
    def peak(self) -> int:
        """All of them."""
        return self.weights + self.slots + self.inputs + self.constants + self.intermediates


class TensorShape(Struct, frozen=True):
    """A tensor of the step."""

    name: Text
    shape: Annotated[list[Count], Meta(max_length=256)]

    @property
    def bytes(self) -> int:
        """What its values take."""
        return BYTES_PER_VALUE * math.prod(self.shape)


class SlicedStep(Struct, frozen=True):
    """A step whose batch is taken in slices."""

    memory: StepMemory
    largest_tensor: TensorShape


class StepCost(Struct, frozen=True):
    """One run of `train` and one of `apply`; `sliced` is None where the batch must be taken whole."""

    ops: list[OpWork]
    memory: StepMemory
    largest_tensor: TensorShape
    deepest_tensor: TensorShape
    sliced: SlicedStep | None = None
