"""Traces of a training: hashes of the values after its steps, and of the outputs of the ops of a step.

A hash is the SHA-256 of a tensor's element type, shape and values (`tensor_hash`); the worker that trains has
the same in webapp/static/src/workers/training/tracing/tensor-hash.ts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

# Hashes of `trainable`, `state` and `slots`, as far as a model has them.
StateHashes = Mapping[str, bytes]
# The values that a step begins with: `start/trainable`, `start/state`, `start/slots`.
START = "start/"
# The op of a tensor that the data or the plan give.
GIVEN = "Placeholder"


@dataclass(frozen=True)
class TracedTensor:
    """An output of an op; `inputs` are names of tensors. An op GIVEN has none."""

    tensor: str
    op: str
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class StepLayout:
    """The traced tensors of a step, each after its inputs; `ends` are those that the step's values become."""

    tensors: Sequence[TracedTensor]
    ends: Mapping[str, str]

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The place of each tensor."""
        return {traced.tensor: place for place, traced in enumerate(self.tensors)}


def tensor_hash(values: NDArray[np.float32]) -> bytes:
    """Returns the hash of a float32 tensor."""
    shape = ",".join(map(str, values.shape))
    return hashlib.sha256(f"float32[{shape}]\n".encode() + values.astype("<f4").tobytes()).digest()


def start_hashes(weights: NDArray[np.float32], trainable: int, slots: int) -> dict[str, bytes]:
    """Returns the hashes of the values before the first step: the slots of the optimizer begin at zero."""
    hashes = {"trainable": tensor_hash(weights[:trainable])}
    if len(weights) > trainable:
        hashes["state"] = tensor_hash(weights[trainable:])
    if slots:
        hashes["slots"] = tensor_hash(np.zeros((slots, trainable), np.float32))
    return hashes
